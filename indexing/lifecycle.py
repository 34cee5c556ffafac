"""A pipeline's life in a tenant: BUILDING → SERVING → STANDBY → RETIRED. Every move is one short transaction that no publish
and no finish overlaps; that none shows readers anything older, the database checks again (sql/schema/0009_lifecycle.sql)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from documents import publishing
from documents.errors import Conflict, InvalidInput, NotAllowed, NotFound
from documents.locks import hold_tenant_alone
from documents.models import Tenant
from documents.querysets import OPERATING_ROLES, User, tenants_where
from indexing import errors
from indexing.lifecycle_models import PipelineEvent, PipelineExclusion, PipelineGate, ShadowQuery
from indexing.models import Pipeline, TenantPipeline
from indexing.pipelines import has_vector_index, serving_pipeline
from indexing.statements import row, rows
from indexing.states import PipelineRole

GATE_HOLDS = timedelta(hours=24)
"""How long an examination speaks for a pipeline. Completeness is looked at again at the switch itself."""

BEHIND = "KB071"  # what the database refuses a switch with that would show something older

BATCH = 1000  # tasks cancelled in one transaction


@dataclass(frozen=True, slots=True)
class Standing:
    """What one pipeline is to one tenant, and how far it is."""

    tenant_id: int
    tenant: str
    pipeline_id: int
    name: str
    role: PipelineRole
    documents: int  # that it could serve
    waiting: int
    failed: int
    changed_by: str
    changed_at: Any


def standings(*, tenant_ids: Sequence[int]) -> list[Standing]:
    """The pipelines of the tenants, tenant by tenant."""
    return [
        Standing(
            tenant_id=found["tenant_id"],
            tenant=found["tenant"],
            pipeline_id=found["pipeline_id"],
            name=found["name"],
            role=PipelineRole(found["role"]),
            documents=found["documents"],
            waiting=found["waiting"],
            failed=found["failed"],
            changed_by=found["changed_by_name"],
            changed_at=found["changed_at"],
        )
        for found in rows("lifecycle", "standing", tenants=list(tenant_ids))
    ]


@transaction.atomic
def begin(*, actor: User | None, tenant_id: int, pipeline_id: int) -> bool:
    """Index new versions under the pipeline too, from the next publish on; False if that is so already. What was published
    before is filled in by a bulk run (`indexing.recompute`). Raises `NotFound` and `NotAllowed`."""
    ensure_may_manage(actor, tenant_id)
    if not Pipeline.objects.filter(pk=pipeline_id).exists():
        raise NotFound(_("There is no pipeline %(id)s.") % {"id": pipeline_id})
    hold_tenant_alone(tenant_id)
    own = TenantPipeline.objects.filter(tenant=tenant_id, pipeline=pipeline_id).first()
    if own is None:
        TenantPipeline.objects.create(
            tenant_id=tenant_id, pipeline_id=pipeline_id, role=PipelineRole.BUILDING, **_changed_by(actor)
        )
    elif own.role == PipelineRole.RETIRED:
        _move(own, PipelineRole.BUILDING, actor)
    else:
        return False
    return True


def serve(*, actor: User | None, tenant_id: int, pipeline_id: int) -> None:
    """Let the tenant's searches use the pipeline; the one that served stands by, still kept up to date.

    Raises `NotFound`, `NotAllowed`, and `Conflict` if it serves already or is retired, if its last gate did not pass, is older
    than a day or was against another pipeline, without a vector index, or with documents behind.
    """
    own = _own(tenant_id, pipeline_id)
    if own.role == PipelineRole.BUILDING:
        _ensure_passed(tenant_id, pipeline_id)
    _switch(actor=actor, tenant_id=tenant_id, pipeline_id=pipeline_id)


def roll_back(*, actor: User | None, tenant_id: int, hide_behind: str = "") -> int:
    """Let the pipeline serve again that served before, and return its number. No gate but completeness: it did serve.

    `hide_behind`: a reason, to go back at once although documents are behind there: nothing of them is shown until their
    version is indexed there too, and nothing older in any case. Raises `NotAllowed`, and `Conflict` if none stands by or,
    without a reason, documents are behind.
    """
    moves = PipelineEvent.objects.filter(tenant_id=tenant_id, to_role=PipelineRole.STANDBY).order_by("-id")
    standby = set(
        TenantPipeline.objects.filter(tenant=tenant_id, role=PipelineRole.STANDBY).values_list("pipeline", flat=True)
    )
    last = next((move.pipeline_id for move in moves if move.pipeline_id in standby), None)
    if last is None:
        raise Conflict(_("No pipeline stands by in this tenant, so there is none to go back to; nothing was changed."))
    _switch(actor=actor, tenant_id=tenant_id, pipeline_id=last, hide_behind=hide_behind)
    return last


def retire(*, actor: User | None, tenant_id: int, pipeline_id: int) -> int:
    """Index nothing more under the pipeline, and cancel what waits for it; returns how many orders that were. Interrupted,
    it goes on where it was. Retention removes its chunks. Raises `NotFound`, `NotAllowed`, and `Conflict` if it serves."""
    with transaction.atomic():
        ensure_may_manage(actor, tenant_id)
        hold_tenant_alone(tenant_id)
        own = _own(tenant_id, pipeline_id)
        if own.role == PipelineRole.SERVING:
            raise Conflict(_("The pipeline serves this tenant. Let another one serve first; nothing was changed."))
        if own.role != PipelineRole.RETIRED:
            _move(own, PipelineRole.RETIRED, actor)
        _forget_samples(tenant_id)
    return cancel_orders(tenant_id=tenant_id, pipeline_id=pipeline_id)


def cancel_orders(*, tenant_id: int, pipeline_id: int) -> int:
    """Cancel what waits for a retired pipeline, some at a time; returns how many orders that were."""
    cancelled, sentence = 0, str(errors.PipelineRetired())
    while some := rows(
        "lifecycle",
        "cancel_of_pipeline",
        tenant=tenant_id,
        pipeline=pipeline_id,
        message=sentence,
        limit=BATCH,
    ):
        cancelled += len(some)
    return cancelled


@transaction.atomic
def exclude(
    *,
    actor: User | None,
    tenant_id: int,
    pipeline_id: int,
    reason: str,
    document_ids: Sequence[uuid.UUID] | None = None,
    failed_only: bool = False,
) -> int:
    """Let the pipeline serve the tenant without documents that are behind there (all of them, those whose order failed, or
    those named); returns how many are new on the list. Raises `NotFound`, `NotAllowed`, and `InvalidInput` without a reason."""
    ensure_may_manage(actor, tenant_id)
    if not reason.strip():
        raise InvalidInput(_("An exclusion needs a reason; nothing was changed."))
    _own(tenant_id, pipeline_id)
    who = _changed_by(actor)
    made = rows(
        "lifecycle",
        "exclude",
        tenant=tenant_id,
        serving=_serving(tenant_id).pk,
        candidate=pipeline_id,
        reason=reason.strip(),
        documents=None if document_ids is None else list(document_ids),
        failed=failed_only,
        actor=who["changed_by_id"],
        actor_name=who["changed_by_name"],
    )
    return len(made)


def ensure_may_manage(actor: User | None, tenant_id: int) -> None:
    """None is whoever has a shell on the server, and with it the database. Raises `NotAllowed`."""
    if actor is not None and not tenants_where(actor, OPERATING_ROLES).filter(pk=tenant_id).exists():
        raise NotAllowed(_("Pipelines of a tenant are managed by its operators; nothing was changed."))


def candidate(*, tenant_id: int, pipeline_id: int) -> Pipeline:
    """A pipeline that could come to serve the tenant. Raises `NotFound` and `Conflict`."""
    own = _own(tenant_id, pipeline_id)
    _ensure_candidate(own)
    return own.pipeline


def count_behind(*, tenant_id: int, pipeline_id: int) -> tuple[int, int]:
    """How many documents are behind under the pipeline, and for how many there is an exclusion."""
    found = row("lifecycle", "count_behind", tenant=tenant_id, serving=_serving(tenant_id).pk, candidate=pipeline_id)
    assert found is not None, "an aggregate always returns a row"
    return found["behind"], found["excluded"]


def actor_name(actor: User | None) -> str:
    return actor.get_username() if actor is not None else "command line"


def _switch(*, actor: User | None, tenant_id: int, pipeline_id: int, hide_behind: str = "") -> None:
    ensure_may_manage(actor, tenant_id)
    _ensure_servable(tenant_id, pipeline_id, hide_behind)  # before publishers have to wait
    with transaction.atomic():
        hold_tenant_alone(tenant_id)
        own = _own(tenant_id, pipeline_id)
        serving = TenantPipeline.objects.get(tenant=tenant_id, role=PipelineRole.SERVING)
        _ensure_candidate(own)
        if hide_behind:
            exclude(actor=actor, tenant_id=tenant_id, pipeline_id=pipeline_id, reason=hide_behind)
        older = rows("lifecycle", "older_there", tenant=tenant_id, serving=serving.pipeline_id, candidate=pipeline_id)
        publishing.hide_until_searchable(document_ids=[found["document_id"] for found in older])
        _move(serving, PipelineRole.STANDBY, actor)
        _take_over(own, actor)
        # What was left out there comes back with its pointer; the list is about this switch.
        PipelineExclusion.objects.filter(tenant_id=tenant_id, pipeline_id=serving.pipeline_id).delete()
        publishing.promote_searchable(tenant_id=tenant_id)
        _forget_samples(tenant_id)


def _ensure_servable(tenant_id: int, pipeline_id: int, hide_behind: str) -> None:
    own = _own(tenant_id, pipeline_id)
    _ensure_candidate(own)
    if not has_vector_index(own.pipeline):
        sentence = _("Its vector index is not built yet. Run “manage.py pipeline build %(id)s”; nothing was changed.")
        raise Conflict(sentence % {"id": pipeline_id})
    if not hide_behind:
        _ensure_complete(tenant_id, pipeline_id)


def _ensure_complete(tenant_id: int, pipeline_id: int) -> None:
    behind, _excluded = count_behind(tenant_id=tenant_id, pipeline_id=pipeline_id)
    if behind:
        sentence = _(
            "%(count)d documents would be shown older or not at all. Wait for their indexing, or exclude them with a reason; "
            "nothing was changed."
        )
        raise Conflict(sentence % {"count": behind}, behind=behind)


def _ensure_passed(tenant_id: int, pipeline_id: int) -> None:
    gate = PipelineGate.objects.filter(tenant_id=tenant_id, pipeline_id=pipeline_id).first()
    if gate is None or not gate.passed:
        raise Conflict(_("The pipeline has not passed its gate in this tenant; nothing was changed."))
    if gate.against_id != _serving(tenant_id).pk or gate.at < timezone.now() - GATE_HOLDS:
        raise Conflict(
            _("Its gate was passed too long ago, or against another pipeline. Repeat it; nothing was changed.")
        )


def _own(tenant_id: int, pipeline_id: int) -> TenantPipeline:
    own = TenantPipeline.objects.select_related("pipeline").filter(tenant=tenant_id, pipeline=pipeline_id).first()
    if own is None:
        raise NotFound(_("The pipeline is not being built in this tenant; nothing was changed."))
    return own


def _ensure_candidate(own: TenantPipeline) -> None:
    if own.role not in (PipelineRole.BUILDING, PipelineRole.STANDBY):
        raise Conflict(_("The pipeline is %(role)s in this tenant; nothing was changed.") % {"role": own.role})


def _serving(tenant_id: int) -> Pipeline:
    serving = serving_pipeline(tenant_id)
    if serving is None:
        raise NotFound(_("There is no such tenant, or no pipeline serves it."))
    return serving


def _move(own: TenantPipeline, role: PipelineRole, actor: User | None) -> None:
    TenantPipeline.objects.filter(pk=own.pk).update(role=role, **_changed_by(actor))


def _take_over(own: TenantPipeline, actor: User | None) -> None:
    """Here the database looks at completeness once more, under the lock."""
    try:
        _move(own, PipelineRole.SERVING, actor)
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", None) != BEHIND:
            raise
        sentence = _(
            "Meanwhile readers were given versions that it has not. Wait for their indexing; nothing was changed."
        )
        raise Conflict(sentence) from error


def _changed_by(actor: User | None) -> dict[str, Any]:
    return {"changed_by_id": None if actor is None else actor.pk, "changed_by_name": actor_name(actor)}


def _forget_samples(tenant_id: int) -> None:
    """Queries of readers are kept no longer than another pipeline is being built."""
    still = TenantPipeline.objects.filter(tenant=tenant_id, role=PipelineRole.BUILDING)
    if not still.exists():
        ShadowQuery.objects.filter(tenant_id=tenant_id).delete()


def tenants_managed_by(actor: User) -> list[int]:
    """Tenants whose pipelines `actor` may manage."""
    return list(tenants_where(actor, OPERATING_ROLES).values_list("pk", flat=True)) if actor.is_active else []


def tenant_of(slug: str) -> Tenant:
    """Raises `NotFound`."""
    tenant = Tenant.objects.filter(slug=slug).first() if slug.isprintable() else None
    if tenant is None:
        raise NotFound(_("There is no tenant “%(tenant)s”.") % {"tenant": slug})
    return tenant
