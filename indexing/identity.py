"""Deterministic identity of chunks: the same bytes under the same pipeline give the same ids on every machine. Pure."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable

from indexing.blocks import Chunk


def text_digest(text: str) -> str:
    """SHA-256 of a text, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def chunk_id(*, document_id: uuid.UUID, version_number: int, pipeline_digest: str, chunk: Chunk) -> uuid.UUID:
    """The id of a chunk. Its place counts, not only its text: clauses that repeat must not collapse into one."""
    parts = [
        str(document_id),
        version_number,
        pipeline_digest,
        chunk.ordinal,
        list(chunk.heading_path),
        text_digest(chunk.text),
    ]
    packed = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    raw = bytearray(hashlib.sha256(packed.encode()).digest()[:16])
    # Version 8 of RFC 9562 (custom), set by hand: `uuid.UUID(version=8)` is refused before Python 3.14.
    raw[6], raw[8] = raw[6] & 0x0F | 0x80, raw[8] & 0x3F | 0x80
    return uuid.UUID(bytes=bytes(raw))


def manifest_digest(chunks: Iterable[tuple[int, uuid.UUID, str]]) -> str:
    """Digest over (ordinal, chunk id, text) in order; the statement `manifest` makes the same from what is stored."""
    lines = [f"{ordinal} {identity} {text_digest(text)}" for ordinal, identity, text in sorted(chunks)]
    return text_digest("\n".join(lines))


def config_digest(config: object) -> str:
    """Digest of a configuration, independent of the order of its keys."""
    return text_digest(json.dumps(config, sort_keys=True, ensure_ascii=False, separators=(",", ":")))
