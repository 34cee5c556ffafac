"""What is in force at the end depends on the writes of a source alone: not on their order, nor on how often each comes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from documents.conditional import Outcome, State, decide

# Two writes with one clock say the same: what else they come to is a conflict, which is told and not resolved.
histories = st.dictionaries(st.integers(0, 6), st.sampled_from(["a", "b", "c", None]), min_size=1).map(
    lambda found: [State(clock, digest) for clock, digest in found.items()]
)


def play(writes: list[State]) -> State | None:
    known = None
    for write in writes:
        if decide(known, write).advances:
            known = write
    return known


@given(histories, st.data())
def test_order_and_repetition_do_not_matter(writes: list[State], data: st.DataObject) -> None:
    played = data.draw(st.lists(st.sampled_from(writes), max_size=12)) + data.draw(st.permutations(writes))
    assert play(played) == max(writes, key=lambda write: write.clock)


@given(histories)
def test_a_second_run_changes_nothing(writes: list[State]) -> None:
    known = play(writes)
    again = {decide(known, write).outcome for write in writes}
    assert again <= {Outcome.UNCHANGED, Outcome.STALE_DISCARDED}


def test_each_outcome() -> None:
    live, gone = State(5, "x"), State(5, None)
    cases = {
        (None, State(5, "x")): Outcome.CREATED,
        (None, State(5, None)): Outcome.DELETED,
        (live, State(4, "x")): Outcome.STALE_DISCARDED,
        (live, State(4, None)): Outcome.STALE_DISCARDED,
        (live, State(5, "x")): Outcome.UNCHANGED,
        (live, State(5, "y")): Outcome.CONFLICT,
        (live, State(5, None)): Outcome.CONFLICT,
        (live, State(6, "x")): Outcome.UNCHANGED,
        (live, State(6, "y")): Outcome.UPDATED,
        (live, State(6, None)): Outcome.DELETED,
        (gone, State(4, "y")): Outcome.STALE_DISCARDED,
        (gone, State(5, None)): Outcome.UNCHANGED,
        (gone, State(6, None)): Outcome.UNCHANGED,
        (gone, State(6, "x")): Outcome.CREATED,
    }
    assert {case: decide(*case).outcome for case in cases} == cases


def test_a_write_that_says_the_same_later_shuts_out_what_is_between() -> None:
    known = play([State(5, "x"), State(9, "x")])
    assert decide(known, State(7, "y")).outcome is Outcome.STALE_DISCARDED
