"""What the demo says, and when: where to go at once, what to try only when it can be tried."""

from __future__ import annotations

from kbsite.demo.telling import Guide

VALUES = {
    "url": "http://127.0.0.1:8000",
    "logs": "/data/demo",
    **{name: f"pw-{name}" for name in ("editor", "reader", "outsider", "operator")},
}


def told_all(text: str) -> bool:
    return all(str(value) in text for name, value in VALUES.items() if name != "logs")


def test_a_first_run() -> None:
    guide = Guide(**VALUES)
    assert guide.go_on(up=False, settled=False) == ""
    at_once = guide.go_on(up=True, settled=False)
    assert told_all(at_once)
    assert "are being indexed" in at_once
    assert "Three things" not in at_once
    assert "is ready" not in at_once
    assert guide.go_on(up=True, settled=False) == ""
    at_last = guide.go_on(up=True, settled=True)
    assert told_all(at_last), "lines of progress have pushed the log-ins up the screen"
    assert "is ready" in at_last
    assert "Three things" in at_last
    assert guide.go_on(up=True, settled=True) == ""


def test_a_run_that_finds_everything_done() -> None:
    guide = Guide(**VALUES)
    assert guide.go_on(up=False, settled=True) == ""
    text = guide.go_on(up=True, settled=True)
    assert told_all(text)
    assert "Three things" in text
    assert "are being indexed" not in text
    assert text.count("pw-editor") == 1
    assert guide.go_on(up=True, settled=True) == ""
