"""`manage.py pipeline`: an operator changes the model from the command line, and a script can read what came of it."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from indexing.models import Pipeline
from indexing.pipelines import has_vector_index
from indexing.search import search
from tests.db.test_lifecycle import published, serving, work
from tests.factories import World, make_world
from tests.processes import child_environment, spawn
from tests.provider_stub import ProviderStub

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def world(stub_world: World, provider: ProviderStub) -> World:
    provider.dimensions_of["stub-two"] = 32
    return stub_world


def run(*arguments: str, code: int = 0) -> Any:
    out = io.StringIO()
    with nullcontext() if code == 0 else pytest.raises(CommandError) as refused:
        call_command("pipeline", *arguments, "--format", "json", stdout=out)
    assert code == 0 or refused.value.returncode == code
    return [json.loads(line) for line in out.getvalue().splitlines()]


def create(world: World) -> int:
    base = str(serving(world).pk)
    assignments = ("--set", "embedder.model=stub-two", "--set", "embedder.dimensions=32")
    made: int = run("create", "--from", base, *assignments)[0]["pipelineId"]
    return made


def test_from_one_model_to_another_and_back(world: World, tmp_path: Path) -> None:
    old, tenant = serving(world), world.tenant.slug
    document = published(world)
    work(world)
    new = create(world)
    assert [change["path"] for change in run("diff", str(old.pk), str(new))[0]["changes"]] == [
        "embedder.dimensions",
        "embedder.model",
    ]
    ordered = run("build", str(new), "--tenant", tenant, "--no-wait", code=3)[0]
    assert (ordered["pending"], ordered["vectorIndex"]) == (1, False)
    refused = run("gate", str(new), "--tenant", tenant, code=3)[0]
    assert {reason["code"] for reason in refused["reasons"]} == {"behind", "no_index"}
    run("serve", str(new), "--tenant", tenant, code=1)

    from indexing.worker import Worker

    Worker(name="bulk", pool="bulk").run(drain=True)
    built = run("build", str(new), "--tenant", tenant)[0]
    assert (built["applied"], built["pending"], built["vectorIndex"]) == (1, 0, True)

    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"query": "limit", "relevant": [str(document.pk)]}))
    asked = ("--questions", str(questions), "--as", world.editor.username)
    passed = run("gate", str(new), "--tenant", tenant, *asked)[0]
    assert passed["evaluation"]["ndcgAt10"] == {"serving": 1.0, "candidate": 1.0}
    assert run("serve", str(new), "--tenant", tenant) == [{"tenant": tenant, "serving": new}]
    assert search(user=world.editor, tenant=tenant, query="limit").hits

    listed = {one["pipelineId"]: one for one in run("list", "--tenant", tenant)[0]["pipelines"]}
    assert listed[new]["tenants"] == [{"tenant": tenant, "role": "SERVING", "documents": 1, "waiting": 0, "failed": 0}]
    assert listed[old.pk]["tenants"][0]["role"] == "STANDBY"
    assert run("rollback", "--tenant", tenant) == [{"tenant": tenant, "serving": old.pk}]
    assert run("retire", str(new), "--tenant", tenant)[0]["cancelledTasks"] == 0


@pytest.mark.slow
def test_build_fills_in_with_worker_processes_and_builds_the_index_last(world: World, provider: ProviderStub) -> None:
    for number in range(3):
        published(world, f"# Rule {number}\n\nThe limit is {number} yuan.")
    work(world)
    new, tenant = create(world), world.tenant.slug
    env = child_environment(KB_EMBEDDING_URL=provider.url, KB_EMBEDDING_MODEL="stub", KB_EMBEDDING_DIMENSIONS="64")
    arguments = ("pipeline", "build", str(new), "--tenant", tenant, "--processes", "2", "--format", "json")
    for _again in range(2):
        out, err = spawn(*arguments, env=env).communicate(timeout=100)
        told = json.loads(out)
        assert (told["applied"], told["pending"], told["vectorIndex"]) == (3, 0, True), err


def test_a_tenant_that_is_refused_stops_no_other(world: World) -> None:
    new, other = create(world), make_world()
    run("build", str(new), "--tenant", world.tenant.slug)
    told = {one["tenant"]: one for one in run("gate", str(new), "--all-tenants", code=3)}
    assert told[world.tenant.slug]["passed"]
    assert "not being built" in told[other.tenant.slug]["refused"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("diff", "1", "998"), 1),
        (("create", "--set", "splitter.tokens=no"), 1),
        (("gate", "1", "--tenant", "nowhere"), 1),
    ],
)
def test_wrong_input_gets_a_sentence(world: World, arguments: tuple[str, ...], code: int) -> None:
    before = Pipeline.objects.count()
    assert run(*arguments, code=code) == []
    assert Pipeline.objects.count() == before


@pytest.mark.parametrize("content", ["", "{}", '{"query": "x", "relevant": []}', '{"query": "x", "relevant": ["y"]}'])
def test_questions_that_are_none_are_refused_before_anything_is_examined(
    world: World, tmp_path: Path, content: str
) -> None:
    new = create(world)
    run("build", str(new), "--tenant", world.tenant.slug)
    questions = tmp_path / "questions.jsonl"
    questions.write_text(content)
    run("gate", str(new), "--tenant", world.tenant.slug, "--questions", str(questions), code=2)


def test_the_text_for_people_names_what_is_missing(world: World) -> None:
    published(world)
    work(world)
    new = create(world)
    run("build", str(new), "--tenant", world.tenant.slug, "--no-wait", code=3)
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("pipeline", "gate", str(new), "--tenant", world.tenant.slug, stdout=out)
    assert "not passed" in out.getvalue()
    assert "1 documents would be shown older or not at all." in out.getvalue()
    assert "“Travel”: v1 now, nothing there (PENDING)" in out.getvalue()
    assert not has_vector_index(Pipeline.objects.get(pk=new))
