"""What the settings say about splitting, from the pipeline to the page that a reader sees."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from indexing import pipelines
from indexing.identity import config_digest
from indexing.models import Chunk
from indexing.worker import Result, Worker
from tests.db.api import Caller
from tests.factories import World, make_world

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

RULES = [f"Rule {n} says that invoice number {n} is paid on day {n} of the month." for n in range(1, 9)]
TEXT = "\n\n".join(["# Invoices", *RULES, "# Canteen", "Lunch is at noon, and soup is always there."])


@pytest.fixture
def digest_of(settings: Any) -> Any:
    def digest(**values: Any) -> str:
        for name, value in values.items():
            setattr(settings, f"KB_{name}", value)
        return config_digest(pipelines.default_config())

    return digest


def test_what_the_splitter_is_told_makes_another_pipeline(digest_of: Any) -> None:
    told = [
        digest_of(SPLITTER_STRATEGY="structure"),
        digest_of(CHUNK_TOKENS=200),
        digest_of(SPLITTER_STRATEGY="sentence"),
        digest_of(SPLITTER_STRATEGY="fixed"),
        digest_of(SPLITTER_OVERLAP=20),
        digest_of(SPLITTER_CHARACTERS=300),
        digest_of(SPLITTER_STRATEGY="parent-child"),
        digest_of(SPLITTER_CHILD_TOKENS=50),
    ]
    assert len(set(told)) == len(told)


def test_what_the_strategy_does_not_read_changes_nothing(digest_of: Any) -> None:
    assert digest_of(SPLITTER_STRATEGY="structure") == digest_of(SPLITTER_OVERLAP=20, SPLITTER_CHILD_TOKENS=50)


def test_the_unit_of_the_budget_is_stated() -> None:
    assert pipelines.splitter_config()["unit"] == "tokens of the pipeline's embedding model"


def indexed(settings: Any, strategy: str, stub_world: World) -> World:
    settings.KB_SPLITTER_STRATEGY, settings.KB_CHUNK_TOKENS, settings.KB_SPLITTER_CHILD_TOKENS = strategy, 300, 45
    pipelines.ensure_default_pipeline(using="owner")
    world = make_world()
    document = world.upload(TEXT, title="House rules")
    world.publish(document)
    assert Worker(lease_seconds=60).run_once().result is Result.SUCCEEDED
    return world


@pytest.mark.parametrize("strategy", ["structure", "sentence", "fixed", "parent-child"])
def test_every_strategy_makes_a_document_searchable(settings: Any, stub_world: World, strategy: str) -> None:
    world = indexed(settings, strategy, stub_world)
    answer = Caller(world.editor).get("search", q="soup lunch", tenant=world.tenant.slug).json
    assert "soup" in answer["hits"][0]["snippet"]
    assert (answer["hits"][0]["evidence"] is not None) == (strategy == "parent-child")


def test_a_small_chunk_is_found_and_its_section_is_shown(settings: Any, stub_world: World) -> None:
    world = indexed(settings, "parent-child", stub_world)
    assert Chunk.objects.filter(tenant=world.tenant).count() > 4
    hit = Caller(world.editor).get("search", q="invoice number 7", tenant=world.tenant.slug).json["hits"][0]
    start, end = hit["evidence"]["span"]
    assert start <= hit["locator"]["span"][0] < hit["locator"]["span"][1] <= end
    assert hit["locator"]["parent"] == [start, end]
    client = Client()
    client.force_login(world.editor)
    shown = client.get(hit["citation"]["permalink"]).content.decode()
    assert all(rule in shown.replace("<mark>", "").replace("</mark>", "") for rule in RULES)
    assert "<mark>Rule 7" in shown
    assert "<mark>Rule 1 " not in shown
    assert "soup" not in shown
    whole = client.get(hit["evidence"]["permalink"]).content.decode()
    assert all(f"<mark>{rule}</mark>" in whole for rule in RULES)
