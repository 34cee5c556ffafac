"""Search: permitted, served versions only, decided inside the one query that ranks."""

from __future__ import annotations

import logging
import random
import time
import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from django.db import Error, connection, transaction
from django.utils.translation import gettext as _

from documents.errors import BeingUpdated, InvalidInput, NotFound
from documents.querysets import User, tenants_where
from indexing import provider_gate
from indexing.cache import literal
from indexing.citations import permalink, snippet
from indexing.errors import IndexingError
from indexing.lexical import any_of, query_tokens, quoted
from indexing.models import Pipeline
from indexing.pipelines import serving_pipeline, vector_expression
from indexing.providers import embedder_for
from indexing.ranking import weigh
from indexing.statements import row, rows, run_statement, statements

logger = logging.getLogger(__name__)

MAX_QUERY = 1000  # characters
MAX_LIMIT = 50  # hits
DEPTH = 100  # chunks that each leg brings to the fusion
MOST_SAMPLES = 500  # queries of a tenant kept while a pipeline is built
SAMPLE = 300  # chunks that tell common words from rare ones until the terms are counted
CALLER = ("user", "tenant", "pipeline")  # the parameters that say what may be found

# The walk through the HNSW index goes on until enough permitted chunks are found. Sorting is discouraged so that the planner
# walks the index even where it believes that few rows pass; the generic plan of a prepared statement once switched a reader
# from exact to HNSW and lost recall, so the plan is chosen here and Django prepares nothing.
WALK = "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = 100; SET LOCAL enable_sort = off"


@dataclass(frozen=True, slots=True)
class Hit:
    """One found chunk. `marks` are [start, end) in `snippet`, in code points. `score` is the fused rank score, comparable
    within one answer only."""

    chunk_id: uuid.UUID
    document_id: uuid.UUID
    version_number: int
    title: str
    heading_path: tuple[str, ...]
    locator: dict[str, Any]
    snippet: str
    marks: tuple[tuple[int, int], ...]
    score: float
    permalink: str
    freshness: dict[str, Any]
    evidence: dict[str, Any] | None = None  # span and permalink of the larger passage that a small chunk was found for
    gaps: tuple[
        dict[str, Any], ...
    ] = ()  # parts of the document that could not be read, so that nothing is found there


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the caller should know about the answer; `code` is stable, `message` for a reader."""

    code: str
    message: str
    document_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    hits: tuple[Hit, ...]
    pipeline: str
    took_ms: float
    notices: tuple[Notice, ...] = field(default=())


def search(*, user: User, tenant: str, query: str, limit: int = 10) -> Answer:
    """The best `limit` (1–50) chunks of `tenant` that `user` may read, best first.

    Raises `documents.errors.NotFound` if `user` does not belong to the tenant, `InvalidInput` for an empty query, one over
    1,000 characters, or a limit out of range.
    """
    started = time.monotonic()
    # A NUL or half a surrogate pair is no text that the database could look for.
    home = tenants_where(user).filter(slug=tenant).first() if tenant.isprintable() else None
    if home is None:
        raise NotFound(_("There is no tenant “%(tenant)s”, or you do not belong to it.") % {"tenant": tenant})
    text = _clean_query(query)
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(
            _("The limit is between 1 and %(most)d, not %(limit)d.") % {"most": MAX_LIMIT, "limit": limit}
        )
    tokens = query_tokens(text)
    pipeline = serving_pipeline(home.pk)
    while pipeline is not None:
        vector, notices = _query_vector(text, pipeline)
        caller = {"user": user.pk, "tenant": home.pk, "pipeline": pipeline.pk}
        values = parameters(caller, vector=vector, tokens=tokens, limit=limit)
        found = ranked(pipeline, values)
        notices += _withheld(values, found)
        # A switch since then: what stands by may be older by now than what another reader has been shown.
        if (serving := serving_pipeline(home.pk)) == pipeline:
            break
        pipeline = serving
    else:
        return Answer((), "", _milliseconds(started))
    _sample(text, caller)
    hits = tuple(_hit(item, tokens=set(tokens)) for item in found)
    return Answer(hits, pipeline.name, _milliseconds(started), tuple(notices))


def documents_found(*, user: User, tenant_id: int, pipeline: Pipeline, query: str, limit: int) -> list[uuid.UUID]:
    """The documents that the query would find for `user` if `pipeline` served, best first, each once: for its gate.

    Raises what `search` raises for a query, and an `IndexingError` if its model cannot be reached.
    """
    text = _clean_query(query)
    caller = {"user": user.pk, "tenant": tenant_id, "pipeline": pipeline.pk}
    values = parameters(caller, vector=_embedded(text, pipeline), tokens=query_tokens(text), limit=MAX_LIMIT)
    return list(dict.fromkeys(item["document_id"] for item in ranked(pipeline, values)))[:limit]


def _sample(text: str, caller: dict[str, Any]) -> None:
    """Keep some queries while another pipeline is built; that this cannot be done is no reason to answer nothing."""
    if random.random() >= settings.KB_SHADOW_SHARE:  # noqa: S311 (a sample, no secret)
        return
    try:
        with transaction.atomic():
            row(
                "lifecycle", "sample_query", tenant=caller["tenant"], user=caller["user"], query=text, most=MOST_SAMPLES
            )
    except Error:
        logger.warning("a query could not be kept", exc_info=True)


def _clean_query(query: str) -> str:
    text = query.encode("utf-8", "ignore").decode().replace("\0", "").strip()
    if not text:
        raise InvalidInput(_("The query is empty. Enter a word or a question."))
    if len(text) > MAX_QUERY:
        sentence = _("The query is longer than %(limit)s characters. Shorten it.")
        raise InvalidInput(sentence % {"limit": f"{MAX_QUERY:,}"})
    return text


def _query_vector(text: str, pipeline: Pipeline) -> tuple[str | None, list[Notice]]:
    """The query's vector, or None with a notice if the model cannot be reached or rests: words alone still find something."""
    try:
        return _embedded(text, pipeline), []
    except IndexingError as error:
        logger.warning("search goes on without vectors: %s", error.code)
        sentence = _("Results are found by their words only: the embedding model cannot be reached.")
        return None, [Notice("words_only", sentence)]


