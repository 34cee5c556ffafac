"""Results that survive a task: what was parsed and what was embedded, per tenant, keyed by content and configuration."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

import numpy as np

from indexing.blocks import ParsedDocument
from indexing.embedders.base import Vectors
from indexing.parsers import PARSER_REVISION
from indexing.statements import row, rows


def find_parsed(*, tenant_id: int, content_digest: str, media_type: str) -> ParsedDocument | None:
    """What these bytes were parsed to before, by this parser revision."""
    found = row(
        "sink", "cached_parse", tenant=tenant_id, digest=content_digest, media_type=media_type, revision=PARSER_REVISION
    )
    return ParsedDocument.from_json(json.loads(zlib.decompress(bytes(found["parsed"])))) if found else None


def keep_parsed(parsed: ParsedDocument, *, tenant_id: int, content_digest: str, media_type: str) -> None:
    packed = zlib.compress(json.dumps(parsed.to_json(), ensure_ascii=False).encode(), level=3)
    row(
        "sink",
        "cache_parse",
        tenant=tenant_id,
        digest=content_digest,
        media_type=media_type,
        revision=PARSER_REVISION,
        parsed=packed,
    )


def find_vectors(*, tenant_id: int, fingerprint: str, digests: Sequence[str]) -> dict[str, str]:
    """Vectors known for these text digests, as pgvector literals."""
    found = rows("sink", "cached_vectors", tenant=tenant_id, fingerprint=fingerprint, digests=list(digests))
    return {item["text_digest"]: item["embedding"] for item in found}


def keep_vectors(*, tenant_id: int, fingerprint: str, vectors: dict[str, str]) -> None:
    """Keep one embedded batch, committed at once: a crash later costs nothing of it."""
    digests = sorted(vectors)
    rows(
        "sink",
        "cache_vectors",
        tenant=tenant_id,
        fingerprint=fingerprint,
        digests=digests,
        vectors=[vectors[digest] for digest in digests],
    )


def literal(vector: Vectors) -> str:
    """A vector as a pgvector literal, each number in the shortest form that reads back as the same float32."""
    return "[" + ",".join(map(str, np.asarray(vector, dtype=np.float32))) + "]"
