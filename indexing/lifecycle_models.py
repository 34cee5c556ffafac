"""What is remembered of pipelines' lives in tenants: moves, gates, exclusions, and queries to compare pipelines by."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class PipelineEvent(models.Model):
    """Every change of a pipeline's role in a tenant, written by a trigger. Append-only, without foreign keys."""

    tenant_id = models.BigIntegerField()
    pipeline_id = models.PositiveSmallIntegerField()
    from_role = models.CharField(max_length=10, null=True)
    to_role = models.CharField(max_length=10)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150, default="")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "pipeline_event"
        ordering = ["-id"]
        indexes = [models.Index(fields=["tenant_id", "pipeline_id"], name="pipeline_event_of_tenant")]


class PipelineExclusion(models.Model):
    """A document that a pipeline may serve its tenant without, and why: readers find nothing of it there."""

    tenant_id = models.BigIntegerField()
    pipeline_id = models.PositiveSmallIntegerField()
    document_id = models.UUIDField()
    reason = models.TextField(_("reason"))
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150, default="")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "pipeline_exclusion"
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "pipeline_id", "document_id"], name="pipeline_exclusion_once")
        ]


class PipelineGate(models.Model):
    """One examination of a pipeline before it may serve a tenant. Append-only."""

    tenant_id = models.BigIntegerField()
    pipeline_id = models.PositiveSmallIntegerField()
    against_id = models.PositiveSmallIntegerField(help_text="the pipeline that served when it was examined")
    passed = models.BooleanField()
    report = models.JSONField()
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150, default="")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "pipeline_gate"
        ordering = ["-id"]
        indexes = [models.Index(fields=["tenant_id", "pipeline_id"], name="pipeline_gate_of_tenant")]


class ShadowQuery(models.Model):
    """A query that somebody asked while another pipeline was being built, kept to ask that one the same: only with
    KB_SHADOW_SHARE, and until the pipeline serves or is retired."""

    tenant_id = models.BigIntegerField()
    user_id = models.BigIntegerField()
    query = models.TextField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "shadow_query"
        indexes = [models.Index(fields=["tenant_id"], name="shadow_query_of_tenant")]