def _embedded(text: str, pipeline: Pipeline) -> str:
    embedder = embedder_for(pipeline.config, timeout=settings.KB_SEARCH_EMBEDDING_TIMEOUT)
    return literal(provider_gate.send_now(partial(embedder.embed_query, text), provider=embedder.provider))


def parameters(caller: dict[str, Any], *, vector: str | None, tokens: list[str], limit: int) -> dict[str, Any]:
    """The values that the one statement is run with. `matches` is no parameter of it, but how many chunks its words stand
    in, at most (None while nothing is counted)."""
    terms = ["", *tokens]
    counted = _by_term(
        rows("search", "term_weights", tenant=caller["tenant"], pipeline=caller["pipeline"], terms=terms)
    )
    is_counted = counted.get("", 0) > 0
    if is_counted:
        weights = weigh(tokens, chunks_with=counted)
    else:
        sampled = _by_term(rows("search", "sample_terms", **caller, terms=terms, size=SAMPLE))
        weights = weigh(tokens, chunks_with=sampled)
    return {
        **caller,
        "vector": vector,
        "terms": [quoted(token) for token in weights],
        "weights": list(weights.values()),
        "any_term": any_of(weights),
        "vector_weight": settings.KB_SEARCH_VECTOR_WEIGHT,
        "lexical_weight": settings.KB_SEARCH_LEXICAL_WEIGHT,
        "depth": DEPTH,
        "limit": limit,
        "matches": sum(counted.get(token, 0) for token in weights) if is_counted else None,
    }


def ranked(pipeline: Pipeline, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the one statement that ranks: exact for a caller with few readable chunks, by HNSW for one with many, and exactly
    again where HNSW came back short."""
    cap = settings.KB_SEARCH_EXACT_CHUNKS
    counted = row("search", "readable_chunks", **{key: values[key] for key in CALLER}, cap=cap + 1)
    assert counted is not None, "an aggregate always returns a row"
    readable, matches = counted["chunks"], values["matches"]
    by_index = readable > cap if matches is None else matches < readable
    words = "by_index" if by_index else "by_document"
    if values["vector"] is None:
        return run_statement(statement(pipeline, near="no", words=words), values)
    if readable > cap:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(WALK)
            found = run_statement(statement(pipeline, near="approximate", words="by_index"), values)
        if found and found[0]["near_count"] >= min(DEPTH, values["limit"]):
            return found
    return run_statement(statement(pipeline, near="exact", words=words), values)


def count_terms(*, tenant_id: int, pipeline_id: int) -> int:
    """Count again in how many chunks each term stands; returns how many counts changed."""
    return len(rows("search", "count_terms", tenant=tenant_id, pipeline=pipeline_id))


def statement(pipeline: Pipeline, *, near: str, words: str) -> str:
    """The one statement for one pipeline, with its vector leg (`exact`, `approximate`, `no`) and its lexical leg
    (`by_document`, `by_index`)."""
    expression, operators = vector_expression(pipeline.dimensions)
    parts = statements("search")
    text = parts["find"].replace("{near}", parts[f"find_{near}_leg"]).replace("{words}", parts[f"find_words_{words}"])
    text = text.replace("{pipeline}", str(int(pipeline.pk))).replace("{vector}", f"v.{expression}")
    return text.replace("{type}", operators.removesuffix("_cosine_ops"))


def _by_term(found: list[dict[str, Any]]) -> dict[str, int]:
    return {item["term"]: item["chunks"] for item in found}


def _withheld(values: dict[str, Any], found: list[dict[str, Any]]) -> list[Notice]:
    """What the caller would have been shown, too, and is not for now."""
    nearer_than = [item["chunk_id"] for item in found] if len(found) == values["limit"] else []
    needed = {key: values[key] for key in (*CALLER, "vector", "any_term")}
    return [
        Notice(BeingUpdated.code, BeingUpdated.sentence_of(item["title"]), item["document_id"])
        for item in rows("search", "withheld", **needed, nearer_than=nearer_than)
    ]


def _hit(item: dict[str, Any], *, tokens: set[str]) -> Hit:
    shown, marks = snippet(item["text"], tokens=tokens)
    start, end = item["locator"]["span"]
    parent = item["locator"].get("parent")
    cited = {"document_id": item["document_id"], "version_number": item["version_number"]}
    link = permalink(**cited, span=(start, end), parent=parent)
    return Hit(
        chunk_id=item["chunk_id"],
        document_id=item["document_id"],
        version_number=item["version_number"],
        title=item["title"],
        heading_path=tuple(item["heading_path"]),
        locator=item["locator"],
        snippet=shown,
        marks=marks,
        score=item["score"],
        permalink=link,
        evidence={"span": parent, "permalink": permalink(**cited, span=parent)} if parent else None,
        freshness={
            "publishedVersion": item["published_version"],
            "searchableVersion": item["version_number"],
            "secondsBehind": round(item["seconds_behind"], 1),
        },
        gaps=tuple(item["gaps"]),
    )


def _milliseconds(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 1)
