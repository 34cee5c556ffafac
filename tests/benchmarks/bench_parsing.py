"""What becomes of every file of a folder, how long it takes, and how well it is read beside other tools.

`make bench-parsing ARGS="--corpus DIR --format json"`. Files of every kind are taken, folders below too. Where `X.truth.json`,
`X.truth.xml` or `X.truth.md` stands beside a document X (`parsing_truth`), its reading is scored against it
(`parsing_scores`), ours as blocks (`kb`) and, through the same reader as every other tool's, as Markdown (`kb (Markdown)`).
A file that a tool cannot read counts 0 for it. Times are medians of rounds in which all take turns: `kbChild` is the locked
process with its start, as the worker does it; the others are warm processes of their own. A ratio compares medians of one run.

Exit status 1 where the parser crashed on a file (PARSE_CRASHED), 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import django

from tests.benchmarks.parsing_peers import Peer
from tests.benchmarks.parsing_readings import from_blocks, from_markdown, to_markdown
from tests.benchmarks.parsing_report import summary, text_report
from tests.benchmarks.parsing_scores import Reading, scores
from tests.benchmarks.parsing_truth import MARK, truth_of

PEERS = ("markitdown", "kreuzberg", "docling")
PEER_MEMORY = 8 * 1024**3  # of address space: more than they need, less than would harm the machine
SLOW = 10.0  # seconds: what takes longer is timed once
CHILD, WARM = "kbChild", "kb"


def files_of(corpus: Path) -> list[Path]:
    return sorted(
        path for path in corpus.rglob("*") if path.is_file() and MARK not in path.name and path.name[0] != "."
    )


def read_as_worker(path: Path) -> tuple[dict[str, Any], Any]:
    """What the worker would make of it, within its limits: what is told of the file; the document, if it could be read."""
    from django.conf import settings

    from documents.media_types import UnsupportedFile, detect
    from indexing.embedders.local import LocalEmbedder
    from indexing.errors import IndexingError, UnsupportedDocument
    from indexing.parsers.sandbox import parse_in_child, verify_apart
    from indexing.pipelines import splitter_config
    from indexing.splitters import split_as_configured
    from indexing.verification import claims_of

    content, embedder = path.read_bytes(), LocalEmbedder()
    limits = {"timeout": settings.KB_PARSE_TIMEOUT, "memory_bytes": settings.KB_PARSE_MEMORY}
    told: dict[str, Any] = {"code": "OK"}
    document = None
    try:
        media_type = detect(content, path.name)
        began = time.perf_counter()
        document = parse_in_child(content, media_type, path.name, **limits)
        told[CHILD] = time.perf_counter() - began
        told |= {"pages": document.pages, "blocks": len(document.blocks)}
        told |= {"gaps": [gap.to_json() for gap in document.gaps], "leftOut": len(document.left_out)}
        chunks = split_as_configured(
            splitter_config(),
            document,
            title=document.title or path.stem,
            count_tokens=embedder.count_tokens,
            most_tokens=embedder.max_tokens,
        )
        told["chunks"] = len(chunks)
        verification = verify_apart(content, media_type, claims_of(document, chunks), **limits)
        told["places"] = verification.to_json()
    except UnsupportedFile as error:
        told |= {"code": UnsupportedDocument.code, "message": str(error)}
    except IndexingError as error:
        told |= {"code": error.code, "message": str(error)}
    return told, document


def child_seconds(path: Path) -> dict[str, Any]:
    from django.conf import settings

    from documents.media_types import detect
    from indexing.parsers.sandbox import parse_in_child

    content, began = path.read_bytes(), time.perf_counter()
    parse_in_child(
        content,
        detect(content, path.name),
        path.name,
        timeout=settings.KB_PARSE_TIMEOUT,
        memory_bytes=settings.KB_PARSE_MEMORY,
    )
    return {"seconds": time.perf_counter() - began}


def in_turns(path: Path, tools: Sequence[Peer], rounds: int, seconds: float, ours: bool) -> dict[str, dict[str, Any]]:
    """By tool: its first answer, with the median of its times in `seconds` and their number in `runs`."""
    answers: dict[str, dict[str, Any]] = {}
    times = defaultdict[str, list[float]](list)
    sides = ([CHILD] if ours else []) + [tool.name for tool in tools]
    by_name = {tool.name: tool for tool in tools}
    for turn in range(rounds):
        at = turn % len(sides)
        for side in sides[at:] + sides[:at]:
            if side in answers and ("code" in answers[side] or times[side][0] > SLOW):
                continue
            answer = child_seconds(path) if side == CHILD else by_name[side].read(path, seconds)
            answers.setdefault(side, answer)
            if "code" not in answer:
                times[side].append(answer["seconds"])
    for side, taken in times.items():
        answers[side] |= {"seconds": statistics.median(taken), "runs": len(taken)}
    return answers


def measure(corpus: Path, tools: Sequence[Peer], rounds: int, seconds: float) -> list[dict[str, Any]]:
    results = []
    files, warm = files_of(corpus), set[str]()
    for number, path in enumerate(files, 1):
        say(f"{number}/{len(files)} {path.relative_to(corpus)}")
        told, document = read_as_worker(path)
        ours = [tool for tool in tools if tool.name != WARM or document is not None]
        if path.suffix not in warm:
            warm.add(path.suffix)
            for tool in ours:
                tool.read(path, seconds)
        answers = in_turns(path, ours, rounds, seconds, document is not None)
        result = {
            "file": str(path.relative_to(corpus)),
            "format": path.suffix.lower().lstrip("."),
            "bytes": path.stat().st_size,
        }
        result |= told
        if document is not None:
            result |= {CHILD: answers[CHILD].get("seconds"), "kbParse": answers[WARM].get("seconds")}
        pages = told.get("pages")
        if pages and result.get("kbParse"):
            result["kbParsePerPage"] = result["kbParse"] / pages
        result["peers"] = {
            name: peer_result(answer, pages) for name, answer in answers.items() if name not in (CHILD, WARM)
        }
        truth = truth_of(path)
        if truth is not None:
            result["truth"], reading = truth
            empty = Reading()
            result["scores"] = {"kb": scores(reading, from_blocks(document) if document else empty)}
            result["scores"]["kb (Markdown)"] = scores(
                reading, from_markdown(to_markdown(document)) if document else empty
            )
            for name, answer in answers.items():
                if name not in (CHILD, WARM):
                    result["scores"][name] = scores(reading, from_markdown(answer.get("markdown", "")))
        results.append(result)
    return results


def peer_result(answer: dict[str, Any], pages: int | None) -> dict[str, Any]:
    if "code" in answer:
        return {"code": answer["code"]}
    result = {"code": "OK", "seconds": answer["seconds"], "runs": answer["runs"]}
    return result | ({"perPage": answer["seconds"] / pages} if pages else {})


def say(words: str) -> None:
    if sys.stderr.isatty():
        print(words, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="a folder of documents, with or without truths")
    parser.add_argument("--rounds", type=int, default=3, help="of timing")
    parser.add_argument("--seconds", type=float, default=120.0, help="the most that another tool may take for one file")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"of {', '.join(PEERS)}; empty for none")
    parser.add_argument(
        "--peers-python", type=Path, default=Path(".venv-peers/bin/python"), help="where they are installed"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    if not options.corpus.is_dir():
        parser.error(f"{options.corpus} is no folder")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    django.setup()
    names = [name for name in options.peers.split(",") if name]
    if unknown := set(names) - set(PEERS):
        parser.error(f"unknown: {', '.join(unknown)}")
    # Not resolved: the link is what makes an interpreter one of its environment.
    asked = [Peer(name, options.peers_python.absolute(), PEER_MEMORY) for name in names]
    for peer in asked:
        peer.start()
    tools = [Peer(WARM, Path(sys.executable), PEER_MEMORY), *(peer for peer in asked if not peer.absent)]
    try:
        results = measure(options.corpus, tools, options.rounds, options.seconds)
    finally:
        for tool in tools:
            tool.end()
    report = {
        "summary": summary(results, [tool.name for tool in tools if tool.name != WARM]),
        "peers": {peer.name: {"absent": peer.absent} if peer.absent else {"version": peer.version} for peer in asked},
        "rounds": options.rounds,
        "files": results,
    }
    print(json.dumps(report, ensure_ascii=False, indent=1) if options.format == "json" else text_report(report))
    sys.exit(1 if report["summary"]["crashed"] else 0)


if __name__ == "__main__":
    main()
