"""Views over the search pointers (sql/schema/0010_freshness.sql), so that SQL and ORM ask the same thing."""

from __future__ import annotations

from django.db import models


class ServedPointer(models.Model):
    """What readers of a document may be served now under a pipeline."""

    id = models.BigIntegerField(primary_key=True)
    document_id = models.UUIDField()
    pipeline_id = models.PositiveSmallIntegerField()
    version_number = models.PositiveIntegerField()

    class Meta:
        managed = False
        db_table = "served_pointer"


class WithheldPointer(models.Model):
    """What they were served before, held back until a newer version is searchable."""

    id = models.BigIntegerField(primary_key=True)
    document_id = models.UUIDField()
    pipeline_id = models.PositiveSmallIntegerField()
    version_number = models.PositiveIntegerField()

    class Meta:
        managed = False
        db_table = "withheld_pointer"
