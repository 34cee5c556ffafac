"""External systems that write documents here, and what each has written last."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Source(models.Model):
    """An external system, such as a wiki or a folder. It orders its writes by times or by numbers, not by both."""

    class Clock(models.TextChoices):
        TIME = "time", _("by the time of the last change")
        EPOCH = "epoch", _("by a number that only grows")

    tenant = models.ForeignKey("documents.Tenant", models.PROTECT, related_name="sources", verbose_name=_("tenant"))
    name = models.CharField(
        _("name"),
        max_length=50,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9._-]*$", _("Lower-case letters, digits, dots and hyphens."))],
    )
    clock = models.CharField(_("orders its writes"), max_length=5, choices=Clock.choices, default=Clock.TIME)
    readers = models.JSONField(_("readers of what it writes"), default=list)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        db_table = "source"
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="source_name_once_per_tenant")]

    def __str__(self) -> str:
        return self.name


class SourceEntry(models.Model):
    """One document of a source: the clock of the write that counts. Without a digest it is a tombstone, which keeps an older
    write that arrives late from bringing the document back."""

    source = models.ForeignKey(Source, models.PROTECT, related_name="entries")
    key = models.CharField(max_length=500)
    clock = models.BigIntegerField(help_text="microseconds since 1970 (UTC), or the source's own number")
    digest = models.CharField(max_length=64, null=True)
    document = models.ForeignKey("documents.Document", models.PROTECT, null=True, related_name="source_entries")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "source_entry"
        ordering = ["key"]
        constraints = [
            models.UniqueConstraint(fields=["source", "key"], name="source_entry_once"),
            models.UniqueConstraint(
                fields=["document"], name="source_entry_of_document", condition=Q(digest__isnull=False)
            ),
            models.CheckConstraint(
                name="source_entry_has_its_document", condition=Q(digest=None) | Q(document__isnull=False)
            ),
        ]
