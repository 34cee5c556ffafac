"""Codes, stages and places in words of the reader's language. What is stored stays code and English; this is only shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as noop

from indexing.errors import (
    EmbeddingBadResponse,
    EmbeddingInputRejected,
    EmbeddingTimeout,
    FileAtFault,
    IndexingError,
)
from indexing.splitters.structure import BETWEEN_HEADINGS
from indexing.states import Pool, Stage, TaskState, TaskType


def _classes(base: type[IndexingError]) -> Iterator[type[IndexingError]]:
    for child in base.__subclasses__():
        yield child
        yield from _classes(child)


SENTENCES: dict[str, str] = {
    **{error.code: error.sentence() for error in _classes(IndexingError) if "code" in vars(error)},
    "LEASE_ATTEMPTS_EXHAUSTED": noop(
        "The worker stopped several times while it indexed this version. Retry it, and tell an operator if it goes on."
    ),
}
"""One English sentence per stable code: what an editor reads, and the key of its translations."""

FAULTS_OF_THE_FILE = frozenset(error.code for error in _classes(FileAtFault))
"""Codes of errors that no retry can change: only another file can."""

STATES: dict[str, str] = {
    TaskState.PENDING: noop("Waiting"),
    TaskState.RUNNING: noop("Running"),
    TaskState.RETRY_WAIT: noop("Waiting to retry"),
    TaskState.SUCCEEDED: noop("Succeeded"),
    TaskState.DEAD: noop("Failed"),
    TaskState.CANCELLED: noop("Cancelled"),
}

POOLS: dict[str, str] = {Pool.ONLINE: noop("Somebody waits for it"), Pool.BULK: noop("Bulk run")}

TYPES: dict[str, str] = {
    TaskType.INDEX: noop("Index a version"),
    TaskType.REINDEX: noop("Index a version anew"),
    TaskType.RECOMPUTE: noop("Recompute in bulk"),
}

STAGES: dict[str, str] = {
    Stage.PARSE: noop("Reading the file"),
    Stage.SPLIT: noop("Splitting the text"),
    Stage.EMBED: noop("Computing vectors"),
    Stage.INDEX: noop("Storing chunks"),
    Stage.VALIDATE: noop("Checking the result"),
}

COUNTED = (Stage.EMBED, Stage.INDEX)
"""Stages whose progress counts chunks one by one; the others are over in a moment or cannot be counted."""


NAME_PLACES = frozenset(error.code for error in (EmbeddingInputRejected, EmbeddingBadResponse, EmbeddingTimeout))
"""Codes whose last failure may have named places; under another code they are of a failure before."""


def error_sentence(code: str | None, stored: str | None = None, places: dict[str, Any] | None = None) -> str:
    """What an editor can do about an error: by its code, or the stored sentence of a code that is not known here.

    `places`: those of the texts at fault, if the failure named any.
    """
    if not code:
        return ""
    sentence = SENTENCES.get(code)
    words = gettext(sentence) if sentence else stored or code
    if places and code in NAME_PLACES:
        words = gettext("%(sentence)s %(places)s") % {"sentence": words, "places": places_words(places)}
    return words


def places_words(places: dict[str, Any]) -> str:
    """“Text at fault: page 3, under “Travel › Meals”, chunk 12.”, of several texts the first few."""
    named = gettext("; ").join(map(_place_words, places["first"]))
    counted = {"count": places["count"], "places": named}
    if not places["complete"]:
        return gettext("Texts at fault: %(count)d or more. The first: %(places)s.") % counted
    if places["count"] == 1:
        return gettext("Text at fault: %(places)s.") % counted
    return gettext("Texts at fault: %(count)d. The first: %(places)s.") % counted


def _place_words(place: dict[str, Any]) -> str:
    words = [locator_words(place["locator"])]
    if place["headingPath"]:
        words.append(gettext("under “%(headings)s”") % {"headings": BETWEEN_HEADINGS.join(place["headingPath"])})
    words.append(gettext("chunk %(number)d") % {"number": place["chunk"]})
    return gettext(", ").join(filter(None, words))


def state_word(state: str) -> str:
    """The state of a task in a word."""
    return gettext(STATES[state])


def progress_words(stage: str | None, done: int, total: int) -> str:
    """“Computing vectors: 34/80 chunks”. Without a stage no worker has begun."""
    if not stage:
        return gettext("Waiting for a worker")
    words = gettext(STAGES[stage])
    if not total or stage not in COUNTED:
        return words
    counted = {"stage": words, "done": done, "total": total}
    return ngettext("%(stage)s: %(done)d/%(total)d chunk", "%(stage)s: %(done)d/%(total)d chunks", total) % counted


def locator_words(locator: dict[str, Any]) -> str:
    """“page 3, lines 10–14”; empty where the format has neither pages nor lines."""
    places = [_page_words(locator), _line_words(locator)]
    return gettext(", ").join(place for place in places if place)


def _page_words(locator: dict[str, Any]) -> str:
    first, last = locator.get("page"), locator.get("pageEnd")
    if first is None:
        return ""
    if last is None or last == first:
        return gettext("page %(page)d") % {"page": first}
    return gettext("pages %(first)d–%(last)d") % {"first": first, "last": last}


def _line_words(locator: dict[str, Any]) -> str:
    if not locator.get("lines"):
        return ""
    first, last = locator["lines"]
    if first == last:
        return gettext("line %(line)d") % {"line": first}
    return gettext("lines %(first)d–%(last)d") % {"first": first, "last": last}
