"""Pools and priorities: a tenant's own pool, what moves into it, who works there, and who may go before others."""

from __future__ import annotations

import io
import logging

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse

from documents.errors import Conflict, InvalidInput, NotAllowed, NotFound
from documents.models import AuditEvent
from indexing import pools, queue, tasks
from indexing.models import IndexTask, TenantPool
from indexing.parsers import landlock
from indexing.parsers.lockdown import missing_locks
from tests.db.api import Caller
from tests.db.office import Office, words
from tests.db.staging import claim
from tests.factories import World, make_world

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def order(world: World) -> IndexTask:
    return IndexTask.objects.get(pk=world.publish(world.upload()).ticket.task_id)


def pool_of(task: IndexTask) -> str:
    return IndexTask.objects.values_list("pool", flat=True).get(pk=task.pk)


def test_waiting_tasks_move_into_the_tenants_own_pool_and_back(world: World, monkeypatch) -> None:
    monkeypatch.setattr(pools, "BATCH", 2)
    running = IndexTask.objects.get(pk=order(world).pk)
    lease = claim()
    waiting = [order(world) for _ in range(5)]
    other = order(make_world())
    assert pools.give_own_pool(tenant_id=world.tenant.pk, pool="big-one") == 5
    assert {pool_of(task) for task in waiting} == {"big-one"}
    assert (pool_of(running), pool_of(other)) == ("online", "online")
    turns = [IndexTask.objects.values_list("fair", flat=True).get(pk=task.pk) for task in waiting]
    assert turns == sorted(set(turns)), "their order stays"
    assert pool_of(order(world)) == "big-one"
    queue.release(lease)
    assert pool_of(running) == "big-one", "a task that runs comes after its tenant when it comes back"
    assert queue.claim(worker="w", pool="big-one", lease_seconds=60).tenant_id == world.tenant.pk
    assert pools.give_own_pool(tenant_id=world.tenant.pk, pool="online") == 6
    assert not TenantPool.objects.exists()


def test_a_task_that_is_given_back_into_another_pool_takes_a_turn_there(world: World) -> None:
    """With its old one it would wait for as long as others keep coming, and its tenant's next tasks behind it."""
    pools.give_own_pool(tenant_id=world.tenant.pk, pool="big")
    for _ in range(3):
        task = order(world)
    for _ in range(3):
        lease = queue.claim(worker="w", pool="big", lease_seconds=60)
    assert lease.task_id == task.pk
    pools.give_own_pool(tenant_id=world.tenant.pk, pool="online")
    other = make_world()
    for _ in range(3):
        order(other)
    queue.release(lease)
    assert task.pk in [claim().task_id, claim().task_id]


def test_a_reopened_task_goes_where_its_tenant_is_now(world: World) -> None:
    task = order(world)
    queue.cancel(task_id=task.pk)
    assert pools.give_own_pool(tenant_id=world.tenant.pk, pool="big") == 0
    assert pool_of(task) == "online"
    queue.reopen(task_id=task.pk)
    assert pool_of(task) == "big"


@pytest.mark.parametrize("name", ["", "Big", "9", "-a", "a" * 21, "a_b", "bulk", "a\n"])
def test_a_pool_has_a_proper_name(world: World, name: str) -> None:
    with pytest.raises(InvalidInput):
        pools.give_own_pool(tenant_id=world.tenant.pk, pool=name)
    with pytest.raises(Exception, match=r"tenant_pool_name|too long"), connection.cursor() as cursor:
        cursor.execute("INSERT INTO tenant_pool VALUES (%s, %s)", [world.tenant.pk, name if name != "bulk" else "BULK"])


def test_a_worker_says_which_locks_its_machine_lacks(world: World, caplog, monkeypatch) -> None:
    call_command("run_index_worker", "--once")
    assert "Landlock" not in caplog.text or missing_locks()
    monkeypatch.setattr(landlock, "_CREATE", 9999)  # as a kernel without the call answers
    call_command("run_index_worker", "--once")
    assert "this machine has no Landlock" in caplog.text


