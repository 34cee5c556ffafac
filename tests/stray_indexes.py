"""A vector index outlives the rows that a test removes, and the next test's pipeline may get the same number with another
length of vectors: what is left over goes first."""

from __future__ import annotations

from django.db import connections

from indexing.models import Pipeline
from indexing.pipelines import vector_index_name


def drop_stray_indexes() -> None:
    known = {
        vector_index_name(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions)
        for pipeline in Pipeline.objects.all()
    }
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'i' AND relname LIKE 'chunk\\_vector\\_hnsw\\_%'")
        for (name,) in cursor.fetchall():
            if name not in known:
                cursor.execute(f"DROP INDEX {name}")
