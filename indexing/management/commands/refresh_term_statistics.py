"""Count again in how many chunks each term stands: what tells a telling word from a common one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from indexing import search
from indexing.models import TenantPipeline
from indexing.states import PipelineRole


class Command(BaseCommand):
    help = "Refresh the term statistics that the lexical part of the search weighs words by (run by the scheduler)."

    def handle(self, *args: Any, **options: Any) -> None:
        serving = TenantPipeline.objects.filter(role=PipelineRole.SERVING).order_by("tenant")
        tenants = list(serving.values_list("tenant_id", "pipeline_id"))
        changed = 0
        for tenant_id, pipeline_id in tenants:
            changed += search.count_terms(tenant_id=tenant_id, pipeline_id=pipeline_id)
        self.stdout.write(
            f"{timezone.localtime():%Y-%m-%d %H:%M:%S} Counted the terms of {len(tenants)} tenants for the search: "
            f"{changed} counts changed."
        )
