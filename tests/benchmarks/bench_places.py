"""How well chunks are found again: at their own places, and, to see what the measure is worth, at their neighbours'.

`python -m tests.benchmarks.bench_places --corpus DIR` prints JSON by media type. `moved`: chunks looked for at the place of
the next chunk of the same file, unless that is around their own or the format has no places; `movedFound` should be near
nothing. No timed assertion.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

from documents.media_types import DOCX, HTML, UnsupportedFile, detect
from indexing.errors import IndexingError
from indexing.locators import Locator
from indexing.parsers.sandbox import parse_in_child, verify_apart
from indexing.splitters import split
from indexing.verification import Claim, claims_of

LIMITS = {"timeout": 300.0, "memory_bytes": 2 * 1024**3}
BUDGET = 320


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    folder: Path = parser.parse_args().corpus
    by_type: dict[str, Counter[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".truth." not in path.name:
            for kind, counted in measured(path):
                by_type.setdefault(kind, Counter()).update(counted)
    whole: Counter[str] = Counter()
    for counted in by_type.values():
        whole.update(counted)
    print(json.dumps({**by_type, "all": whole}, indent=2))


def measured(path: Path) -> Iterator[tuple[str, dict[str, float]]]:
    content = path.read_bytes()
    try:
        media_type = detect(content, path.name)
        document = parse_in_child(content, media_type, path.name, **LIMITS)
    except (IndexingError, UnsupportedFile):
        return
    chunks = split(document, title=path.stem, count_tokens=lambda text: len(text) // 3 + 2, budget=BUDGET)
    claims = claims_of(document, chunks)
    began = time.monotonic()
    own = verify_apart(content, media_type, claims, **LIMITS)
    seconds = time.monotonic() - began
    moved = [] if media_type in (HTML, DOCX) else list(moved_on(claims))
    others = verify_apart(content, media_type, moved, **LIMITS) if moved else None
    yield (
        media_type,
        {
            "files": 1,
            "found": own.found,
            "failed": len(own.failed),
            "notCheckable": own.not_checkable,
            "moved": len(moved),
            "movedFound": others.found if others else 0,
            "seconds": seconds,
        },
    )


def moved_on(claims: Sequence[Claim]) -> Iterator[Claim]:
    for claim, following in pairwise(claims):
        if claim.texts and not _is_around(following.locator, claim.locator):
            yield replace(claim, locator=following.locator)


def _is_around(outer: Locator, inner: Locator) -> bool:
    """Whether a place holds another one: a chunk that goes over columns stands around its neighbours, too."""
    if outer.page is None or outer.last_page is None or inner.page is None or inner.last_page is None:
        return replace(outer, span=(0, 0)) == replace(inner, span=(0, 0))
    if not (outer.page <= inner.page and inner.last_page <= outer.last_page):
        return False
    regions = dict(outer.regions())
    return all(_holds(regions[page], region) for page, region in inner.regions())


def _holds(outer: Sequence[float] | None, inner: Sequence[float] | None) -> bool:
    if outer is None or inner is None:
        return outer is None
    return (
        outer[0] - 3 <= inner[0] and outer[1] - 3 <= inner[1] and inner[2] <= outer[2] + 3 and inner[3] <= outer[3] + 3
    )


if __name__ == "__main__":
    main()
