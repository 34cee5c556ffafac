"""Ids that are the same on every machine, and differ where anything differs."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexing.blocks import Chunk
from indexing.identity import chunk_id, config_digest, manifest_digest, text_digest
from indexing.locators import Locator

DOCUMENT = uuid.UUID("0b7f6a52-8f3c-4f6e-9d0a-3f4f5e6a7b8c")
CHUNK = Chunk(ordinal=3, text="每晚 300 元", heading_path=("差旅", "住宿"), locator=Locator(span=(10, 18)), tokens=7)
GIVEN: dict[str, Any] = {"document_id": DOCUMENT, "version_number": 2, "pipeline_digest": "a" * 64, "chunk": CHUNK}


def test_ids_stay_what_they_are() -> None:
    """Golden values: a change of these makes every stored chunk a stranger. Change the pipeline's revision instead."""
    assert str(chunk_id(**GIVEN)) == "33ad6682-a236-8a35-a11e-8c0c7c8ce78f"
    assert text_digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert (
        manifest_digest([(0, DOCUMENT, "a"), (1, DOCUMENT, "b")])
        == "900995773f4b3eb30dc2e473ec142beabc02b2b4bf1d2c153c86c6393d199d06"
    )
    assert (
        config_digest({"b": 1, "a": "差旅"})
        == config_digest({"a": "差旅", "b": 1})
        == "23a3e7b1d6bd4b87e705b1f6c3be090e5c0e0ccbbbacb5848b7da39458088f0f"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"document_id": uuid.UUID(int=1)},
        {"version_number": 3},
        {"pipeline_digest": "b" * 64},
        {"chunk": replace(CHUNK, ordinal=4)},
        {"chunk": replace(CHUNK, text="每晚 301 元")},
        {"chunk": replace(CHUNK, heading_path=("差旅",))},
        {"chunk": replace(CHUNK, heading_path=("差旅住宿",))},
        {"chunk": replace(CHUNK, heading_path=("住宿", "差旅"))},
    ],
)
def test_any_part_makes_another_id(change: dict[str, Any]) -> None:
    assert chunk_id(**(GIVEN | change)) != chunk_id(**GIVEN)


def test_what_is_no_part_of_it_makes_no_difference() -> None:
    moved = replace(CHUNK, locator=Locator(span=(0, 8), page=2), tokens=9, context="Title")
    assert chunk_id(**(GIVEN | {"chunk": moved})) == chunk_id(**GIVEN)


def test_clauses_that_repeat_do_not_collapse() -> None:
    same = [replace(CHUNK, ordinal=ordinal, text="Not applicable.") for ordinal in range(50)]
    assert len({chunk_id(**(GIVEN | {"chunk": chunk})) for chunk in same}) == 50


def test_ids_are_uuids_of_version_8() -> None:
    found = chunk_id(**GIVEN)
    assert (found.version, found.variant) == (8, uuid.RFC_4122)


@given(
    st.lists(st.text(max_size=5), max_size=3),
    st.lists(st.text(max_size=5), max_size=3),
    st.text(max_size=5),
    st.text(max_size=5),
)
def test_parts_do_not_run_into_each_other(left: list[str], right: list[str], one: str, two: str) -> None:
    """No separator that a heading or text could contain."""
    first, second = (replace(CHUNK, heading_path=tuple(path), text=text) for path, text in ((left, one), (right, two)))
    equal = (left, one) == (right, two)
    assert (chunk_id(**(GIVEN | {"chunk": first})) == chunk_id(**(GIVEN | {"chunk": second}))) is equal


def test_a_manifest_is_of_order_identity_and_text() -> None:
    rows = [(0, uuid.UUID(int=1), "a"), (1, uuid.UUID(int=2), "b")]
    digest = manifest_digest(rows)
    assert manifest_digest(reversed(rows)) == digest, "it sorts by ordinal itself"
    for changed in (
        [(0, uuid.UUID(int=1), "a")],
        [(0, uuid.UUID(int=1), "b"), (1, uuid.UUID(int=2), "a")],
        [(0, uuid.UUID(int=2), "a"), (1, uuid.UUID(int=1), "b")],
        [(0, uuid.UUID(int=1), "a"), (2, uuid.UUID(int=2), "b")],
    ):
        assert manifest_digest(changed) != digest
