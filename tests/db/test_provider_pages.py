"""What people see of a provider that is paused, and what operators may do about it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import translation

from indexing import lifecycle, pauses, provider_gate, revisions
from indexing.errors import EmbeddingAuth, EmbeddingRateLimited, EmbeddingUnavailable, IndexingError
from indexing.models import EmbeddingProvider, IndexTask, Pipeline, ProviderEvent
from indexing.pipelines import ensure_default_pipeline
from indexing.provider_watch import Pause, ProviderWatch
from tests.db.office import Office, words
from tests.db.staging import claim

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

HOST = "provider.example:8443"
LIST = "admin:indexing_embeddingprovider_changelist"
PAGE = "admin:indexing_embeddingprovider_change"


@pytest.fixture
def office(settings: Any) -> Office:
    """Everybody, at a site whose pipeline embeds through an endpoint."""
    settings.KB_EMBEDDING_URL = f"https://{HOST}/v1"
    settings.KB_EMBEDDING_MODEL = "stub"
    settings.KB_EMBEDDING_DIMENSIONS = 64
    ensure_default_pipeline(using="owner")
    return Office()


def answered(error: IndexingError | None) -> None:
    """A worker's request ended so."""

    def request() -> None:
        if error is not None:
            raise error

    def no_wait(_: float) -> None:
        raise AssertionError

    if error is None:
        provider_gate.send(request, provider=HOST, texts=1, task_id=1, wait=no_wait)
    else:
        with pytest.raises(IndexingError):
            provider_gate.send(request, provider=HOST, texts=1, task_id=1, wait=no_wait)


def refused() -> None:
    answered(EmbeddingAuth("It answered HTTP 401."))


def test_a_provider_that_works(office: Office) -> None:
    answered(None)
    shown = words(office.get("operator", LIST))
    assert HOST in shown
    assert "Working" in shown
    assert "Try again now" not in shown


def test_a_refused_key(office: Office) -> None:
    office.world.publish(office.world.upload())
    office.world.publish(office.world.upload())
    refused()
    for shown in (words(office.get("operator", LIST)), words(office.get("operator", PAGE, HOST))):
        assert "Out of order" in shown
        assert "has refused our key since" in shown
        assert "It answered HTTP 401." in shown
        assert "Try again now" in shown
    assert "Tasks waiting 2" in words(office.get("operator", PAGE, HOST))
    assert "Nothing is sent to it any more" in words(office.get("operator", PAGE, HOST))


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        ([EmbeddingUnavailable()] * 3, "has been out of order since"),
        ([EmbeddingRateLimited(retry_after=60)], "asked for a pause until"),
    ],
)
def test_what_is_said_of_other_pauses(office: Office, errors: list[IndexingError], sentence: str) -> None:
    for error in errors:
        answered(error)
    assert sentence in words(office.get("editor", LIST))


def test_who_sees_the_list(office: Office) -> None:
    refused()
    for who, status in (("superuser", 200), ("editor", 200), ("operator", 200), ("reader", 403), ("outsider", 403)):
        assert office.get(who, LIST).status_code == status, who
    assert office.get("reader", PAGE, HOST).status_code == 404
    assert office.get("operator", PAGE, "elsewhere.example").status_code == 404


def test_tasks_of_other_tenants_are_not_counted(office: Office) -> None:
    office.other.publish(office.other.upload())
    refused()
    assert "Tasks waiting 0" in words(office.get("editor", PAGE, HOST))
    assert "Tasks waiting 1" in words(office.get("other_editor", PAGE, HOST))


def press(office: Office, who: str) -> Any:
    return office.clients[who].post(reverse("admin:indexing_embeddingprovider_try", args=[HOST]), follow=True)


def test_operators_try_again(office: Office) -> None:
    refused()
    assert provider_gate.standing(HOST).pause > 0
    assert "A worker tries the embedding provider again now." in words(press(office, "operator"))
    assert provider_gate.standing(HOST).pause == 0
    event = ProviderEvent.objects.get(kind="asked")
    assert (event.provider, event.actor_name) == (HOST, "olga")
    assert "Somebody asked to try again" in words(office.get("operator", PAGE, HOST))


def test_trying_ends_a_cooldown(office: Office) -> None:
    answered(EmbeddingRateLimited(retry_after=60))
    press(office, "superuser")
    answered(None)


