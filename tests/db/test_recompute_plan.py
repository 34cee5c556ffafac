"""What a bulk run would do and cost: counted and estimated, with nothing written and no text sent."""

from __future__ import annotations

import pytest

from indexing import recompute
from indexing.models import IndexTask
from indexing.recompute_models import RecomputeRun
from tests.concurrency.leases import long_text, run_worker
from tests.db.staging import claim, finished
from tests.db.test_recompute import serving
from tests.factories import World
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db


def test_it_counts_what_would_be_done(world: World) -> None:
    for _ in range(3):
        world.publish(world.upload())
        finished(claim(), ["one", "two"])
    behind = world.upload()
    world.publish(behind)
    finished(claim(), ["one", "two", "three", "four"])
    world.new_version(behind, "# New\n\nwords")
    world.publish(behind)
    world.publish(world.upload())
    world.upload(title="Draft")

    plan = recompute.plan(pipeline_id=serving(world).pk, tenant_id=world.tenant.pk)
    assert (plan.documents, plan.current, plan.to_compute, plan.counted) == (5, 3, 2, 1)
    assert plan.texts == 8  # four known, and the document without any taken to be like it

    plan = recompute.plan(pipeline_id=serving(world).pk, tenant_id=world.tenant.pk, rebuild=True)
    assert (plan.documents, plan.current, plan.to_compute, plan.counted) == (5, 0, 5, 4)
    assert plan.texts == round(10 / 4 * 5)
    assert not RecomputeRun.objects.exists()
    assert not IndexTask.objects.filter(task_type="RECOMPUTE").exists()


def test_nothing_to_do_costs_nothing(world: World) -> None:
    world.publish(world.upload())
    finished(claim(), ["one", "two"])
    plan = recompute.plan(pipeline_id=serving(world).pk, tenant_id=world.tenant.pk)
    assert (plan.to_compute, plan.texts, plan.texts_to_send, plan.tokens_to_send, plan.seconds) == (0, 0, 0, 0, 0.0)


def test_nothing_known_is_told_as_such(world: World) -> None:
    world.publish(world.upload())
    plan = recompute.plan(pipeline_id=serving(world).pk, tenant_id=world.tenant.pk)
    assert (plan.to_compute, plan.texts, plan.texts_to_send, plan.tokens_to_send, plan.seconds, plan.cost) == (
        1,
        None,
        None,
        None,
        None,
        None,
    )


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_known_vectors_are_not_paid_for_again(stub_world: World, provider: ProviderStub, settings) -> None:
    settings.KB_EMBEDDING_PRICE = 2.0
    settings.KB_EMBEDDING_TEXTS_PER_MINUTE = 60
    stub_world.publish(stub_world.upload(long_text("known")))
    assert run_worker() == "SUCCEEDED"
    sent = provider.texts_sent
    assert sent
    pipeline = serving(stub_world)
    plan = recompute.plan(pipeline_id=pipeline.pk, tenant_id=stub_world.tenant.pk, rebuild=True)
    assert (plan.texts_to_send, plan.cost, plan.rates["cachedShare"]) == (0, 0.0, 1.0)
    assert plan.rates["chunksPerSecondAndWorker"] > 0
    assert plan.seconds is not None

    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM embedding_cache")
    plan = recompute.plan(pipeline_id=pipeline.pk, tenant_id=stub_world.tenant.pk, rebuild=True)
    assert plan.texts == plan.texts_to_send
    assert plan.tokens_to_send is not None
    assert plan.tokens_to_send > 0
    assert plan.cost == pytest.approx(plan.tokens_to_send / 1_000_000 * 2.0)
    assert plan.seconds == pytest.approx(plan.texts_to_send)  # one text a second, by the budget
    assert provider.texts_sent == sent
