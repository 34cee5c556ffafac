from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from documents.media_types import MARKDOWN, TEXT
from indexing.blocks import ParsedDocument
from indexing.errors import DocumentEncrypted, IndexingError, NoText, ParseCrashed, ParseTimeout, UnsupportedDocument
from indexing.parsers import limits, parse, sandbox
from indexing.parsers.sandbox import parse_in_child
from indexing.parsers.scans import ScannedPage

MEMORY = 512 * 1024 * 1024
LONG, SHORT = 60.0, 1.0  # seconds: far more than is needed, and certain to be over

ROOT = Path(__file__).resolve().parents[2]


def run(content: bytes, *, timeout: float = LONG, memory: int = MEMORY, name: str = "file.txt") -> ParsedDocument:
    return parse_in_child(content, TEXT, name, timeout=timeout, memory_bytes=memory)


@pytest.fixture
def unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "CHILD_MODULE", "tests.unit.unlocked_child")


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "CHILD_MODULE", "tests.unit.hostile_child")


def wait_until_gone(process_id: int) -> None:
    """Returns when no such process runs; a test's time limit ends the wait for one that never ends."""
    while True:
        try:
            state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":  # dead, and its new parent has not collected it yet
            return
        time.sleep(0.02)


def read_when_written(note: Path) -> int:
    while not (note.exists() and note.read_text()):
        time.sleep(0.02)
    return int(note.read_text())


def test_the_result_is_the_parsers_own() -> None:
    content = "# 标题\n\n正文 text\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".encode()
    assert parse_in_child(content, MARKDOWN, "a.md", timeout=LONG, memory_bytes=MEMORY) == parse(
        content, MARKDOWN, "a.md"
    )


def test_errors_keep_their_class() -> None:
    with pytest.raises(NoText):
        run(b"")
    with pytest.raises(UnsupportedDocument):
        parse_in_child(b"x", "application/x-unknown", "x", timeout=LONG, memory_bytes=MEMORY)


@pytest.mark.usefixtures("hostile")
def test_errors_keep_their_detail() -> None:
    with pytest.raises(DocumentEncrypted) as caught:
        run(b"refuse")
    assert caught.value.detail == "Ask the author."


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("deed", ["exit 0", "exit 3", "abort"])
def test_a_parser_that_dies(deed: str) -> None:
    with pytest.raises(ParseCrashed):
        run(deed.encode())


@pytest.mark.usefixtures("hostile")
def test_a_parser_that_eats_memory() -> None:
    with pytest.raises(ParseCrashed) as caught:
        run(b"eat")
    assert "memory" in str(caught.value)


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("deed", ["loop", "sleep"])
def test_a_parser_that_never_ends(deed: str) -> None:
    with pytest.raises(ParseTimeout):
        run(deed.encode(), timeout=SHORT)


@pytest.mark.usefixtures("hostile")
def test_a_message_tells_no_traceback_and_no_text() -> None:
    with pytest.raises(ParseCrashed) as caught:
        run(b"raise", name="salaries.txt")
    assert str(caught.value) == "The parser stopped while reading this file. (RuntimeError)"
    assert caught.value.__cause__ is None