def test_editors_do_not_try(office: Office) -> None:
    refused()
    assert "Try again now" not in words(office.get("editor", LIST))
    for who in ("editor", "reader", "outsider", "other_editor"):
        press(office, who)
    assert not ProviderEvent.objects.filter(kind="asked").exists()
    assert provider_gate.standing(HOST).pause > 0


def test_trying_what_works_is_refused(office: Office) -> None:
    answered(None)
    assert "is not paused" in words(press(office, "operator"))
    assert not ProviderEvent.objects.exists()


def test_a_provider_of_the_past(office: Office, settings: Any) -> None:
    refused()
    settings.KB_EMBEDDING_URL = "https://another.example/v1"
    shown = words(office.get("operator", LIST))
    assert "Not in use" in shown
    assert "Try again now" not in shown


def test_document_and_task_say_why_they_wait(office: Office) -> None:
    document = office.world.upload()
    office.world.publish(document)
    refused()
    task = IndexTask.objects.get()
    for page in (office.page("editor", document), office.get("editor", "admin:indexing_indextask_change", task.pk)):
        shown = words(page)
        assert "has refused our key since" in shown
        assert "Nothing is lost" in shown
    assert b'data-when="canRetry" hidden' in office.page("editor", document).content, "a retry would not help"


def test_a_task_that_was_tried_says_the_same(office: Office) -> None:
    from indexing import queue
    from indexing.backoff import Verdict
    from indexing.states import TaskState

    document = office.world.upload()
    office.world.publish(document)
    queue.fail(claim(), error=EmbeddingAuth(), verdict=Verdict(TaskState.RETRY_WAIT, 0, 60))
    assert "The last try failed and is repeated by itself." in words(office.page("editor", document))
    refused()
    shown = words(office.page("editor", document))
    assert "The last try failed" not in shown
    assert "has refused our key since" in shown


def test_a_running_task_does_not_wait(office: Office) -> None:
    document = office.world.upload()
    office.world.publish(document)
    claim()
    refused()
    assert "Nothing is lost" not in words(office.page("editor", document))


def test_a_site_without_an_endpoint_asks_nothing(office: Office, settings: Any) -> None:
    settings.KB_EMBEDDING_URL = ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provider_gate, "standing", None)
        assert pauses.current() == []
    assert office.get("operator", LIST).status_code == 200


def test_of_two_endpoints_only_the_one_that_is_out_holds_tasks(office: Office, settings: Any) -> None:
    """While a tenant goes from one provider to another: the new one's outage keeps nobody from the old one."""
    settings.KB_EMBEDDING_ENDPOINTS = {"next": {"url": "https://next.example/v1", "key": "k"}}
    made, _ = revisions.create(
        actor=None, base=Pipeline.objects.latest("id"), assignments=["embedder.endpoint=next", "embedder.model=other"]
    )
    lifecycle.begin(actor=None, tenant_id=office.world.tenant.pk, pipeline_id=made.pk)
    document = office.world.publish(office.world.upload()).document
    provider_gate_out("next.example")
    assert [pause.provider for pause in pauses.current()] == ["next.example"]
    assert "Nothing is lost" not in words(office.page("editor", document))
    assert ProviderWatch().pause().pipelines == (made.pk,)
    shown = words(office.get("operator", LIST))
    assert "next.example" in shown
    assert "Out of order" in shown
    settings.KB_EMBEDDING_ENDPOINTS = {}
    assert ProviderWatch().pause() == Pause((made.pk,), None), "nobody to ask: left to workers with that endpoint"


def provider_gate_out(host: str) -> None:
    def refused_there() -> None:
        raise EmbeddingAuth("It answered HTTP 401.")

    with pytest.raises(EmbeddingAuth):
        provider_gate.send(refused_there, provider=host, texts=1, task_id=1, wait=lambda _: None)


def test_in_chinese(office: Office) -> None:
    refused()
    with translation.override("zh-hans"):
        (pause,) = pauses.current()
    assert "密钥" in pause.sentence


def test_the_application_cannot_rewrite_the_record(office: Office) -> None:
    refused()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT has_table_privilege('kb_app', 'provider_event', 'UPDATE') "
            "OR has_table_privilege('kb_app', 'provider_event', 'DELETE') "
            "OR has_table_privilege('kb_app', 'embedding_provider', 'DELETE')"
        )
        assert cursor.fetchone() == (False,)
    assert EmbeddingProvider.objects.count() == 1
