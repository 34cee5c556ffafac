"""Staleness that somebody was told of and that goes on."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class StalenessAlert(models.Model):
    """A document that is too stale now, told once. It goes with the staleness; both are in the document's audit trail."""

    document = models.OneToOneField(
        "documents.Document", models.CASCADE, primary_key=True, related_name="staleness_alert"
    )
    version_number = models.PositiveIntegerField(help_text="that readers are waiting for")
    behind_since = models.DateTimeField(help_text="since when they have been")
    max_seconds = models.PositiveIntegerField(help_text="how long they should have been at most")
    raised_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "staleness_alert"
