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
    VerificationFailed,
)
from indexing.parsers import limits
from indexing.splitters.sections import BETWEEN_HEADINGS
from indexing.states import PipelineRole, Pool, Stage, TaskState, TaskType


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

ROLES: dict[str, str] = {
    PipelineRole.BUILDING: noop("Being built"),
    PipelineRole.SERVING: noop("Serves"),
    PipelineRole.STANDBY: noop("Stands by"),
    PipelineRole.RETIRED: noop("Retired"),
}

STAGES: dict[str, str] = {
    Stage.PARSE: noop("Reading the file"),
    Stage.SPLIT: noop("Splitting the text"),
    Stage.EMBED: noop("Computing vectors"),
    Stage.INDEX: noop("Storing chunks"),
    Stage.VALIDATE: noop("Checking the result"),
}

WRITES: dict[str, str] = {
    "renew": noop("Renewing the lease"),
    "report": noop("Saying where it is"),
    "keep_parsed": noop("Keeping what was read"),
    "find_vectors": noop("Looking for known vectors"),
    "keep_vectors": noop("Keeping vectors"),
    "stage": noop("Storing chunks"),
    "finish": noop("Making the version searchable"),
    "fail": noop("Recording a failure"),
    "release": noop("Giving the task back"),
}
"""What an attempt may be refused when its lease is over."""

REFUSALS: dict[str, str] = {
    "LEASE_EXPIRED": noop("the lease was over"),
    "TAKEN_OVER": noop("attempt %(detail)s had taken over"),
    "CANCELLED": noop("the task was cancelled"),
    "ENDED": noop("the task had been ended as “%(state)s”"),
    "DOCUMENT_DELETED": noop("the document was deleted"),
}

MOVE_REASONS: dict[str, str] = {
    "LEASE_EXPIRED": noop("Its lease ran out: the worker stopped or lost touch. The next attempt took over."),
    "RELEASED": noop("The worker gave the task back: it was told to stop, or the reason to stop had gone."),
    "REOPENED": noop("It is tried again with a new budget."),
    "CANCEL_REQUESTED": noop("A person asked to cancel it."),
    "WANTED_AGAIN": noop("It is wanted again: the wish to cancel it is gone."),
}
"""What an event of a task says that is no error."""

COUNTED = (Stage.EMBED, Stage.INDEX)
"""Stages whose progress counts chunks one by one; the others are over in a moment or cannot be counted."""


MOST_AREAS = 5  # ranges of cells that a place names

NAME_PLACES = frozenset(
    error.code for error in (EmbeddingInputRejected, EmbeddingBadResponse, EmbeddingTimeout, VerificationFailed)
)
"""Codes whose last failure may have named places; under another code they are of a failure before."""


def error_sentence(code: str | None, stored: str | None = None, places: dict[str, Any] | None = None) -> str:
    """What an editor can do about an error: by its code, or the stored sentence of a code that is not known here.

    A limit that the file is over is named. `places`: those of the texts at fault, if the failure named any.
    """
    if not code:
        return ""
    sentence = SENTENCES.get(code)
    words = gettext(sentence) if sentence else stored or code
    if sentence and stored and (limit := limits.recognise(stored.removeprefix(sentence).strip())):
        named, facts = limit
        words = gettext("%(sentence)s %(limit)s") % {"sentence": words, "limit": gettext(named) % facts}
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


def event_sentence(code: str | None) -> str:
    """What an event of a task says: the reason of a move, or the error that ended an attempt."""
    reason = MOVE_REASONS.get(code or "")
    return gettext(reason) if reason else error_sentence(code)


def refusal_words(action: str | None, code: str | None, detail: str | None) -> str:
    """“Storing chunks was refused: attempt 3 had taken over.” Events from before the reason was noted say only that."""
    wanted, reason = WRITES.get(action or ""), REFUSALS.get(code or "")
    if not wanted or not reason:
        return gettext("A late write was refused: the lease was over.")
    state = state_word(detail) if detail in STATES else detail
    facts = {"detail": detail, "state": state}
    return gettext("%(action)s was refused: %(reason)s.") % {
        "action": gettext(wanted),
        "reason": gettext(reason) % facts,
    }


def stage_word(stage: str | None) -> str:
    """The stage of a task in words; empty before the first."""
    return gettext(STAGES[stage]) if stage else ""


def duration_words(seconds: float) -> str:
    """“0.4 s”, “12 s”, “3 min 5 s”."""
    if seconds < 10:
        return gettext("%(seconds)s s") % {"seconds": f"{max(seconds, 0.0):.1f}"}
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return gettext("%(seconds)s s") % {"seconds": rest}
    return gettext("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": rest}


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
    """“page 3, lines 10–14”; empty where the format has no places of its own."""
    places = [_page_words(locator), _slide_words(locator), _sheet_words(locator), _line_words(locator)]
    return gettext(", ").join(place for place in places if place)


def _page_words(locator: dict[str, Any]) -> str:
    first, last = locator.get("page"), locator.get("pageEnd")
    if first is None:
        return ""
    if last is None or last == first:
        if label := locator.get("pageLabel"):
            return gettext("page %(page)d (printed number %(label)s)") % {"page": first, "label": label}
        return gettext("page %(page)d") % {"page": first}
    return gettext("pages %(first)d–%(last)d") % {"first": first, "last": last}


def _slide_words(locator: dict[str, Any]) -> str:
    slide = locator.get("slide")
    return gettext("slide %(slide)d") % {"slide": slide} if slide is not None else ""


def _sheet_words(locator: dict[str, Any]) -> str:
    sheet = locator.get("sheet")
    areas = locator.get("areas") or [cells for cells in [locator.get("cells")] if cells]
    cells = gettext(", ").join(areas[:MOST_AREAS]) + ("…" if len(areas) > MOST_AREAS else "")
    if sheet is None:
        return gettext("cells %(cells)s") % {"cells": cells} if cells else ""
    named = gettext("sheet “%(sheet)s”") % {"sheet": sheet}
    return gettext(", ").join([named, gettext("cells %(cells)s") % {"cells": cells}]) if cells else named


def _line_words(locator: dict[str, Any]) -> str:
    if not locator.get("lines"):
        return ""
    first, last = locator["lines"]
    if first == last:
        return gettext("line %(line)d") % {"line": first}
    return gettext("lines %(first)d–%(last)d") % {"first": first, "last": last}
