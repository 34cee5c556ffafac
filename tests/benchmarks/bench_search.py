"""How fast and how complete is search for callers who may read much or little of a tenant?

Makes a tenant of synthetic documents with clustered vectors in a database of its own and asks, in turns, as members who may
read 60 %, 10 %, 1 % and 0.1 % of them: the leg that the product chooses, and both legs by force. Recall is against an exact
scan in numpy of the vectors that the member may read.

Run: `python -m tests.benchmarks.bench_search [--documents 2000] [--chunks 20] [--queries 20]`. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import uuid
from typing import Any

import numpy as np

from tests.benchmarks.own_database import own_database

SHARES = (0.6, 0.1, 0.01, 0.001)
DIMENSIONS = 384
LIMIT = 10


def clustered(rng: np.random.Generator, count: int) -> np.ndarray:
    """Unit vectors around the same 200 centres for every caller, as texts about 200 subjects would lie."""
    centres = np.random.default_rng(3).normal(size=(200, DIMENSIONS))
    vectors = centres[rng.integers(0, 200, count)] + 0.6 * rng.normal(size=(count, DIMENSIONS))
    unit: np.ndarray = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def fill(tenant_id: int, pipeline_id: int, members: dict[float, int], options: argparse.Namespace) -> dict[str, Any]:
    """Documents with one chunk set each, written past the guards by the superuser: a benchmark may, the product may not."""
    import psycopg
    from django.conf import settings
    from django.db import connections

    from indexing.cache import literal
    from kbsite import embedded_postgres

    rng = np.random.default_rng(7)
    total = options.documents * options.chunks
    vectors = clustered(rng, total)
    documents = [uuid.UUID(bytes=rng.bytes(16)) for _ in range(options.documents)]
    readable = {share: rng.random(options.documents) < share for share in SHARES}
    host = embedded_postgres.ensure_running(settings.DATA_DIR)
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(host=host, user="postgres", dbname=name) as db:
        db.execute("SET session_replication_role = replica")
        content = db.execute(
            "INSERT INTO stored_content (tenant_id, key, sha256, size, media_type, state, created_at)"
            " VALUES (%s, 'bench', '', 0, 'text/plain', 'confirmed', now()) RETURNING id",
            [tenant_id],
        ).fetchone()[0]  # type: ignore[index]
        with db.cursor().copy(
            "COPY document (id, tenant_id, title, revision, staleness, latest_version, requested_version, published_version,"
            " published_at, serve_from_version, created_at, updated_at) FROM STDIN"
        ) as copy:
            for number, document in enumerate(documents):
                row = (document, tenant_id, f"D{number}", 1, "serve_previous", 1, 1, 1, "now", 0, "now", "now")
                copy.write_row(row)
        db.execute(
            "INSERT INTO document_version (document_id, tenant_id, number, title, file_name, media_type, content_id,"
            " created_at) SELECT id, tenant_id, 1, title, 'a.txt', 'text/plain', %s, now() FROM document WHERE tenant_id = %s",
            [content, tenant_id],
        )
        for share, membership in members.items():
            chosen = [documents[index] for index in np.flatnonzero(readable[share])]
            db.execute(
                "INSERT INTO read_rule (version_id, document_id, version_number, kind, membership_id)"
                " SELECT id, document_id, 1, 'user', %s FROM document_version WHERE document_id = ANY(%s)",
                [membership, chosen],
            )
        db.execute(
            "INSERT INTO search_pointer (tenant_id, document_id, pipeline_id, version_number, generation, chunk_count,"
            " manifest_digest, task_id, attempts)"
            " SELECT tenant_id, id, %s, 1, 1, %s, '', 0, 1 FROM document WHERE tenant_id = %s",
            [pipeline_id, options.chunks, tenant_id],
        )
        words = [f"w{number}" for number in range(3000)]
        with db.cursor().copy(
            "COPY chunk (id, chunk_id, tenant_id, document_id, version_number, pipeline_id, generation, ordinal, text,"
            " heading_path, locator, tokens, embedded_digest, terms, task_id, attempts) FROM STDIN"
        ) as copy:
            for index in range(total):
                document, ordinal = documents[index // options.chunks], index % options.chunks
                chosen_words = sorted(set(rng.choice(words, 40)))
                terms = " ".join(f"'{word}':{place + 1}" for place, word in enumerate(chosen_words))
                copy.write_row(
                    (
                        index + 1, uuid.UUID(bytes=rng.bytes(16)), tenant_id, document, 1, pipeline_id, 1, ordinal,
                        " ".join(chosen_words), "[]", '{"span": [0, 1]}', 40, "", terms, 0, 1,
                    )
                )  # fmt: skip
        with db.cursor().copy(
            "COPY chunk_vector (chunk_id, tenant_id, document_id, version_number, generation, pipeline_id, dimensions,"
            " embedding) FROM STDIN"
        ) as copy:
            for index in range(total):
                document = documents[index // options.chunks]
                copy.write_row((index + 1, tenant_id, document, 1, 1, pipeline_id, DIMENSIONS, literal(vectors[index])))
    with psycopg.connect(host=host, user="postgres", dbname=name, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")
    return {"vectors": vectors, "readable": readable}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--queries", type=int, default=20)
    options = parser.parse_args()
    with own_database():
        print(json.dumps(measure(options)))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection, transaction

    from documents import tenants
    from indexing import search as product
    from indexing.cache import literal
    from indexing.pipelines import serving_pipeline
    from indexing.statements import run_statement

    call_command("migrate", verbosity=0)
    tenant = tenants.create_tenant(slug="bench", name="Bench")
    users = {share: User.objects.create(username=f"reads-{share}") for share in SHARES}
    members = {share: tenants.add_member(tenant=tenant, user=user, role="reader").pk for share, user in users.items()}
    pipeline = serving_pipeline(tenant.pk)
    assert pipeline is not None
    started = time.perf_counter()
    data = fill(tenant.pk, pipeline.pk, members, options)
    filled = time.perf_counter() - started
    rng = np.random.default_rng(11)
    queries = clustered(rng, options.queries)
    readers: dict[str, Any] = {}
    for share, user in users.items():
        caller = {"user": user.pk, "tenant": tenant.pk, "pipeline": pipeline.pk}
        allowed = np.repeat(data["readable"][share], options.chunks)
        results: dict[str, dict[str, list[float]]] = {}
        for query in queries:
            truth = set(np.argsort(-(data["vectors"] @ query) + 4.0 * ~allowed)[: min(LIMIT, int(allowed.sum()))] + 1)
            words = [f"w{number}" for number in rng.integers(0, 3000, 5)]
            parameters = product.parameters(caller, vector=literal(query), tokens=words, limit=LIMIT)
            parameters["lexical_weight"] = 0.0
            for leg in ("exact", "approximate", "chosen"):
                begun = time.perf_counter()
                if leg == "chosen":
                    rows = product.ranked(pipeline, parameters)
                elif leg == "approximate":
                    with transaction.atomic(), connection.cursor() as cursor:
                        cursor.execute(product.WALK)
                        rows = run_statement(product.statement(pipeline, near=leg, words="by_index"), parameters)
                else:
                    rows = run_statement(product.statement(pipeline, near=leg, words="by_document"), parameters)
                elapsed = (time.perf_counter() - begun) * 1000
                found = {chunk_number(row, options.chunks) for row in rows}
                entry = results.setdefault(leg, {"ms": [], "recall": []})
                entry["ms"].append(elapsed)
                entry["recall"].append(len(found & truth) / max(1, len(truth)))
        readers[str(share)] = {
            leg: {
                "p50Ms": round(statistics.median(values["ms"]), 1),
                "p95Ms": round(sorted(values["ms"])[int(len(values["ms"]) * 0.95)], 1),
                f"recallAt{LIMIT}": round(statistics.mean(values["recall"]), 3),
            }
            for leg, values in results.items()
        }
    return {
        "chunks": options.documents * options.chunks,
        "documents": options.documents,
        "secondsToFill": round(filled, 1),
        "readableShare": readers,
    }


def chunk_number(row: dict[str, Any], chunks: int) -> int:
    """Chunks were numbered in order, documents titled by their number."""
    return int(row["title"][1:]) * chunks + int(row["ordinal"]) + 1


if __name__ == "__main__":
    main()