@pytest.mark.usefixtures("hostile")
def test_what_a_library_prints_does_not_spoil_the_answer(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(b"print").text == "parsed"
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("hostile")
def test_the_child_knows_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_servers", {})  # one that is started now
    for name in ("DATABASE_URL", "KB_SECRET_KEY", "KB_EMBEDDING_API_KEY", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH"):
        monkeypatch.setenv(name, "secret")
    names = run(b"environment").text.split("\n")
    assert "PATH" in names
    assert set(names) <= {*sandbox._KEPT_ENVIRONMENT, *sandbox._ONE_THREAD, "LC_CTYPE"}


@pytest.mark.usefixtures("hostile")
def test_limits_are_set_and_the_name_arrives() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        document = run(b"limits", timeout=7.5, name="名字\nwith a line feed.txt")
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    assert document.text == f"{MEMORY} 8 0 64 0 0"
    assert document.title == "名字 with a line feed.txt"


@pytest.mark.usefixtures("hostile")
def test_processor_time_over_is_time_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sandbox, "math", SimpleNamespace(ceil=lambda _: 1)
    )  # one second of processor time, much of the clock's
    with pytest.raises(ParseTimeout):
        run(b"loop")


@pytest.mark.usefixtures("hostile")
def test_every_scanned_page_gives_the_time_anew() -> None:
    """That of the clock and that of the processor: all pages together take longer than one may."""
    told: list[int] = []
    options = {"timeout": 4.0, "memory_bytes": MEMORY}
    parse_in_child(b"scans 4 1.5", TEXT, "x", keep_scan=lambda page: told.append(page.number), **options)  # type: ignore[arg-type]
    assert told == [1, 2, 3, 4]


@pytest.mark.usefixtures("hostile")
def test_a_page_that_is_never_read_is_time_over() -> None:
    told: list[int] = []
    with pytest.raises(ParseTimeout):
        parse_in_child(
            b"scans 2 9999", TEXT, "x", timeout=SHORT, memory_bytes=MEMORY, known_scans=[ScannedPage(1)],
            keep_scan=lambda page: told.append(page.number),
        )  # fmt: skip
    assert told == []


@pytest.mark.usefixtures("hostile")
def test_a_child_that_tells_more_pages_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SCANNED_PAGES", 2)
    assert parse_in_child(b"scans 2 0", TEXT, "x", timeout=LONG, memory_bytes=MEMORY).text == "parsed"
    with pytest.raises(ParseCrashed):
        parse_in_child(b"scans 3 0", TEXT, "x", timeout=LONG, memory_bytes=MEMORY)


@pytest.mark.usefixtures("unlocked")
def test_what_the_child_started_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    failure: list[BaseException] = []

    def parse_until_time_is_up() -> None:
        try:
            run(f"spawn {note}".encode(), timeout=3)
        except IndexingError as error:
            failure.append(error)

    thread = threading.Thread(target=parse_until_time_is_up)
    thread.start()
    grandchild = read_when_written(note)
    thread.join()
    assert isinstance(failure[0], ParseTimeout)
    wait_until_gone(grandchild)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent ended")
def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = (
        "from indexing.parsers import sandbox\n"
        "sandbox.CHILD_MODULE = 'tests.unit.unlocked_child'\n"
        f"sandbox.parse_in_child(b'note {note}', 'text/plain', 'x', timeout=600, memory_bytes={MEMORY})\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    child = read_when_written(note)
    parent.kill()
    parent.wait()
    wait_until_gone(child)


@pytest.mark.usefixtures("hostile")
def test_an_answer_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANSWER_BYTES", 10)
    with pytest.raises(ParseCrashed):
        run(b"print")


def test_nothing_is_left_behind() -> None:
    process = psutil.Process()
    children, descriptors = process.children(), process.num_fds()
    for _ in range(3):
        assert run(b"text").text == "text"
    assert (process.children(), process.num_fds()) == (children, descriptors)


def test_several_threads_at_once() -> None:
    results: list[str] = []
    threads = [threading.Thread(target=lambda n=n: results.append(run(f"text {n}".encode()).text)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [f"text {n}" for n in range(4)]


@pytest.mark.parametrize(
    "answer",
    ["[]", "3", "null", '{"error": 1}', '{"error": {"code": []}}', '{"error": {"code": "NO_TEXT"}}', '{"document": {}}',
     '{"document": 1, "more": 2}', "[" * 200_000, '{"scan": 1}', '{"scan": {}}', "{}"],
    ids=range(12),
)  # fmt: skip
def test_an_odd_answer_is_a_crash_of_the_parser(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that was taken over by its file may say anything; the worker knows what to do with a crash."""
    monkeypatch.setattr(sandbox, "_lines", lambda child, timeout: iter([answer.encode()]))
    with pytest.raises(ParseCrashed):
        parse_in_child(b"x", TEXT, "a.txt", timeout=60, memory_bytes=512 * 1024 * 1024)