def test_a_worker_of_an_unknown_pool_says_so_and_runs(world: World, caplog) -> None:
    out = io.StringIO()
    with caplog.at_level(logging.WARNING):
        call_command("run_index_worker", "--once", "--pool", "nobodys", stdout=out)
    assert "no tenant has the pool nobodys (known: online, bulk)" in caplog.text
    assert out.getvalue().strip() == "IDLE"
    pools.give_own_pool(tenant_id=world.tenant.pk, pool="own")
    caplog.clear()
    call_command("run_index_worker", "--once", "--pool", "own", stdout=out)
    assert "no tenant" not in caplog.text
    with pytest.raises(CommandError, match="--pool is a name"):
        call_command("run_index_worker", "--once", "--pool", "No Pool")


def test_a_pool_without_a_worker_is_told_of(world: World) -> None:
    pools.give_own_pool(tenant_id=world.tenant.pk, pool="lonely")
    first, _second = order(world), order(world)
    assert pools.unattended() == {}
    IndexTask.objects.filter(pk=first.pk).update(updated_at="2020-01-01T00:00:00Z")
    assert pools.unattended() == {"lonely": 2}
    assert queue.claim(worker="w", pool="lonely", lease_seconds=60) is not None
    assert pools.unattended() == {}


def test_the_admin_gives_a_pool_and_warns() -> None:
    office = Office()
    task = order(office.world)
    url = reverse("admin:indexing_tenantpool_add")
    assert office.clients["operator"].get(url).status_code in (302, 403)
    refused = office.clients["superuser"].post(url, {"tenant": office.world.tenant.pk, "pool": "bulk"})
    assert "is not taken" in words(refused)
    answer = office.clients["superuser"].post(url, {"tenant": office.world.tenant.pk, "pool": "big"}, follow=True)
    assert "1 waiting task was moved along." in words(answer)
    assert pool_of(task) == "big"
    IndexTask.objects.filter(pk=task.pk).update(updated_at="2020-01-01T00:00:00Z")
    listed = office.get("operator", "admin:indexing_indextask_changelist")
    assert "1 task waits in pool “big”, and no worker takes it." in words(listed)
    url = reverse("admin:indexing_tenantpool_delete", args=[office.world.tenant.pk])
    office.clients["superuser"].post(url, {"post": "yes"})
    assert pool_of(task) == "online"


def test_an_operator_moves_a_task_to_the_front(world: World) -> None:
    operator = world.member("olga", role="operator")
    first, last = order(world), order(world)
    tasks.prioritise_task(actor=operator, task_id=last.pk, priority=tasks.FRONT)
    event = AuditEvent.objects.get(action="prioritise")
    assert (event.detail, event.actor_name) == ({"task": last.pk, "priority": -10, "before": 0}, "olga")
    assert claim().task_id == last.pk
    with pytest.raises(Conflict):
        tasks.prioritise_task(actor=operator, task_id=last.pk, priority=0)
    with pytest.raises(InvalidInput):
        tasks.prioritise_task(actor=operator, task_id=first.pk, priority=101)
    with pytest.raises(NotAllowed):
        tasks.prioritise_task(actor=world.editor, task_id=first.pk, priority=1)
    with pytest.raises(NotFound):
        tasks.prioritise_task(actor=make_world().editor, task_id=first.pk, priority=1)


def test_priority_over_the_api(world: World) -> None:
    task = order(world)
    operator = Caller(world.member("olga", role="operator"))
    answer = operator.call("PATCH", f"index-tasks/{task.pk}", {"priority": -5})
    assert (answer.status, answer.json["priority"], answer.json["pool"]) == (200, -5, "online")
    assert operator.call("PATCH", f"index-tasks/{task.pk}", {"priority": 1000}).status == 400
    assert Caller(world.editor).call("PATCH", f"index-tasks/{task.pk}", {"priority": 1}).status == 403


def test_the_list_moves_tasks_to_the_front_and_back() -> None:
    office = Office()
    task = order(office.world)
    for action, priority in (("move_to_front", -10), ("move_to_back", 10)):
        data = {"action": action, "_selected_action": [task.pk]}
        url = reverse("admin:indexing_indextask_changelist")
        assert "1 task was moved." in words(office.clients["operator"].post(url, data, follow=True))
        assert IndexTask.objects.get(pk=task.pk).priority == priority
