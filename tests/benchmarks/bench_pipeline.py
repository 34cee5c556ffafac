"""How long it takes until 400 documents can be found, beside what their provider and their rows take by themselves.

Worker processes (`run_index_worker`), a provider on a socket and a PostgreSQL of its own with the HNSW index in place. In each
round, on a new copy of one prepared database: a first load, a client that sends the same texts in the same batches over as
many connections as there are workers, a bare COPY of the same rows into tables with the same indexes; then every document
again with the same bytes, and every tenth with one sentence changed, while a reader searches all the time. At last two loads
in which workers are killed half-way, one of them or all. Workers have done some tasks before the clock starts.

Run: `make bench-pipeline ARGS="--format json"`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests import environment  # noqa: F401  (before the environment is set: it clears it)
from tests.benchmarks.own_database import own_database
from tests.benchmarks.pipeline_provider import MODEL, Provider, limit
from tests.benchmarks.pipeline_texts import make, with_one_sentence_changed

LEASE = 3.0  # seconds, where workers are killed: the others wait for so long


def one_round(
    scene: Any, provider: Provider, options: argparse.Namespace, say: Callable[[str], None]
) -> dict[str, Any]:
    from tests.benchmarks.pipeline_copy import bare_copy

    found: dict[str, Any] = {}
    with scene.copied(), scene.workers(options.workers):
        provider.reset()
        load = scene.load()
        batches = provider.batches
        alone = limit(provider.url, batches, concurrency=options.workers)
        copied = bare_copy(scene.superuser, tenant_id=scene.tenant_id)
        slower = max(alone, copied)
        found["firstLoad"] = {
            "seconds": load,
            "providerSeconds": alone,
            "copySeconds": copied,
            "ratio": load / slower,
            "ratioToProvider": load / alone,
            "ratioToCopy": load / copied,
            "texts": sum(map(len, batches)),
            "requests": len(batches),
            "chunks": scene.count("SELECT count(*) FROM chunk WHERE tenant_id = %s"),
        }
        say(f"first load {load:.2f} s, provider {alone:.2f} s, bare COPY {copied:.2f} s")
        provider.reset()
        unchanged = scene.again(scene.made)
        found["unchanged"] = {"seconds": unchanged, "texts": sum(map(len, provider.batches))}
        provider.reset()
        edited = [with_one_sentence_changed(made, seed=options.seed) for made in scene.made[::10]]
        with scene.reader() as reader:
            seconds = scene.again(edited)
        texts, changed = sum(map(len, provider.batches)), scene.changed()
        found["edit"] = {
            "documents": len(edited),
            "seconds": seconds,
            "texts": texts,
            "changedChunks": changed,
            "ratio": texts / changed,
            "tornDocuments": reader.torn(scene.whole()),
            "searches": reader.looks,
        }
        say(f"unchanged {unchanged:.2f} s; edit {seconds:.2f} s, {texts} texts for {changed} changed chunks")
    return found


def killed(scene: Any, provider: Provider, options: argparse.Namespace, *, victims: int) -> dict[str, Any]:
    """A first load in which so many workers are killed at once when half of the documents are searchable."""
    with scene.copied(), scene.workers(options.workers, lease=LEASE) as crew, scene.reader() as reader:
        provider.reset()
        scene.release()
        scene.wait_for(len(scene.made) // 2)
        for victim in crew[:victims]:
            victim.kill()
            victim.wait()
        if victims == len(crew):
            with scene.workers(options.workers, lease=LEASE):
                scene.wait_for(len(scene.made))
        else:
            scene.wait_for(len(scene.made))
        batches = provider.batches
        texts = [text for batch in batches for text in batch]
        seen, again = set[str](), 0
        for batch in batches:
            again += any(text in seen for text in batch)
            seen.update(batch)
        return {
            "workers": len(crew),
            "killed": victims,
            "textsSentAgain": len(texts) - len(seen),
            "batchesSentAgain": again,
            "tornDocuments": reader.torn(scene.whole()),
            "documentsFound": reader.found(),
            "searches": reader.looks,
        }


def summary(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The median of each figure, and all first loads."""
    result: dict[str, Any] = {
        part: {name: round(statistics.median(found[part][name] for found in rounds), 3) for name in rounds[0][part]}
        for part in rounds[0]
    }
    result["edit"]["tornDocuments"] = max(found["edit"]["tornDocuments"] for found in rounds)
    result["rounds"] = [
        {name: round(found["firstLoad"][name], 2) for name in ("seconds", "providerSeconds", "copySeconds")}
        for found in rounds
    ]
    return result


def measure(options: argparse.Namespace, provider: Provider) -> dict[str, Any]:
    from tests.benchmarks.pipeline_scene import Scene

    made = [make(number, characters=options.characters, seed=options.seed) for number in range(options.documents)]
    with Scene(made, workers=options.workers) as scene:
        rounds = []
        for number in range(1, options.rounds + 1):
            say(f"round {number}")
            rounds.append(one_round(scene, provider, options, say))
        kills = [killed(scene, provider, options, victims=victims) for victims in (1, options.workers)]
    return {"documents": len(made), "workers": options.workers, **summary(rounds), "kills": kills}


def say(words: str) -> None:
    if sys.stderr.isatty():
        print(words, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--characters", type=int, default=6_000, help="of a document")
    parser.add_argument("--workers", type=int, default=4, help="worker processes, and connections to the provider")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--request-ms", type=float, default=20.0, help="that the provider takes for a request")
    parser.add_argument("--text-ms", type=float, default=0.2, help="and for each text in it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    timing = {"seconds": options.request_ms / 1000, "seconds_per_text": options.text_ms / 1000}
    with Provider(dimensions=options.dimensions, **timing) as provider:
        os.environ.update(
            KB_EMBEDDING_URL=provider.url,
            KB_EMBEDDING_MODEL=MODEL,
            KB_EMBEDDING_DIMENSIONS=str(options.dimensions),
            KB_SEARCH_LEXICAL_WEIGHT="9",  # the reader looks for a document's own word, and is to be shown all of it
        )
        with own_database():
            report = measure(options, provider)
    print(json.dumps(report, indent=None if options.format == "json" else 2))


if __name__ == "__main__":
    main()
