"""The tables about embedding providers; a part of `indexing.models`, where Django looks for tables."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField


class EmbeddingProvider(models.Model):
    """What all workers know together about one embedding provider. Written only when something changes, and by every request
    where a budget is set. Statements: sql/providers.sql; what they mean: `indexing.breaker`."""

    name = models.CharField(_("provider"), max_length=300, primary_key=True, help_text=_("host and port"))
    outages = models.PositiveIntegerField(db_default=0)
    timed_out = ArrayField(models.BigIntegerField(), db_default=[])
    throttles = models.PositiveIntegerField(db_default=0)
    openings = models.PositiveIntegerField(db_default=0)
    open_until = models.DateTimeField(null=True, help_text="the breaker is open if set, half-open once it is over")
    since = models.DateTimeField(null=True, help_text="when the breaker opened")
    code = models.CharField(max_length=50, null=True)
    detail = models.TextField(db_default="")
    probe_token = models.CharField(max_length=64, null=True)
    probe_until = models.DateTimeField(null=True)
    cooldown_until = models.DateTimeField(null=True)
    requests_left = models.FloatField(null=True, help_text="of the budget when it was last refilled; below zero: debts")
    texts_left = models.FloatField(null=True)
    refilled_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(_("last success"), null=True, help_text="within a minute")

    class Meta:
        db_table = "embedding_provider"
        verbose_name = _("embedding provider")
        verbose_name_plural = _("embedding providers")
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(
                name="embedding_provider_open_has_reason",
                condition=Q(open_until=None) | Q(code__isnull=False, since__isnull=False),
            ),
            models.CheckConstraint(
                name="embedding_provider_probe_has_deadline",
                condition=Q(probe_token=None, probe_until=None)
                | Q(probe_token__isnull=False, probe_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ProviderEvent(models.Model):
    """When a provider's breaker opened and closed, and who asked to try again. Append-only."""

    provider = models.CharField(max_length=300)
    kind = models.CharField(max_length=10, help_text="opened, closed, or asked (by a person)")
    code = models.CharField(max_length=50, null=True)
    detail = models.TextField(default="")
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150, default="")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "provider_event"
        ordering = ["-id"]
        default_permissions = ()
        indexes = [models.Index(fields=["provider", "-id"], name="provider_event_of_provider")]


class EmbeddingCanary(models.Model):
    """The vector of one fixed text by each model, as it was first: see indexing.canary. Never changed nor removed."""

    fingerprint = models.CharField(max_length=64, primary_key=True)
    embedding = VectorField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "embedding_canary"
