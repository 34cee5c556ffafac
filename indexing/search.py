"""Search: permitted, served versions only, decided inside the one query that ranks."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from documents.querysets import User


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
    raise NotImplementedError
