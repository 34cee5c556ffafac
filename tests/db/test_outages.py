"""A transaction that the server ended is told as an outage: “again in a moment”, not “something is broken”."""

from __future__ import annotations

import time

import pytest
from django.db import DatabaseError, InternalError, connection, transaction

from documents.api.problems import exception_handler
from documents.outages import is_outage

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def ended_idle() -> DatabaseError:
    """What Django raises when a transaction was idle for longer than the server allows."""

    def idle() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
            while True:
                cursor.execute("SELECT 1")
                time.sleep(0.05)  # the limit is in milliseconds; this is what the server measures, not a wait for it

    with pytest.raises(DatabaseError) as caught:
        idle()
    connection.close()
    return caught.value


def test_an_idle_transaction_that_was_ended_is_an_outage() -> None:
    error = ended_idle()
    assert is_outage(error)
    answer = exception_handler(error, {})
    assert answer is not None
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


def test_a_wrong_statement_is_none() -> None:
    assert not is_outage(InternalError("current transaction is aborted"))
