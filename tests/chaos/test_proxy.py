"""The proxy does what a network does, and no more: what was committed is there, whatever the client heard of it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import psycopg
import pytest
from django.db import connections

from tests.environment import ROOT

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

Connect = Callable[[], "psycopg.Connection[tuple[object, ...]]"]


class Network:
    def __init__(self, process: subprocess.Popen[str], connect: Connect) -> None:
        self._process, self.connect = process, connect

    def tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ok\n"


@pytest.fixture
def network() -> Iterator[Network]:
    parameters = connections["owner"].get_connection_params()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.chaos.proxy", "--to", parameters["host"]],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    port = int(process.stdout.readline())

    def connect() -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host="127.0.0.1", port=port, user=parameters["user"], dbname=parameters["dbname"], autocommit=True
        )

    with connections["owner"].cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS chaos_proxy")
        cursor.execute("CREATE TABLE chaos_proxy (number int)")
    try:
        yield Network(process, connect)
    finally:
        process.kill()
        process.communicate(timeout=20)
        with connections["owner"].cursor() as cursor:
            cursor.execute("DROP TABLE chaos_proxy")


def insert(connection: psycopg.Connection[tuple[object, ...]], *, in_a_transaction: bool) -> None:
    with connection.transaction() if in_a_transaction else nullcontext():
        connection.execute("INSERT INTO chaos_proxy VALUES (%s)", [1])


def ask_for_ever(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    while True:
        connection.execute("SELECT 1")


def stored() -> int:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM chaos_proxy")
        count: int = cursor.fetchone()[0]
        return count


def test_it_passes_everything_on(network: Network) -> None:
    with network.connect() as connection:
        assert connection.execute("SELECT repeat('x', 300000)").fetchone() == ("x" * 300_000,)
        with connection.transaction():
            connection.execute("INSERT INTO chaos_proxy VALUES (%s)", [1])
    assert stored() == 1


@pytest.mark.parametrize("in_a_transaction", [True, False])
def test_it_cuts_after_the_commit(network: Network, in_a_transaction: bool) -> None:
    """The row is there, the client has an error, and so cannot know: the one case that a retry must think about."""
    connection = network.connect()
    network.tell("cut_after_commit 1")
    connection.execute("SELECT 1")  # a statement that commits nothing is not cut
    with pytest.raises(psycopg.OperationalError):
        insert(connection, in_a_transaction=in_a_transaction)
    assert stored() == 1
    with network.connect() as again:  # one commit was asked for, and one was cut
        again.execute("INSERT INTO chaos_proxy VALUES (2)")
    assert stored() == 2


def test_it_drops_open_connections(network: Network) -> None:
    connection = network.connect()
    connection.execute("BEGIN")
    insert(connection, in_a_transaction=False)
    network.tell("drop")
    with pytest.raises(psycopg.OperationalError):
        connection.execute("COMMIT")
    assert stored() == 0


def test_half_open_says_nothing_and_then_resets(network: Network) -> None:
    connection = network.connect()
    answered = threading.Event()

    def ask() -> None:
        with pytest.raises(psycopg.OperationalError):
            ask_for_ever(connection)
        answered.set()

    network.tell("halfopen 0.5")
    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(timeout=20)
    assert answered.is_set()
    with network.connect() as again:
        assert again.execute("SELECT 1").fetchone() == (1,)


def test_refused(network: Network) -> None:
    network.tell("refuse 60")
    with pytest.raises(psycopg.OperationalError):
        network.connect()
