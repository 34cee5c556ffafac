"""Results that survive a task: what was parsed and what was embedded, per tenant, keyed by content and configuration.

They hold text, so they are written under the lease like chunks: a worker that was cut off while its document was deleted and
purged brings nothing of it back. `LeaseLost` then.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
from django.db import transaction

from indexing import queue
from indexing.blocks import ParsedDocument
from indexing.embedders.base import Vectors
from indexing.lease import Lease
from indexing.parsers import PARSER_REVISION
from indexing.parsers.scans import ScannedPage
from indexing.statements import row, rows

logger = logging.getLogger(__name__)
Value = TypeVar("Value")


def find_parsed(*, tenant_id: int, content_digest: str, media_type: str) -> ParsedDocument | None:
    """What these bytes were parsed to before, by this parser revision. What cannot be read is as good as not there."""
    found = row(
        "sink", "cached_parse", tenant=tenant_id, digest=content_digest, media_type=media_type, revision=PARSER_REVISION
    )
    return _understood(ParsedDocument.from_json, found["parsed"]) if found else None


def keep_parsed(lease: Lease, parsed: ParsedDocument, *, content_digest: str, media_type: str) -> None:
    """Keep what the bytes of the lease's version were parsed to. Raises `LeaseLost`."""
    _keep(lease, parsed.to_json(), content_digest=content_digest, media_type=media_type)


def find_scans(*, tenant_id: int, content_digest: str, media_type: str) -> list[ScannedPage]:
    """The scanned pages of these bytes that were read before, also by an attempt that came to no end."""
    found = rows(
        "sink",
        "cached_scans",
        tenant=tenant_id,
        digest=content_digest,
        media_type=_of_page(media_type, ""),
        revision=PARSER_REVISION,
    )
    pages = (_understood(ScannedPage.from_json, item["parsed"]) for item in found)
    return [page for page in pages if page is not None]


def keep_scan(lease: Lease, page: ScannedPage, *, content_digest: str, media_type: str) -> None:
    """Keep one scanned page as soon as it is read: a crash later costs nothing of it. Raises `LeaseLost`."""
    kind = _of_page(media_type, page.number)
    _keep(lease, page.to_json(), content_digest=content_digest, media_type=kind)


def _of_page(media_type: str, number: int | str) -> str:
    return f"{media_type}; page={number}"


def _keep(lease: Lease, data: dict[str, Any], *, content_digest: str, media_type: str) -> None:
    with transaction.atomic():
        queue.fence(lease, action="keep_parsed")
        row(
            "sink",
            "cache_parse",
            tenant=lease.tenant_id,
            digest=content_digest,
            media_type=media_type,
            revision=PARSER_REVISION,
            parsed=zlib.compress(json.dumps(data, ensure_ascii=False).encode(), level=3),
        )


def _understood(read: Callable[[Any], Value], packed: bytes | memoryview) -> Value | None:
    try:
        return read(json.loads(zlib.decompress(bytes(packed))))
    except (ValueError, RecursionError, zlib.error) as damage:
        logger.warning("A kept result cannot be read (%s): it is made anew.", type(damage).__name__)
        return None


def find_vectors(lease: Lease, *, fingerprint: str, digests: Sequence[str]) -> dict[str, str]:
    """Vectors known for these text digests, as pgvector literals; the document is noted for those. Raises `LeaseLost`."""
    with transaction.atomic():
        queue.fence(lease, action="find_vectors")
        found = rows("sink", "cached_vectors", tenant=lease.tenant_id, fingerprint=fingerprint, digests=list(digests))
        _note(lease, [item["text_digest"] for item in found])
    return {item["text_digest"]: item["embedding"] for item in found}


def keep_vectors(lease: Lease, *, fingerprint: str, vectors: dict[str, str]) -> None:
    """Keep one embedded batch, committed at once: a crash later costs nothing of it. Raises `LeaseLost`."""
    digests = sorted(vectors)
    with transaction.atomic():
        queue.fence(lease, action="keep_vectors")
        _note(lease, digests)
        rows(
            "sink",
            "cache_vectors",
            tenant=lease.tenant_id,
            fingerprint=fingerprint,
            digests=digests,
            vectors=[vectors[digest] for digest in digests],
        )


def forget_vectors(*, tenant_id: int, fingerprint: str, digests: Sequence[str]) -> None:
    """Take vectors out of the cache that turned out to be of another model."""
    rows("embedding", "forget_vectors", tenant=tenant_id, fingerprint=fingerprint, digests=list(digests))


def find_sentences(lease: Lease, *, fingerprint: str, digests: Sequence[str]) -> dict[str, str]:
    """Sentences known for these questions about chunks of the lease's document."""
    found = rows(
        "sink",
        "cached_sentences",
        document=lease.document_id,
        tenant=lease.tenant_id,
        fingerprint=fingerprint,
        digests=list(digests),
    )
    return {item["question_digest"]: item["sentence"] for item in found}


def keep_sentence(lease: Lease, *, fingerprint: str, digest: str, sentence: str) -> None:
    """Keep one sentence, committed at once: a crash later costs nothing of it. Raises `LeaseLost`."""
    with transaction.atomic():
        queue.fence(lease, action="keep_sentence")
        row(
            "sink",
            "cache_sentence",
            document=lease.document_id,
            tenant=lease.tenant_id,
            fingerprint=fingerprint,
            digest=digest,
            sentence=sentence,
        )


def _note(lease: Lease, digests: list[str]) -> None:
    """Remember that the lease's document has these texts: its purge finds their vectors by this, staged or not."""
    rows("sink", "note_texts", document=lease.document_id, tenant=lease.tenant_id, digests=digests)


def literal(vector: Vectors) -> str:
    """A vector as a pgvector literal. Nine digits read back as the same float32; the shortest numbers that do, one by one, took
    three times as long."""
    return _format(len(vector)) % tuple(np.asarray(vector, dtype=np.float32).tolist())


@cache
def _format(dimensions: int) -> str:
    return f"[{','.join(['%.9g'] * dimensions)}]"
