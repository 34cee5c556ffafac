"""Whether searchers were shown anything that they may not have been shown. Pure.

Nobody can tell the moment at which a command takes effect, only that it lies between the beginning and the acknowledgement.
So a result is wrong only if it was wrong at *every* moment of its search: what is reported here is no matter of timing.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.ledger import Entry


@dataclass(frozen=True, slots=True)
class Search:
    """One search and its hits: (document, version, snippet)."""

    tenant: str
    user: str
    began: float
    ended: float
    hits: tuple[tuple[str, int, str], ...]


def wrong_results(
    searches: Iterable[Search], entries: Iterable[Entry], *, markers: Mapping[tuple[str, int], frozenset[str]]
) -> list[str]:
    """What was wrong, a sentence each. `markers`: of each (document, version), one stands in each of its chunks."""
    histories: defaultdict[str, list[Entry]] = defaultdict(list)
    tenants: dict[str, str] = {}
    for entry in entries:
        if entry.document and entry.outcome != "refused":
            histories[entry.document].append(entry)
            tenants[entry.document] = entry.tenant
    ordered = sorted(searches, key=lambda search: search.began)
    found = [wrong for search in ordered for wrong in _wrong_in(search, histories, tenants, markers)]
    return found + _went_back(ordered)


def _wrong_in(
    search: Search,
    histories: Mapping[str, list[Entry]],
    tenants: Mapping[str, str],
    markers: Mapping[tuple[str, int], frozenset[str]],
) -> Iterable[str]:
    versions: defaultdict[str, set[int]] = defaultdict(set)
    for document, version, snippet in search.hits:
        versions[document].add(version)
        if not any(marker in snippet for marker in markers.get((document, version), ())):
            yield f"{search.user} was shown text as version {version} of {document} that is not in it"
    for document, seen in versions.items():
        history = histories.get(document, [])
        if len(seen) > 1:
            yield f"{search.user} was shown versions {sorted(seen)} of {document} in one answer"
        if tenants.get(document) != search.tenant:
            yield f"{search.user} searched {search.tenant} and was shown {document} of {tenants.get(document)}"
        if _is_over([entry for entry in history if entry.action == "delete"], [], search.began):
            yield f"{search.user} was shown {document} after its deletion was acknowledged"
        withdrawals = [entry for entry in history if entry.action == "withdraw"]
        if _is_over(withdrawals, [entry for entry in history if entry.action == "publish"], search.began):
            yield f"{search.user} was shown {document} after its withdrawal was acknowledged"
        given = [entry for entry in history if entry.readers is not None and entry.began <= search.ended]
        closing = [entry for entry in given if search.user not in (entry.readers or ())]
        opening = [entry for entry in given if search.user in (entry.readers or ())]
        if not opening or _is_over(closing, opening, search.began):
            yield f"{search.user} was shown {document}, which they could not read at any moment of the search"
        for version in seen:
            published = [
                e for e in history if e.action == "publish" and e.version == version and e.began <= search.ended
            ]
            if not published:
                yield f"{search.user} was shown version {version} of {document} before anybody published it"
            elif opening and not any(_may_open(entry, version, published) for entry in opening):
                yield f"{search.user} was shown version {version} of {document}, whose readers they never were among"


def _may_open(opening: Entry, version: int, published: Iterable[Entry]) -> bool:
    """Whether the readers that `opening` gave may be those of `version`: its own, or taken over by it from another."""
    return (
        opening.version == version or opening.outcome == "unknown" or any(entry.readers is None for entry in published)
    )


def _is_over(closing: Iterable[Entry], opening: Iterable[Entry], moment: float) -> bool:
    """Whether one of `closing` had surely taken effect at `moment`, and after everything in `opening` that can have."""
    last_opening = max((entry.ended if entry.ended is not None else math.inf for entry in opening), default=-math.inf)
    return any(
        entry.outcome == "acknowledged"
        and entry.ended is not None
        and last_opening < entry.began
        and entry.ended < moment
        for entry in closing
    )


def _went_back(searches: Iterable[Search]) -> list[str]:
    """Searches that were shown an older version than one that had ended before they began."""
    moments: defaultdict[str, list[tuple[float, float, int, str]]] = defaultdict(list)
    for search in searches:
        for document, version in {(document, version) for document, version, _ in search.hits}:
            moments[document].append((search.began, search.ended, version, search.user))
    found = []
    for document, seen in moments.items():
        ended = sorted((end, version) for _, end, version, _ in seen)
        newest, place = 0, 0
        for began, _, version, user in sorted(seen):
            while place < len(ended) and ended[place][0] < began:
                newest = max(newest, ended[place][1])
                place += 1
            if version < newest:
                found.append(f"{user} was shown version {version} of {document} after version {newest} had been seen")
    return found


def read(paths: Iterable[Path]) -> list[Search]:
    """What searchers wrote down; the last line of one that was killed may be torn."""
    found = []
    for path in paths:
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            hits = tuple((document, version, snippet) for document, version, snippet in line["hits"])
            found.append(Search(line["tenant"], line["user"], line["began"], line["ended"], hits))
    return found
