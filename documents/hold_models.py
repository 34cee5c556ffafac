"""Audit holds: what an operator keeps from being removed, why, and until when."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Hold(models.Model):
    """While it lasts, nothing of the document, or of its one version, is removed by any rule (docs/retention.md); whether
    readers see it is another matter. Told once: placed, and perhaps lifted (sql/schema/0006_holds.sql)."""

    tenant = models.ForeignKey("documents.Tenant", models.PROTECT, related_name="+", verbose_name=_("tenant"))
    document = models.ForeignKey("documents.Document", models.PROTECT, related_name="holds", verbose_name=_("document"))
    version_number = models.PositiveIntegerField(
        _("version"), null=True, blank=True, help_text=_("Empty: every version, those to come too.")
    )
    reason = models.TextField(_("reason"))
    placed_by_id = models.BigIntegerField(null=True)
    placed_by_name = models.CharField(_("placed by"), max_length=150, default="")
    placed_at = models.DateTimeField(_("placed"), auto_now_add=True)
    lifted_by_id = models.BigIntegerField(null=True)
    lifted_by_name = models.CharField(_("lifted by"), max_length=150, default="")
    lifted_at = models.DateTimeField(_("lifted"), null=True)

    class Meta:
        db_table = "document_hold"
        verbose_name = _("audit hold")
        verbose_name_plural = _("audit holds")
        ordering = ["-id"]
        indexes = [models.Index(fields=["document"], name="document_hold_active", condition=Q(lifted_at=None))]

    def __str__(self) -> str:
        return self.reason
