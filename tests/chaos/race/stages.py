"""The parts of a race that speak to the product from the run's own process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.chaos import oracle, plan
from tests.chaos.crew import Crew
from tests.chaos.ledger import Ledger
from tests.chaos.monitor import defects
from tests.chaos.race.run import ENGINES, ONLINE
from tests.environment import ROOT

SETTLING = 180.0  # seconds that everything may take to settle once it is left in peace


def prepare(documents: int, *, folder: Path, say: Callable[[str], None]) -> int:
    """Tenants, people and documents, all searchable, none with a known vector; return the pipeline."""
    _command("migrate", "--verbosity", "0")
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.db import connections

    from documents import publishing, tenants, uploading
    from indexing.models import Pipeline, SearchPointer
    from tests.chaos.race.contents import content_of, everyone, tenant_of

    for slug in plan.TENANTS:
        tenant = tenants.create_tenant(slug=slug, name=slug.title())
        for name, role in plan.members(slug).items():
            user, _ = User.objects.get_or_create(username=name)
            tenants.add_member(tenant=tenant, user=user, role=role)
    told = Ledger(folder / "loader.ledger", actor="loader")
    known: dict[str, tuple[int, str]] = {}
    for number in range(documents):
        slug, content = tenant_of(number), content_of(number, 1)
        actor = User.objects.get(username=f"{slug}-editor")
        version = uploading.create_document(
            actor=actor, tenant=slug, title=content.title, data=oracle.rendered(content), file_name=content.file_name
        )
        document = str(version.document_id)
        entry = told.intend(
            "publish",
            document=document,
            version=1,
            readers=sorted(plan.members(slug)),
            sections=content.sections,
            tenant=slug,
        )
        publishing.publish_version(
            actor=actor, document_id=version.document_id, revision=None, version_number=1, readers=everyone()
        )
        told.settle(entry, "acknowledged")
        known[document] = (number, slug)
    told.close()
    (folder / "documents.json").write_text(json.dumps(known))
    say(f"{documents} documents are published; indexing them")
    _command("run_index_worker", "--drain", "--processes", "2", "--batch", "16")
    found = SearchPointer.objects.count()
    if found != documents:
        raise SystemExit(f"{documents - found} documents are not searchable to begin with: the run would tell nothing")
    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM embedding_cache")  # so that the run has to ask for every text
    connections.close_all()
    return int(Pipeline.objects.order_by("id")[0].pk)


def start(pipeline: int) -> int:
    """The run that computes everything anew under the pipeline that serves."""
    from indexing import recompute

    return int(recompute.start(actor_id=None, pipeline_id=pipeline, rebuild=True).pk)


def pending() -> Mapping[int, int]:
    """Documents without an outcome, by run."""
    from indexing import recompute
    from indexing.recompute_models import RecomputeRun

    return {run.pk: recompute.refresh(run).pending for run in RecomputeRun.objects.filter(ended_at=None)}


def has_ended(run_id: int) -> bool:
    from indexing.recompute_models import RecomputeRun

    return RecomputeRun.objects.filter(pk=run_id, ended_at__isnull=False).exists()


def runs(folder: Path, run_id: int) -> dict[str, int]:
    """Which run each engine works on."""
    told = folder / "back-fill"
    number = told.read_text() if told.exists() else ""
    return {"engine": run_id, **({"filler": int(number)} if number else {})}


def settle(crew: Crew, *, folder: Path, say: Callable[[str], None]) -> None:
    """Nobody disturbs any more: what editors asked for comes to its end, while readers still search."""
    from indexing.models import IndexTask

    say("left in peace")
    crew.dismiss("updater", "migrator", *ENGINES)
    _command("run_index_worker", "--drain", "--pool", "bulk", "--batch", "16", "--lease", "10")
    deadline = time.monotonic() + SETTLING
    waiting = IndexTask.objects.filter(state__in=("PENDING", "RUNNING", "RETRY_WAIT"))
    while waiting.exists() and time.monotonic() < deadline:
        for name in ONLINE:
            crew.places[name].tend()
        time.sleep(0.2)
    crew.dismiss(*crew.places)
    pending()


def outcomes() -> dict[str, dict[str, int]]:
    from indexing import recompute
    from indexing.recompute_models import RecomputeRun

    return {str(run.pk): recompute.refresh(run).to_json() for run in RecomputeRun.objects.order_by("pk")}


def logged(folder: Path) -> list[str]:
    """What a process logged that nobody expected."""
    found = []
    for path in sorted(folder.glob("*.log")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [f"{path.stem}: {defect}" for defect in defects(lines)]
    return found


def again(
    pipeline: int, *, journal: Callable[[], int], violations: list[str], say: Callable[[str], None]
) -> dict[str, Any]:
    """A rerun changes nothing, and a second rebuild sends no text."""
    from indexing import recompute
    from indexing.models import IndexTask, PointerLog

    say("once more: nothing is to be done, and nothing is to be sent")
    before = (IndexTask.objects.count(), PointerLog.objects.count(), journal())
    rerun = recompute.refresh(recompute.start(actor_id=None, pipeline_id=pipeline))
    after = (IndexTask.objects.count(), PointerLog.objects.count(), journal())
    if before != after or rerun.current != rerun.total:
        violations.append(f"a rerun changed something: {before} to {after}, {rerun}")
    recompute.start(actor_id=None, pipeline_id=pipeline, rebuild=True)
    _command("run_index_worker", "--drain", "--pool", "bulk", "--processes", "2", "--batch", "16", "--lease", "30")
    second = outcomes()
    sent = journal() - after[2]
    last = second[max(second, key=int)]
    if sent or last["applied"] != last["total"]:
        violations.append(f"a second rebuild sent {sent} texts: {last}")
    return {"rerun": rerun.to_json(), "secondRebuild": last, "secondRebuildTexts": sent}


def _command(*arguments: str) -> None:
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
