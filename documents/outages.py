"""Which database errors mean that the database is out of reach for now, or that a value is none it can hold: not defects."""

from __future__ import annotations

from django.db import DataError, InterfaceError, OperationalError

_ENDED_IDLE = (
    "25P03"  # the server ended a transaction that did nothing for too long; Django calls that an internal error
)
_NO_NUMBER = "expected a number but got"
_LOST = ("08", "57P")  # beginnings of the states in which the server, or the way to it, goes away


def is_outage(error: BaseException) -> bool:
    """Whether the same may work in a moment, on a new connection."""
    return isinstance(error, OperationalError | InterfaceError) or _sqlstate(error) == _ENDED_IDLE


def changed_nothing(outage: BaseException) -> bool:
    """Whether the transaction was certainly undone: the server said so, or there never was a connection. One that was lost
    may have been lost after the COMMIT."""
    state = _sqlstate(outage)
    if state is not None:
        return not state.startswith(_LOST)
    return getattr(outage.__cause__, "pgconn", None) is not None  # psycopg: set by a failed attempt to connect


def is_unstorable(error: BaseException) -> bool:
    """Whether somebody sent what no column or text can hold: NUL, half of a surrogate pair, a number or date out of range,
    or a word for an id. (The admin's bulk actions and its fields that search while one types ask for ids unread; Django
    tells of a wrong one by a plain ValueError with this sentence.)"""
    if isinstance(error, UnicodeEncodeError):
        return "surrogates" in error.reason
    return isinstance(error, DataError) or (
        isinstance(error, ValueError) and _NO_NUMBER in str(error) and str(error).startswith("Field ")
    )


def _sqlstate(error: BaseException) -> str | None:
    state: str | None = getattr(error.__cause__, "sqlstate", None)
    return state
