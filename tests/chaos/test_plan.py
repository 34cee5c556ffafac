"""What a run is made of, without running it: plan, oracle, ledger, judge and report."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos import judge, ledger, oracle, plan
from tests.chaos.judge import Search
from tests.chaos.ledger import Entry, Ledger
from tests.chaos.monitor import defects
from tests.chaos.oracle import Content
from tests.chaos.plan import Deed, Request
from tests.chaos.report import Outcome, quantile


class TestPlan:
    def test_one_seed_one_plan(self) -> None:
        def some(seed: str) -> list[plan.Step]:
            return list(itertools.islice(plan.steps(Request(seed=seed), 0), 200))

        assert some("a") == some("a")
        assert some("a") != some("b")
        assert Request(seed="a").deeds() == Request(seed="a").deeds()

    def test_the_longest_run_of_the_issue(self) -> None:
        counts = Request(tasks=10_000, kills=500).counts()
        assert (counts[Deed.KILL], counts[Deed.PAUSE], counts[Deed.BACKEND], counts[Deed.RESTART]) == (500, 200, 300, 5)

    def test_deeds_are_spread_over_the_run(self) -> None:
        due = [moment for moment, deed in Request(kills=100).deeds() if deed is Deed.KILL]
        assert due == sorted(due)
        assert all(0 < moment < 1 for moment in due)
        assert max(later - sooner for sooner, later in itertools.pairwise(due)) < 0.03

    def test_publishers_share_neither_documents_nor_all_texts(self) -> None:
        first, second = (list(itertools.islice(plan.steps(Request(), number), 300)) for number in (0, 1))
        of_tenant = [
            {(step.tenant, step.content.title, number) for step in steps for number in step.content.sections}
            for steps in (first, second)
        ]
        texts = [{text[1:] for text in of_one} for of_one in of_tenant]
        assert texts[0] & texts[1]  # identical texts, in other tenants too
        assert len({tenant for tenant, *text in of_tenant[0] for other in of_tenant[1] if other[1:] == tuple(text)}) > 1
        assert {step.content.format for step in first} == set(oracle.FORMATS)
        assert any(later.at_once and later.document == sooner.document for sooner, later in itertools.pairwise(first))

    def test_a_document_begins_with_readers_named(self) -> None:
        seen: set[int] = set()
        for step in itertools.islice(plan.steps(Request(), 0), 300):
            assert step.document in seen or step.readers is not None
            seen.add(step.document)


class TestOracle:
    @pytest.mark.parametrize("form", oracle.FORMATS)
    @pytest.mark.parametrize("count", [1, 9, 30])
    @pytest.mark.parametrize("title", oracle.TITLES)
    def test_knows_what_the_product_makes_of_a_file(self, form: str, count: int, title: str) -> None:
        numbers = [number for number in range(1, 200) if form != "pdf" or oracle.is_latin(number)]
        content = Content(title, form, tuple(numbers[:count]))
        oracle.rendered(content)  # compares
        assert len(oracle.expected(content)) == count

    def test_notices_a_file_that_it_does_not_know(self, monkeypatch: pytest.MonkeyPatch) -> None:
        content = Content("Travel", "md", (1, 2, 3))
        monkeypatch.setattr(oracle, "_markdown", lambda sections: b"## One\n\nAll in one.")
        with pytest.raises(AssertionError, match="does not know"):
            oracle.rendered.__wrapped__(content)

    def test_no_two_sections_share_a_marker(self) -> None:
        numbers = [*range(2_000), *range(1_000_000, 1_002_000), *range(9_000_000, 9_002_000)]
        assert len({oracle.section(number).marker for number in numbers}) == len(numbers)


class TestLedger:
    def test_outcomes(self, tmp_path: Path) -> None:
        written = Ledger(tmp_path / "a.ledger", actor="a")
        done = written.intend("publish", document="d", version=1, readers=["x"])
        written.settle(done, "acknowledged", task=7)
        written.settle(written.intend("delete", document="d"), "refused")
        written.settle(written.intend("delete", document="d"), "unknown")
        written.intend("withdraw", document="d")
        written.close()
        with (tmp_path / "a.ledger").open("a") as file:
            file.write('{"number": 5, "act')  # killed while it wrote
        entries = ledger.read([tmp_path / "a.ledger"])
        assert [(entry.action, entry.outcome, entry.ended is None) for entry in entries] == [
            ("publish", "acknowledged", False),
            ("delete", "refused", False),
            ("delete", "unknown", True),
            ("withdraw", "unknown", True),
        ]
        assert (entries[0].task, entries[0].readers, entries[0].version) == (7, ("x",), 1)

    def test_a_line_is_on_the_disk_before_the_next_step(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        synced: list[str] = []
        path = tmp_path / "a.ledger"
        monkeypatch.setattr("os.fsync", lambda number: synced.append(path.read_text()))
        Ledger(path, actor="a").intend("publish")
        assert json.loads(synced[0])["action"] == "publish"


def entry(action: str, began: float, ended: float | None, **what: object) -> Entry:
    defaults = {"actor": "a", "outcome": "acknowledged" if ended else "unknown", "document": "d", "tenant": "north"}
    return Entry(action=action, began=began, ended=ended, **{**defaults, **what})  # type: ignore[arg-type]


def published(
    began: float = 1, ended: float | None = 2, *, version: int = 1, readers: tuple[str, ...] | None = ("anna",)
) -> Entry:
    return entry("publish", began, ended, version=version, readers=readers)


def seen(
    began: float, ended: float, *versions: int, user: str = "anna", tenant: str = "north", text: str = "mk"
) -> Search:
    return Search(tenant, user, began, ended, tuple(("d", version, text) for version in versions))


MARKERS = {("d", 1): frozenset({"mk"}), ("d", 2): frozenset({"mk"})}


class TestJudge:
    @pytest.mark.parametrize(
        ("entries", "searches", "wrong"),
        [
            ([published()], [seen(3, 4, 1)], None),
            ([published()], [seen(3, 4, 1, 2)], "versions [1, 2] of d in one answer"),
            ([published()], [seen(3, 4, 1, text="other")], "that is not in it"),
            ([published()], [seen(3, 4, 1, tenant="south")], "was shown d of north"),
            ([published()], [seen(3, 4, 1, user="bo")], "could not read"),
            ([published()], [seen(0.1, 0.5, 1)], "before anybody published it"),
            # deletion: only what begins after its acknowledgement is wrong
            ([published(), entry("delete", 3, 4)], [seen(3.5, 5, 1)], None),
            ([published(), entry("delete", 3, 4)], [seen(4.1, 5, 1)], "after its deletion"),
            ([published(), entry("delete", 3, None)], [seen(9, 10, 1)], None),
            # withdrawal, and what may have brought it back
            ([published(), entry("withdraw", 3, 4)], [seen(5, 6, 1)], "after its withdrawal"),
            ([published(), entry("withdraw", 3, 4), published(4.5, 5)], [seen(6, 7, 1)], None),
            ([published(), entry("withdraw", 3, 4), published(3.5, 3.9)], [seen(6, 7, 1)], None),
            # readers taken off, and put on again by somebody who was never answered
            ([published(), entry("set_readers", 3, 4, readers=())], [seen(5, 6, 1)], "could not read"),
            ([published(), entry("set_readers", 3, 4, readers=())], [seen(3.9, 6, 1)], None),
            (
                [
                    published(),
                    entry("set_readers", 2.5, None, readers=("anna",)),
                    entry("set_readers", 3, 4, readers=()),
                ],
                [seen(5, 6, 1)],
                None,
            ),
            # more readers of the next version are none of this one
            ([published(readers=("bo",)), published(2, 3, version=2)], [seen(4, 5, 1)], "never were among"),
            ([published(readers=("bo",)), published(2, 3, version=2)], [seen(4, 5, 2)], None),
            ([published(), published(2, 3, version=2, readers=None)], [seen(4, 5, 2)], None),
            # a pointer that went back
            ([published(), published(2, 3, version=2)], [seen(4, 5, 2), seen(4.5, 6, 1)], None),
            (
                [published(), published(2, 3, version=2)],
                [seen(4, 5, 2), seen(5.5, 6, 1)],
                "after version 2 had been seen",
            ),
        ],
    )
    def test_finds_what_was_wrong_at_every_moment(
        self, entries: list[Entry], searches: list[Search], wrong: str | None
    ) -> None:
        found = judge.wrong_results(searches, entries, markers=MARKERS)
        assert found == [] if wrong is None else any(wrong in sentence for sentence in found)

    def test_what_was_refused_never_took_place(self) -> None:
        entries = [published(), entry("delete", 3, 4, outcome="refused")]
        assert judge.wrong_results([seen(5, 6, 1)], entries, markers=MARKERS) == []


def outcome(**changes: object) -> Outcome:
    request = Request(tasks=300, kills=30)
    whole = Outcome(
        request=request,
        tasks=300,
        done=Counter(request.counts()),
        kills_in_lease=28,
        pauses_in_lease=12,
        in_transaction=10,
        provider_faults=100,
        stale_commits_refused=9,
        late_after_delete=4,
        searches=200,
        checks=40,
        recoveries=[2.0, 2.2],
        claim_delays=[0.1, 0.2],
        texts_wasted=30,
        seconds=70.0,
        violations=(),
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


class TestReport:
    def test_the_figures_that_were_asked_for(self) -> None:
        figures = outcome().as_json()
        assert list(figures)[:13] == [
            "tasks", "kills", "pauses", "backendKills", "databaseRestarts", "providerFaults", "staleCommitsRefused",
            "lateAfterDelete", "violations", "void", "recoveryP99Seconds", "leaseSeconds", "textsWastedPerKill",
        ]  # fmt: skip
        assert (figures["void"], figures["recoveryP99Seconds"], figures["textsWastedPerKill"]) == (False, 2.2, 1.0)
        assert outcome().passed

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"tasks": 299}, "tasks"),
            ({"done": Counter({**Request(kills=30).counts(), Deed.KILL: 29})}, "kills"),
            ({"done": Counter({**Request(kills=30).counts(), Deed.RESTART: 0})}, "restarts of the database"),
            ({"kills_in_lease": 14}, "kills of a worker with a lease"),
            ({"pauses_in_lease": 5}, "pauses beyond a lease"),
            ({"stale_commits_refused": 2}, "late writes refused"),
            ({"late_after_delete": 0}, "attempts that came too late for a deleted document"),
            ({"provider_faults": 5}, "provider faults"),
            ({"searches": 29}, "searches"),
            ({"checks": 2}, "checks of the invariants"),
        ],
    )
    def test_a_run_that_does_not_bite_is_void(self, changes: dict[str, object], reason: str) -> None:
        tame = outcome(**changes)
        assert [line.partition(":")[0] for line in tame.shortcomings] == [reason]
        assert (tame.as_json()["void"], tame.passed) == (True, False)
        assert "void" in tame.as_text()

    def test_a_violation_fails_it(self) -> None:
        assert not outcome(violations=("pointer_never_back: it did",)).passed

    def test_quantile(self) -> None:
        assert quantile([], 0.99) is None
        assert quantile([1.0], 0.99) == 1.0
        assert quantile(range(1, 101), 0.99) == 99


def test_defects_are_read_from_the_logs() -> None:
    lines = [
        "2026-11-30 21:00:00,000 ERROR indexing.worker defect in an attempt of worker w",
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "ValueError: no such thing",
        "2026-11-30 21:00:01,000 WARNING all is well",
    ]
    assert defects(lines) == ["ValueError: no such thing"]
    assert defects(lines[4:]) == []
