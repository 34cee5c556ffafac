"""Publish and finish hold a tenant's pipelines still: by a shared row lock, or by a shared advisory lock?

Both do the same short transaction (hold the tenant, insert an event) on the same table, in turns, from several threads.
Run: `python -m tests.benchmarks.bench_tenant_lock [--threads 4] [--rounds 9] [--transactions 400]`. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

import psycopg

from kbsite import embedded_postgres

HOLD = {
    "row FOR SHARE": "SELECT 1 FROM bench_tenant WHERE id = 1 FOR SHARE",
    "advisory shared": "SELECT pg_advisory_xact_lock_shared(1, 1)",
    "none": "SELECT 1",
}


def transactions_per_second(host: str, hold: str, *, threads: int, transactions: int) -> float:
    barrier = threading.Barrier(threads + 1)

    def work() -> None:
        with psycopg.connect(host=host, user="kb_owner", dbname="kb", autocommit=True) as connection:
            connection.execute("SET synchronous_commit = off")
            barrier.wait()
            for _ in range(transactions):
                with connection.transaction():
                    connection.execute(hold)
                    connection.execute("INSERT INTO bench_event (tenant_id) VALUES (1)")
            barrier.wait()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    barrier.wait()
    started = time.perf_counter()
    barrier.wait()
    elapsed = time.perf_counter() - started
    for worker in workers:
        worker.join()
    return threads * transactions / elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--transactions", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        host = embedded_postgres.ensure_running(data)
        try:
            with psycopg.connect(host=host, user="kb_owner", dbname="kb", autocommit=True) as owner:
                owner.execute("CREATE TABLE bench_tenant (id int PRIMARY KEY)")
                owner.execute("CREATE TABLE bench_event (id bigserial PRIMARY KEY, tenant_id int)")
                owner.execute("INSERT INTO bench_tenant VALUES (1)")
            rates: dict[str, list[float]] = {name: [] for name in HOLD}
            for turn in range(options.rounds):
                # Each begins a round in its turn: the first one after a pause is slower, whatever it does.
                for name, hold in [*HOLD.items()][turn % 3 :] + [*HOLD.items()][: turn % 3]:
                    rates[name].append(
                        transactions_per_second(host, hold, threads=options.threads, transactions=options.transactions)
                    )
        finally:
            embedded_postgres.stop(data)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    print(
        json.dumps(
            {
                "threads": options.threads,
                "transactionsPerSecond": {name: round(value) for name, value in medians.items()},
                "advisoryToRow": round(medians["advisory shared"] / medians["row FOR SHARE"], 2),
            }
        )
    )


if __name__ == "__main__":
    main()
