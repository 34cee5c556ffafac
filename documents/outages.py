"""Which database errors mean that the database is out of reach for now, not that our statement is wrong."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError

_ENDED_IDLE = (
    "25P03"  # the server ended a transaction that did nothing for too long; Django calls that an internal error
)


def is_outage(error: BaseException) -> bool:
    """Whether the same may work in a moment, on a new connection: nothing of the transaction was kept."""
    return isinstance(error, OperationalError | InterfaceError) or (
        getattr(error.__cause__, "sqlstate", None) == _ENDED_IDLE
    )
