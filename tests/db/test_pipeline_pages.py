"""Pipelines in the admin: operators move them in their tenants, administrators make revisions, others see nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import translation

from indexing import lifecycle
from indexing.models import Pipeline, TenantPipeline
from indexing.pipelines import ensure_default_pipeline, ensure_vector_index
from indexing.recompute_models import RecomputeRun
from indexing.worker import Worker
from tests.db.office import Office, words
from tests.db.test_lifecycle import published, serving
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

LIST, ADD = "admin:indexing_pipeline_changelist", "admin:indexing_pipeline_add"
PAGE, MOVE = "admin:indexing_pipeline_change", "admin:indexing_pipeline_move"


@pytest.fixture
def office(provider: ProviderStub, settings: Any) -> Office:
    settings.KB_EMBEDDING_URL = provider.url
    settings.KB_EMBEDDING_MODEL = "stub"
    settings.KB_EMBEDDING_DIMENSIONS = 64
    ensure_default_pipeline(using="owner")
    provider.dimensions_of["stub-two"] = 32
    return Office()


@pytest.fixture
def second(office: Office) -> Pipeline:
    """Made by an administrator in the browser."""
    form = {
        "base": serving(office.world).pk,
        "name": "second",
        "changes": "embedder.model=stub-two\nembedder.dimensions=32",
    }
    client = office.clients["superuser"]
    shown = words(client.post(reverse(ADD), form))
    assert "embedder.dimensions 64 32" in shown
    assert not Pipeline.objects.filter(name="second").exists(), "shown first, made then"
    client.post(reverse(ADD), {**form, "confirmed": "yes"})
    return Pipeline.objects.get(name="second")


def move(office: Office, pipeline: Pipeline, name: str, *, who: str = "operator", **fields: str) -> str:
    """Ask, read what follows, confirm; what the page says afterwards."""
    address = reverse(MOVE, args=[pipeline.pk, office.world.tenant.slug, name])
    client = office.clients[who]
    assert office.world.tenant.name in words(client.get(address))
    return words(client.post(address, fields, follow=True))


def role(office: Office, pipeline: Pipeline) -> str:
    return TenantPipeline.objects.get(tenant=office.world.tenant, pipeline=pipeline).role


def test_from_one_model_to_another_and_back_in_the_browser(office: Office, second: Pipeline) -> None:
    published(office.world)
    Worker(name="w").run(drain=True)
    assert "fills in the others" in move(office, second, "build")
    assert "has not passed" in move(office, second, "gate")
    assert "its vector index" in move(office, second, "serve").lower()
    page = words(office.get("operator", PAGE, second.pk))
    assert "Being built" in page
    assert "Behind the one that serves 1" in page
    assert "1 documents would be shown older or not at all." in page

    Worker(name="bulk", pool="bulk").run(drain=True)
    ensure_vector_index(pipeline_id=second.pk, dimensions=32, using="owner")
    assert "It passed." in move(office, second, "gate")
    assert "Searches use it now" in move(office, second, "serve")
    assert role(office, second) == "SERVING"
    assert "Serves" in words(office.get("operator", LIST))
    assert "serves again" in move(office, second, "rollback")
    assert role(office, second) == "STANDBY"
    assert "Retired" in move(office, second, "retire")
    assert words(office.get("operator", PAGE, second.pk)).count("olga") == 5, "every move, with who made it"


def test_a_long_list_is_left_to_the_command(office: Office, second: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexing.admin.pipeline_moves.MOST_LISTED", 0)
    published(office.world)
    said = move(office, second, "build")
    assert f"manage.py pipeline build {second.pk} --tenant {office.world.tenant.slug}" in said
    assert role(office, second) == "BUILDING", "new versions are indexed under it from now on"
    assert not RecomputeRun.objects.exists()


def test_who_sees_and_moves_pipelines(office: Office, second: Pipeline) -> None:
    for who in ("editor", "reader", "outsider", "other_editor"):
        assert office.get(who, LIST).status_code in (302, 403), who
        assert office.get(who, PAGE, second.pk).status_code in (302, 404), who
        address = reverse(MOVE, args=[second.pk, office.world.tenant.slug, "build"])
        assert office.clients[who].post(address).status_code in (302, 404), who
    assert (
        office.clients["operator"].post(reverse(MOVE, args=[second.pk, office.other.tenant.slug, "build"])).status_code
        == 404
    )
    assert office.get("operator", ADD).status_code == 404
    assert not TenantPipeline.objects.filter(pipeline=second).exists()
    page = words(office.get("operator", PAGE, second.pk))
    assert office.other.tenant.name not in page


def test_a_wrong_change_is_refused_with_a_sentence(office: Office) -> None:
    before = Pipeline.objects.count()
    for change in ("splitter.tokens=many", "parser=3", "nonsense"):
        form = {"base": serving(office.world).pk, "changes": change, "confirmed": "yes"}
        response = office.clients["superuser"].post(reverse(ADD), form)
        assert response.status_code == 200
        assert change.partition("=")[0] in words(response)
    assert Pipeline.objects.count() == before


def test_what_failed_there_is_left_out_with_a_reason(office: Office, second: Pipeline) -> None:
    lifecycle.begin(actor=None, tenant_id=office.world.tenant.pk, pipeline_id=second.pk)
    assert "0 documents are left out." in move(office, second, "exclude", reason="not needed there")
    assert "needs a reason" in move(office, second, "exclude")


def test_in_chinese(office: Office, second: Pipeline) -> None:
    lifecycle.begin(actor=None, tenant_id=office.world.tenant.pk, pipeline_id=second.pk)
    with translation.override("zh-hans"):
        page = office.clients["operator"].get(reverse(PAGE, args=[second.pk]), headers={"accept-language": "zh-hans"})
    assert "正在构建" in words(page)
