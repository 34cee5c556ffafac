"""Makes the product's long waits short, as the runs' lease is: in the processes of a run only."""

from __future__ import annotations


def hurry() -> None:
    """An open breaker and a throttled provider are waited for as long, measured in leases, as with the defaults."""
    from indexing import breaker

    breaker.FIRST_PAUSE, breaker.LONGEST_PAUSE = 2.0, 10.0
    breaker.FIRST_COOLDOWN, breaker.LONGEST_COOLDOWN = 1.0, 10.0
