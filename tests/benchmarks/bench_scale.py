"""What a plan for many documents is made of: bytes and seconds of each chunk, vector, pointer and order, measured here.

In a database of its own: bytes on disk of a chunk and of its vector, in the tables and in each index; how long the vector index
takes at growing sizes, beside adding the same vectors to a finished one; how long a gate looks at how many pointers, a bulk run
makes how long a list, and an audit takes. Rows are written past the guards by the superuser, as a benchmark may.

Run: `python -m tests.benchmarks.bench_scale [--chunks 100000] [--documents 200000]`. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.bench_search import DIMENSIONS, clustered
from tests.benchmarks.own_database import own_database

CHUNKS_EACH = 14  # of a document of 6,000 characters (bench_pipeline prints how many)
TEXT = "a sentence of a policy, with a number 200 and 差旅费用 in it. " * 8  # about 450 characters
ADDED = 2000  # vectors added to a finished index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument(
        "--documents", type=int, default=200_000, help="with pointers under two pipelines, for the gate"
    )
    options = parser.parse_args()
    with own_database():
        print(json.dumps(measure(options)))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    import psycopg
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    from documents import tenants
    from indexing import lifecycle, revisions
    from indexing.pipelines import drop_unused_vector_index, serving_pipeline
    from kbsite import embedded_postgres

    call_command("migrate", verbosity=0)
    tenant = tenants.create_tenant(slug="bench", name="Bench")
    first = serving_pipeline(tenant.pk)
    assert first is not None
    second, _ = revisions.create(actor=None, base=first, assignments=["splitter.tokens=200"])
    lifecycle.begin(actor=None, tenant_id=tenant.pk, pipeline_id=second.pk)
    drop_unused_vector_index(second, using="owner")
    host = embedded_postgres.ensure_running(settings.DATA_DIR)
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(host=host, user="postgres", dbname=name, autocommit=True) as db:
        db.execute("SET session_replication_role = replica")
        documents = _documents(db, tenant.pk, (first.pk, second.pk), options.documents)
        steps = _vectors(db, tenant.pk, second, documents, options.chunks)
        return {
            "storage": _storage(db, options.chunks, options.documents),
            "vectorIndex": steps,
            "services": _services(tenant.pk, second.pk, options.documents),
        }


def _documents(db: Any, tenant_id: int, pipelines: tuple[int, int], count: int) -> list[uuid.UUID]:
    rng = np.random.default_rng(5)
    documents = [uuid.UUID(bytes=rng.bytes(16)) for _ in range(count)]
    content = db.execute(
        "INSERT INTO stored_content (tenant_id, key, sha256, size, media_type, state, created_at)"
        " VALUES (%s, 'bench', '', 0, 'text/plain', 'confirmed', now()) RETURNING id",
        [tenant_id],
    ).fetchone()[0]
    with db.cursor().copy(
        "COPY document (id, tenant_id, title, revision, staleness, latest_version, requested_version, published_version,"
        " published_at, serve_from_version, created_at, updated_at) FROM STDIN"
    ) as copy:
        for number, document in enumerate(documents):
            copy.write_row((document, tenant_id, f"D{number}", 1, "serve_previous", 1, 1, 1, "now", 0, "now", "now"))
    db.execute(
        "INSERT INTO document_version (document_id, tenant_id, number, title, file_name, media_type, content_id, created_at)"
        " SELECT id, tenant_id, 1, title, 'a.txt', 'text/plain', %s, now() FROM document WHERE tenant_id = %s",
        [content, tenant_id],
    )
    for pipeline in pipelines:
        db.execute(
            "INSERT INTO search_pointer (tenant_id, document_id, pipeline_id, version_number, generation, chunk_count,"
            " manifest_digest, task_id, attempts)"
            " SELECT tenant_id, id, %s, 1, 1, %s, '', 0, 1 FROM document WHERE tenant_id = %s",
            [pipeline, CHUNKS_EACH, tenant_id],
        )
    return documents


def _vectors(db: Any, tenant_id: int, pipeline: Any, documents: list[uuid.UUID], count: int) -> list[dict[str, Any]]:
    """Quarter, half and all of the chunks; the index built anew over each."""
    from indexing.pipelines import drop_unused_vector_index, ensure_vector_index, vector_index_name

    rng = np.random.default_rng(7)
    index = vector_index_name(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions)
    steps, there = [], 0
    for size in (count // 4, count // 2, count):
        drop_unused_vector_index(pipeline, using="owner")
        bare = _timed(lambda: _add(db, tenant_id, pipeline.pk, documents, clustered(rng, size - there), there))  # noqa: B023
        added, there = size - there, size
        built = _timed(
            lambda: ensure_vector_index(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions, using="owner")
        )
        bytes_ = db.execute("SELECT pg_relation_size(%s)", [index]).fetchone()[0]
        steps.append(
            {
                "vectors": size,
                "buildSeconds": round(built, 1),
                "vectorsPerSecond": round(size / built),
                "bytesPerVector": round(bytes_ / size),
                "bareCopyMsPerVector": round(1000 * bare / added, 3),
            }
        )
    more = clustered(rng, ADDED)
    indexed = _timed(lambda: _add(db, tenant_id, pipeline.pk, documents, more, there))
    steps[-1]["addedMsPerVector"] = round(1000 * indexed / ADDED, 3)
    return steps


def _add(db: Any, tenant_id: int, pipeline: int, documents: list[uuid.UUID], vectors: np.ndarray, start: int) -> None:
    from indexing import lexical
    from indexing.cache import literal

    rng = np.random.default_rng(start)
    terms = lexical.tsvector("", TEXT)
    with db.cursor().copy(
        "COPY chunk (id, chunk_id, tenant_id, document_id, version_number, pipeline_id, generation, ordinal, text,"
        " heading_path, locator, tokens, embedded_digest, terms, task_id, attempts) FROM STDIN"
    ) as copy:
        for number in range(start, start + len(vectors)):
            document = documents[number // CHUNKS_EACH % len(documents)]
            locator = '{"span": [0, 450], "page": 3, "lines": [1, 9]}'
            copy.write_row(
                (
                    number + 1, uuid.UUID(bytes=rng.bytes(16)), tenant_id, document, 1, pipeline, 1 + number // len(documents),
                    number % CHUNKS_EACH, TEXT, '["Travel", "Limits"]', locator, 120, "0" * 64, terms, 0, 1,
                )
            )  # fmt: skip
    with db.cursor().copy(
        "COPY chunk_vector (chunk_id, tenant_id, document_id, version_number, generation, pipeline_id, dimensions, embedding)"
        " FROM STDIN"
    ) as copy:
        for number, vector in enumerate(vectors, start=start):
            document = documents[number // CHUNKS_EACH % len(documents)]
            copy.write_row((number + 1, tenant_id, document, 1, 1, pipeline, DIMENSIONS, literal(vector)))


def _storage(db: Any, chunks: int, documents: int) -> dict[str, Any]:
    """Bytes on disk of each row, with what is stored out of line; indexes by name."""
    db.execute("VACUUM ANALYZE")
    counts = {"chunk": chunks, "chunk_vector": chunks, "search_pointer": 2 * documents, "document": documents}
    result: dict[str, Any] = {}
    for table, rows in counts.items():
        found = db.execute(
            "SELECT indexrelid::regclass::text, pg_relation_size(indexrelid) FROM pg_index WHERE indrelid = %s::regclass",
            [table],
        ).fetchall()
        whole = db.execute("SELECT pg_table_size(%s::regclass)", [table]).fetchone()[0]
        result[table] = {
            "bytesPerRow": round(whole / rows),
            "indexes": {name: round(size / rows) for name, size in sorted(found) if "hnsw" not in name},
        }
    return result


def _services(tenant_id: int, pipeline_id: int, documents: int) -> dict[str, Any]:
    from django.db import connection

    from indexing import audit, lifecycle, recompute

    gate = _timed(lambda: lifecycle.count_behind(tenant_id=tenant_id, pipeline_id=pipeline_id))
    some = min(documents, 20_000)
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM document ORDER BY id LIMIT %s", [some])
        chosen = tuple(row[0] for row in cursor.fetchall())
    listed = _timed(
        lambda: recompute.start(
            actor_id=None,
            pipeline_id=pipeline_id,
            tenant_id=tenant_id,
            where=recompute.Where(documents=chosen),
            rebuild=True,
        )
    )
    audited = _timed(lambda: sum(1 for _ in audit._not_served()))
    return {
        "gateSecondsPerMillionDocuments": round(gate * 1e6 / documents, 2),
        "bulkOrdersPerSecond": round(some / listed),
        "auditOfWhatIsServedSecondsPerMillionDocuments": round(audited * 1e6 / documents, 2),
    }


def _timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
