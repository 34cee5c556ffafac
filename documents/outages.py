"""Which database errors mean that the database is out of reach for now, or that a value is none it can hold: not defects."""

from __future__ import annotations

from django.db import DataError, InterfaceError, OperationalError

# Django calls these two internal errors: the server ended a transaction that did nothing for too long; it only reads, as one
# does that is about to take over for another, or whose disk is nearly full.
_FOR_NOW = ("25P03", "25006")
_TOO_MUCH = "54"  # beginning of the states in which a value or statement is more than the server can ever take
_NO_NUMBER = "expected a number but got"
_LOST = ("08", "57P")  # beginnings of the states in which the server, or the way to it, goes away


def is_outage(error: BaseException) -> bool:
    """Whether the same may work in a moment, on a new connection."""
    if _is_too_much(error):
        return False  # psycopg counts these among operational errors, and tried again they would fail for ever
    return isinstance(error, OperationalError | InterfaceError) or _sqlstate(error) in _FOR_NOW


def changed_nothing(outage: BaseException) -> bool:
    """Whether the transaction was certainly undone: the server said so, or there never was a connection. One that was lost
    may have been lost after the COMMIT."""
    state = _sqlstate(outage)
    if state is not None:
        return not state.startswith(_LOST)
    return getattr(outage.__cause__, "pgconn", None) is not None  # psycopg: set by a failed attempt to connect


def is_unstorable(error: BaseException) -> bool:
    """Whether somebody sent what no column or text can hold: NUL, half of a surrogate pair, a number or date out of range,
    more than an index or a statement can take, or a word for an id. (The admin's bulk actions and its fields that search
    while one types ask for ids unread; Django tells of a wrong one by a plain ValueError with this sentence.)"""
    if isinstance(error, UnicodeEncodeError):
        return "surrogates" in error.reason
    if isinstance(error, ValueError):
        return _NO_NUMBER in str(error) and str(error).startswith("Field ")
    return isinstance(error, DataError) or _is_too_much(error)


def _is_too_much(error: BaseException) -> bool:
    return (_sqlstate(error) or "").startswith(_TOO_MUCH)


def _sqlstate(error: BaseException) -> str | None:
    state: str | None = getattr(error.__cause__, "sqlstate", None)
    return state
