"""The OpenAPI schema: valid, complete, shown without a network, and true of what the API answers."""

from __future__ import annotations

import json
import re
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.management import call_command
from django.test import Client
from django.urls import URLResolver, get_resolver
from hypothesis import HealthCheck
from hypothesis.strategies import booleans, sampled_from
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from documents import holds, sources
from documents.models import Document
from indexing.worker import Worker
from kbsite.wsgi import application
from tests.db.api import ROOT, Caller
from tests.factories import World


@schemathesis.serializer("application/x-ndjson")
def one_row(context: Any, value: Any) -> bytes:
    """A batch of one line: what the schema describes is a row."""
    return json.dumps(value).encode()


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture
def document() -> dict[str, Any]:
    answer = Client().get(ROOT + "schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert answer.status_code == 200
    return answer.json()


def test_the_command_has_nothing_to_warn_of(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn")
    assert "openapi: 3" in capsys.readouterr().out


def test_every_address_is_described(document: dict[str, Any]) -> None:
    described = {re.sub(r"\{\w+\}", "{}", path) for path in document["paths"]}
    routed = {re.sub(r"<\w+:\w+>", "{}", "/" + path) for path in addresses(get_resolver()) if path.startswith("api/")}
    assert described == routed - {"/api/v1/schema/", "/api/v1/docs/"}


def test_every_call_tells_its_refusals_and_every_post_its_key(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert "application/problem+json" in operation["responses"]["default"]["content"], (path, method)
            assert operation["summary"], (path, method)
            named = {parameter["name"] for parameter in operation.get("parameters", [])}
            assert ("Idempotency-Key" in named) == (method == "post"), (path, method)


def test_names_in_bodies_are_camel_case(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        for field in schema.get("properties", {}):
            assert re.fullmatch(r"[a-z]+([A-Z][a-z]+)*", field), f"{name}.{field}"


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = Client().get(ROOT + "docs/")
    sources = re.findall(r'(?:src|href)="([^"]+)"', page.content.decode())
    assert sources
    own = ("/static/drf_spectacular_sidecar/", ROOT + "docs/?script=")
    assert all(source.startswith(own) for source in sources), sources


def addresses(resolver: URLResolver, prefix: str = "") -> list[str]:
    found = []
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern)
        found += addresses(pattern, path) if isinstance(pattern, URLResolver) else [path]
    return found


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_answers_conform_to_the_schema(stub_world: World, settings: Any, subtests: pytest.Subtests) -> None:
    """Whatever is sent, by whoever may do most: no 500, and every answer as described."""
    settings.KB_WORKER_RUN_ONCE_API = True
    callers = [Caller(stub_world.editor), Caller(stub_world.member("operator", role="operator"))]
    for found in schemathesis.openapi.from_wsgi(ROOT + "schema/", application).get_all_operations():
        operation = found.ok()
        with subtests.test(operation.label):
            fuzz(operation, callers, searchable_document(stub_world))


def fuzz(operation: Any, callers: list[Caller], target: dict[str, Any]) -> None:
    """Send a bounded number of made-up requests of one operation, half of them to what exists."""

    @hypothesis.settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @hypothesis.given(case=operation.as_strategy(), caller=sampled_from(callers), existing=booleans())
    def send(case: schemathesis.Case, caller: Caller, existing: bool) -> None:
        if existing:
            aim(case, target)
        case.call_and_validate(headers=caller.headers, checks=CHECKS)

    send()


def searchable_document(world: World) -> dict[str, Any]:
    """Something for the next operation to meet, since the one before may have deleted it; and what it is called."""
    document = world.upload()
    task = world.publish(document).ticket.task_id
    Worker().run_once()
    source = sources.create_source(actor=world.editor, tenant=world.tenant.slug, name="wiki", clock="epoch", readers=[])
    sources.apply(actor=world.editor, source=source, write=sources.Write("a", epoch=1, data=b"x", file_name="a.md"))
    found = {"document_id": str(document.pk), "task_id": task, "version_number": 1, "tenant": world.tenant.slug}
    operator = world.member("operator", role="operator")
    hold = holds.place_hold(actor=operator, document_id=document.pk, reason="A lawsuit")
    return {**found, "source_id": source.pk, "key": "a", "hold_id": hold.pk}


def aim(case: schemathesis.Case, target: dict[str, Any]) -> None:
    """Point a made-up request at what exists: random names and numbers meet nothing but 404 and 409."""
    case.path_parameters.update({name: target[name] for name in case.path_parameters})
    revision = Document.objects.get(pk=target["document_id"]).revision
    case.headers.pop("If-Match", None)
    for part in (case.query, case.body):
        if isinstance(part, dict):
            part.update({name: target["tenant"] for name in part if name == "tenant"})
            if part is case.body:
                part["revision"] = revision
