"""Moves every tenant to another pipeline and back, while its documents are filled in there and published."""

from __future__ import annotations

from contextlib import suppress

from tests.chaos.actors.acting import Stage, act


def migrate(stage: Stage) -> None:
    from documents.errors import DocumentsError
    from documents.models import Tenant
    from indexing import gate, lifecycle, pipelines, recompute, revisions
    from indexing.errors import IndexingError
    from indexing.models import Pipeline

    old = Pipeline.objects.order_by("id")[0]
    new, _ = revisions.create(actor=None, base=old, assignments=["splitter.tokens=50"], name="the other")
    tenants = list(Tenant.objects.order_by("pk").values_list("pk", flat=True))
    for tenant in tenants:
        lifecycle.begin(actor=None, tenant_id=tenant, pipeline_id=new.pk)
    run = recompute.start(actor_id=None, pipeline_id=new.pk)
    (stage.folder / "back-fill").write_text(str(run.pk))
    pipelines.ensure_vector_index(pipeline_id=new.pk, dimensions=new.dimensions, using="owner")
    serves: dict[int, int] = dict.fromkeys(tenants, old.pk)
    gated: set[int] = set()

    def switch(tenant: int) -> None:
        to = old.pk if serves[tenant] == new.pk else new.pk
        if to == new.pk and tenant not in gated:
            gate.examine(actor=None, tenant_id=tenant, pipeline_id=new.pk)
        lifecycle.serve(actor=None, tenant_id=tenant, pipeline_id=to)
        serves[tenant] = to
        gated.add(tenant)
        with (stage.folder / "switches").open("a") as file:
            file.write(f"{tenant} {to}\n")

    while not stage.stopped.is_set():
        for tenant in tenants:
            # Documents may be behind just now: then the switch is refused, and tried again.
            with suppress(DocumentsError, IndexingError):
                switch(tenant)
        stage.pause(0.5)


if __name__ == "__main__":
    act(migrate)
