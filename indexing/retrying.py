"""A short transaction is run again while the database does not let it through; never the slow work between two of them."""

from __future__ import annotations

import itertools
import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from django.db import Error, connection

from documents.outages import is_outage

logger = logging.getLogger(__name__)

# Serialization failure, deadlock, lock timeout: the server says that it undid the transaction.
ROLLED_BACK = ("40001", "40P01", "55P03")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds

Answer = TypeVar("Answer")


class Blocked(Exception):
    """For as long as a lease lasts the database did not let a write through: give the lease back, it is nobody's fault."""


class Retrying:
    """How long the short transactions of one attempt are tried. Each may run twice, or is refused the second time."""

    def __init__(self, *, checkpoint: Callable[[], None], seconds: float, rng: random.Random) -> None:
        """`checkpoint` raises to end the attempt (lease lost, worker told to stop); `seconds` is the patience with one
        transaction."""
        self._checkpoint, self._seconds, self._random = checkpoint, seconds, rng
        self.was_cut = False  # a connection was lost: a transaction may have been committed without our hearing of it

    def __call__(self, action: Callable[[], Answer]) -> Answer:
        begun = time.monotonic()
        for number in itertools.count():
            try:
                return action()
            except Error as error:
                if not is_outage(error):
                    raise
                refused = error
            if getattr(refused.__cause__, "sqlstate", None) not in ROLLED_BACK:
                self.was_cut = True
            logger.warning("the database refused a step, which is tried again: %s", str(refused).strip())
            connection.close_if_unusable_or_obsolete()
            self._checkpoint()
            if time.monotonic() - begun >= self._seconds:
                raise Blocked from refused
            time.sleep(self._random.uniform(0.0, min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(number, 10))))
        raise AssertionError("the loop ends by returning or raising")


_of_attempt: ContextVar[Retrying | None] = ContextVar("retrying", default=None)


@contextmanager
def trying(policy: Retrying) -> Iterator[None]:
    """Within the block, `retrying` does as `policy` says."""
    token = _of_attempt.set(policy)
    try:
        yield
    finally:
        _of_attempt.reset(token)


def retrying(action: Callable[[], Answer]) -> Answer:
    """Run a short transaction until the database lets it through, as the attempt around it wants; outside of one, once.

    Raises what `action` raises, what the attempt's checkpoint raises, or `Blocked`.
    """
    policy = _of_attempt.get()
    return action() if policy is None else policy(action)
