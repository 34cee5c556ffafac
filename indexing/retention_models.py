"""The tables that retention works by, a part of `indexing.models` for Django; their statements are in sql/retention.sql."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class OrphanSet(models.Model):
    """A set of chunks that no pointer includes: entered by triggers (sql/schema/0011_retention.sql) when it is left behind,
    removed when its chunks are. So retention never looks for sets among those that are served."""

    class Kind(models.TextChoices):
        REPLACED = "replaced"  # readers had it; a newer version or generation took its place
        ABANDONED = "abandoned"  # staged by a task that ended without it
        RETIRED = "retired"  # its pipeline is retired, its pointer removed

    tenant_id = models.BigIntegerField()
    document_id = models.UUIDField()
    pipeline_id = models.PositiveSmallIntegerField()
    version_number = models.PositiveIntegerField()
    generation = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    counted_from = models.DateTimeField(
        db_default=Now(), help_text="its time runs from here; later than it was left if it was found to be kept"
    )

    class Meta:
        db_table = "orphan_set"
        constraints = [
            models.UniqueConstraint(
                fields=["document_id", "pipeline_id", "version_number", "generation"], name="orphan_set_once"
            )
        ]
        indexes = [
            models.Index(fields=["kind", "counted_from"], name="orphan_set_due"),
            models.Index(fields=["tenant_id", "pipeline_id"], name="orphan_set_of_pipeline"),
        ]


class Citation(models.Model):
    """A version whose permalink somebody followed: one row a version, written at most once a day."""

    pk = models.CompositePrimaryKey("document_id", "version_number")
    document_id = models.UUIDField()
    version_number = models.PositiveIntegerField()
    tenant_id = models.BigIntegerField()
    first_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "citation"


class RetentionRun(models.Model):
    """When a rule that looks at whole tables had looked at all of them last."""

    rule = models.CharField(max_length=50, primary_key=True)
    ended_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "retention_run"
