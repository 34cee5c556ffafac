"""Where a worker looks next: new and old in turns, past its own last claim, and everywhere from time to time."""

from __future__ import annotations

from indexing.turns import EVERYWHERE, LOOK_AGAIN, Place, Turns


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_old_and_new_take_turns() -> None:
    turns = Turns()
    retries = []
    for _ in range(4):
        retries.append(turns.look().retries)
        turns.took([])
    assert retries == [True, False, True, False]


def test_the_first_look_is_everywhere() -> None:
    assert Turns().look() == EVERYWHERE


def test_it_looks_past_its_last_claim_and_at_the_front_after_a_while() -> None:
    clock = Clock()
    turns = Turns(now=clock)
    turns.look()
    turns.took([Place("pending", 7, 0, 41, 9)])
    look = turns.look()
    assert (look.past_priority, look.past_fair, look.past_id) == (0, 41, 9)
    clock.now += LOOK_AGAIN
    look = turns.look()
    assert (look.past_priority, look.past_fair, look.past_id) == (-32768, -1, 0)


def test_leases_are_looked_at_once_a_while_and_not_before_new_tasks() -> None:
    clock = Clock()
    turns = Turns(now=clock)
    seen = []
    for _ in range(6):
        seen.append(turns.look().leases)
        turns.took([])
    assert seen == [True, False, False, False, False, False]
    clock.now += LOOK_AGAIN
    assert turns.look().leases


def test_retries_go_round_the_tenants() -> None:
    turns = Turns()
    turns.took([Place("retry", 3, 0, 0, 1)])
    assert turns.look().past_tenant == 3
    turns.took([Place("pending", 9, 0, 0, 2), Place("expired", 8, 0, 0, 3)])
    assert turns.look().past_tenant == 3
