"""The documents of a race: files of the oracle, each with sections that no other version has."""

from __future__ import annotations

from typing import Any

from tests.chaos import plan
from tests.chaos.oracle import TITLES, Content

SECTIONS = 3


def content_of(document: int, version: int) -> Content:
    """Version `version` (from 1) of a document by number; two versions have no section in common."""
    first = 10_000 + (document * 40 + version) * SECTIONS
    return Content(TITLES[document % len(TITLES)], "md", tuple(range(first, first + SECTIONS)))


def everyone() -> tuple[Any, ...]:
    """The readers of every version (once Django is set up)."""
    from documents.readers import Reader

    return (Reader("everyone"),)


def tenant_of(document: int) -> str:
    return plan.TENANTS[document % len(plan.TENANTS)]
