"""The tables about bulk runs; a part of `indexing.models`, where Django looks for tables. Statements: sql/recompute.sql."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from indexing.states import ItemOutcome


class RecomputeRun(models.Model):
    """One bulk run: which documents are computed anew under which pipeline, and how far their list has been made."""

    pipeline = models.ForeignKey("indexing.Pipeline", models.PROTECT, related_name="+", verbose_name=_("pipeline"))
    tenant = models.ForeignKey(
        "documents.Tenant", models.PROTECT, null=True, related_name="+", verbose_name=_("tenant"), db_index=False
    )
    chosen = models.JSONField(_("documents"), help_text="what narrows the documents down: see indexing.recompute.Where")
    rebuild = models.BooleanField(_("rebuild"), help_text=_("also what is searchable already"))
    digest = models.CharField(max_length=64, help_text="of all of the above: the same run is not opened twice at once")
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(_("started by"), max_length=150, db_default="")
    started_at = models.DateTimeField(_("started"), db_default=Now())
    listed_to = models.UUIDField(null=True, help_text="the list is made up to this document")
    listed_at = models.DateTimeField(null=True, help_text="when the list was complete")
    stopped_at = models.DateTimeField(_("stopped"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True, help_text="every document has its outcome")

    class Meta:
        db_table = "recompute_run"
        ordering = ["-id"]
        verbose_name = _("bulk run")
        verbose_name_plural = _("bulk runs")
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                fields=["digest"], condition=Q(ended_at=None, stopped_at=None), name="recompute_run_open_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.pk}"


class RecomputeItem(models.Model):
    """One document of a run, and what became of it. Without foreign keys: it outlives the document."""

    run = models.ForeignKey(RecomputeRun, models.PROTECT, related_name="items", db_index=False)
    tenant_id = models.BigIntegerField()
    document_id = models.UUIDField(_("document"))
    version_number = models.IntegerField(_("version"))
    generation = models.IntegerField()
    task_id = models.BigIntegerField(_("index task"), null=True, help_text=_("none: nothing was left to do"))
    outcome = models.CharField(
        _("outcome"), max_length=15, choices=[(value.value, value.value) for value in ItemOutcome], db_default="pending"
    )
    reason = models.CharField(_("reason"), max_length=50, db_default="")
    settled_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "recompute_item"
        verbose_name = _("document of a bulk run")
        verbose_name_plural = _("documents of bulk runs")
        default_permissions = ("view",)
        constraints = [models.UniqueConstraint(fields=["run", "document_id"], name="recompute_item_once")]
        indexes = [
            models.Index(fields=["run", "outcome", "id"], name="recompute_item_outcome"),
        ]
