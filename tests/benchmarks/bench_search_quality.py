"""How good is search? nDCG@10 and recall@10 of the vector leg, of the lexical leg with and without counted terms, and fused.

Takes a file of JSON lines, `{"type": "document", "id", "title", "text"}` and
`{"type": "question", "text", "relevant": [{"document": id}]}`, makes one document of each passage through the product's own
splitter, embedder, tokens and sink in a database of its own, and asks every question as a reader of all of it. BM25 over the
same tokens, computed here, is printed beside the lexical leg.

Run: `python -m tests.benchmarks.bench_search_quality FILE [--passages N] [--questions N] [--weights 1:1,1:0.5]`. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.own_database import own_database

DEPTH = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--passages", type=int, help="how many of the passages, from the first (all)")
    parser.add_argument("--questions", type=int, help="how many of the questions about them, spread evenly (all)")
    parser.add_argument("--weights", default="1:1", help="weights of vector:lexical to fuse with, separated by commas")
    options = parser.parse_args()
    with own_database():
        print(json.dumps(measure(options)))


def read(options: argparse.Namespace) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    lines = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines()]
    passages = {line["id"]: line for line in lines if line["type"] == "document"}
    passages = dict(list(passages.items())[: options.passages])
    questions = [line for line in lines if line["type"] == "question"]
    questions = [line for line in questions if relevant(line) <= set(passages)]
    step = max(1, len(questions) // (options.questions or len(questions)))
    return passages, questions[::step][: options.questions]


def relevant(question: dict[str, Any]) -> set[str]:
    return {item["document"] for item in question["relevant"]}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from documents import tenants
    from indexing import lexical
    from indexing import search as product
    from indexing.cache import literal
    from indexing.pipelines import serving_pipeline
    from indexing.providers import embedder_for
    from tests.factories import World

    passages, questions = read(options)
    call_command("migrate", verbosity=0)
    tenant = tenants.create_tenant(slug="bench", name="Bench")
    editor = User.objects.create(username="editor")
    tenants.add_member(tenant=tenant, user=editor, role="editor")
    pipeline = serving_pipeline(tenant.pk)
    assert pipeline is not None
    embedder = embedder_for(pipeline.config)
    started = time.perf_counter()
    world = World(tenant, editor)
    ids: dict[uuid.UUID, str] = {}
    tokens: dict[str, list[str]] = {}
    for key, passage in passages.items():
        document_id, tokens[key] = index(world, passage, pipeline, embedder)
        ids[document_id] = key
    indexed = time.perf_counter() - started
    asked = [
        (relevant(question), literal(embedder.embed_query(question["text"])), lexical.query_tokens(question["text"]))
        for question in questions
    ]
    caller = {"user": editor.pk, "tenant": tenant.pk, "pipeline": pipeline.pk}

    def leg(vector_weight: float, lexical_weight: float) -> dict[str, float]:
        found = []
        for _, vector, words in asked:
            used = words if lexical_weight else []
            values = product.parameters(caller, vector=vector if vector_weight else None, tokens=used, limit=50)
            values.update(vector_weight=vector_weight, lexical_weight=lexical_weight)
            rows = product.ranked(pipeline, values)
            found.append(list(dict.fromkeys(ids[row["document_id"]] for row in rows))[:DEPTH])
        return score(found, [wanted for wanted, _, _ in asked])

    result: dict[str, Any] = {
        "file": options.file.name,
        "passages": len(passages),
        "questions": len(asked),
        "secondsToIndex": round(indexed, 1),
        "vector": leg(1, 0),
        "lexicalUncounted": leg(0, 1),
        "fusedUncounted": leg(1, 1),
    }
    call_command("refresh_term_statistics", stdout=sys.stderr)
    result["lexical"] = leg(0, 1)
    result["bm25"] = score(list(bm25(tokens, [words for _, _, words in asked])), [wanted for wanted, _, _ in asked])
    for pair in options.weights.split(","):
        vector_weight, lexical_weight = map(float, pair.split(":"))
        result[f"fused {pair}"] = leg(vector_weight, lexical_weight)
    return result


def index(world: Any, passage: dict[str, Any], pipeline: Any, embedder: Any) -> tuple[uuid.UUID, list[str]]:
    """Make one passage searchable in this process; return its document and its lexical tokens."""
    from indexing import lexical, queue, sink
    from indexing.cache import literal
    from indexing.parsers import parse
    from indexing.sink import Manifest
    from indexing.splitters import split_as_configured

    document = world.upload(passage["text"], title=passage["title"], name="a.txt")
    world.publish(document)
    lease = queue.claim(worker="bench", pool="online", lease_seconds=600)
    assert lease is not None
    parsed = parse(passage["text"].encode(), "text/plain", "a.txt")
    chunks = split_as_configured(
        pipeline.config["splitter"],
        parsed,
        title=passage["title"],
        count_tokens=embedder.count_tokens,
        most_tokens=embedder.max_tokens,
    )
    manifest = Manifest.of(chunks, lease=lease, pipeline_digest=pipeline.digest)
    embedded = embedder.embed_passages([chunk.embedded_text for chunk in chunks])
    vectors = {item.embedded_digest: literal(vector) for item, vector in zip(manifest.chunks, embedded, strict=True)}
    sink.stage(lease, manifest.chunks, vectors=vectors, dimensions=pipeline.dimensions)
    sink.finish(lease, manifest)
    tokens = [token for chunk in chunks for token in lexical.index_tokens(f"{chunk.context}\n{chunk.text}")]
    return document.pk, tokens


def score(found: Sequence[list[str]], wanted: Sequence[set[str]]) -> dict[str, float]:
    """Means over the questions; every relevant passage counts the same."""
    gains, recalls = [], []
    for ids, right in zip(found, wanted, strict=True):
        gain = sum(1 / math.log2(place + 2) for place, identity in enumerate(ids) if identity in right)
        best = sum(1 / math.log2(place + 2) for place in range(min(DEPTH, len(right))))
        gains.append(gain / best)
        recalls.append(len(set(ids) & right) / len(right))
    return {"ndcgAt10": round(sum(gains) / len(gains), 4), "recallAt10": round(sum(recalls) / len(recalls), 4)}


def bm25(
    documents: dict[str, list[str]], queries: Iterable[list[str]], k: float = 1.2, b: float = 0.75
) -> Iterator[list[str]]:
    """The ten best of `documents` for each query (Robertson and Zaragoza 2009, with its usual k₁ and b)."""
    from indexing.ranking import inverse_frequency

    counts = {key: Counter(tokens) for key, tokens in documents.items()}
    lengths = {key: len(tokens) for key, tokens in documents.items()}
    mean = sum(lengths.values()) / len(lengths)
    holding: defaultdict[str, list[str]] = defaultdict(list)
    for key, counted in counts.items():
        for token in counted:
            holding[token].append(key)

    def saturated(n: int, length: int) -> float:
        return n * (k + 1) / (n + k * (1 - b + b * length / mean))

    for query in queries:
        scores: defaultdict[str, float] = defaultdict(float)
        for token in query:
            weight = inverse_frequency(len(holding[token]), len(documents))
            for key in holding[token]:
                scores[key] += weight * saturated(counts[key][token], lengths[key])
        yield sorted(scores, key=lambda key: -scores[key])[:DEPTH]


if __name__ == "__main__":
    main()
