"""The page of one pipeline: its configuration, what it is to each tenant, what its gates found, and what can be done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from documents.models import Tenant
from indexing import gate, lifecycle
from indexing.admin.badges import role_badge
from indexing.admin.pipeline_moves import MOVES
from indexing.lifecycle import Standing
from indexing.lifecycle_models import PipelineEvent, PipelineExclusion, PipelineGate
from indexing.messages import ROLES
from indexing.models import Pipeline
from indexing.pipeline_config import difference
from indexing.pipelines import has_vector_index, of_release, serving_pipeline
from indexing.states import PipelineRole

EVENTS = 50  # newest moves shown
EXCLUSIONS = 50  # documents left out that are named

# What can be done with a pipeline by its role in a tenant; None: it has none there.
OFFERED: dict[PipelineRole | None, tuple[str, ...]] = {
    None: ("build",),
    PipelineRole.RETIRED: ("build",),
    PipelineRole.BUILDING: ("gate", "serve", "exclude", "retire"),
    PipelineRole.STANDBY: ("gate", "serve", "exclude", "retire"),
    PipelineRole.SERVING: ("rollback",),
}


@dataclass(frozen=True, slots=True)
class Home:
    """One tenant, as the page shows it."""

    tenant: Tenant
    standing: Standing | None
    role: str  # badge
    behind: int | None
    gate: PipelineGate | None
    gate_sentences: list[str]
    excluded: list[PipelineExclusion]
    moves: tuple[tuple[str, str], ...]  # name, words of the button


def show(request: HttpRequest, pipeline: Pipeline, context: dict[str, Any]) -> HttpResponseBase:
    tenants = Tenant.objects.in_bulk(lifecycle.tenants_managed_by(request.user))
    standings = {
        one.tenant_id: one for one in lifecycle.standings(tenant_ids=list(tenants)) if one.pipeline_id == pipeline.pk
    }
    events = PipelineEvent.objects.filter(pipeline_id=pipeline.pk, tenant_id__in=tenants)[:EVENTS]
    return TemplateResponse(
        request,
        "admin/indexing/pipeline/page.html",
        {
            **context,
            "title": pipeline.name,
            "pipeline": pipeline,
            "values": difference({}, pipeline.config),
            "index": has_vector_index(pipeline),
            "of_release": of_release(pipeline.config) == pipeline.config,
            "homes": [
                _home(tenant, standings.get(tenant.pk), pipeline)
                for tenant in sorted(tenants.values(), key=lambda tenant: tenant.slug)
            ],
            "events": [(event, tenants[event.tenant_id], _(ROLES[PipelineRole(event.to_role)])) for event in events],
        },
    )


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Path and both values as text, for a table."""
    return [(change.path, _text(change.before), _text(change.after)) for change in difference(before, after)]


def _home(tenant: Tenant, standing: Standing | None, pipeline: Pipeline) -> Home:
    role = standing.role if standing else None
    candidate = role in (PipelineRole.BUILDING, PipelineRole.STANDBY)
    last = PipelineGate.objects.filter(tenant_id=tenant.pk, pipeline_id=pipeline.pk).first() if candidate else None
    excluded = PipelineExclusion.objects.filter(tenant_id=tenant.pk, pipeline_id=pipeline.pk).order_by("-id")
    return Home(
        tenant,
        standing,
        role_badge(role) if role else "–",
        lifecycle.count_behind(tenant_id=tenant.pk, pipeline_id=pipeline.pk)[0] if candidate else None,
        last,
        gate.sentences(last.report.get("reasons", ())) if last else [],
        list(excluded[:EXCLUSIONS]) if role != PipelineRole.RETIRED else [],
        tuple((move, _(MOVES[move].button)) for move in OFFERED[role] if _offered(move, tenant)),
    )


def _offered(move: str, tenant: Tenant) -> bool:
    return move != "build" or serving_pipeline(tenant.pk) is not None


def _text(value: Any) -> str:
    return "–" if value is None else str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
