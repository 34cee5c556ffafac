"""The truth: tenants, who belongs to them, documents, their immutable versions, and who may read which version.

Nothing here knows of indexing; what readers are served is asked through `documents.ports`.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from documents.querysets import DocumentQuerySet


class Tenant(models.Model):
    """The isolation boundary: every row of a tenant's data, derived data included, carries it."""

    slug = models.CharField(
        _("short name"),
        max_length=50,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9-]*$", _("Lower-case letters, digits and hyphens."))],
    )
    name = models.CharField(_("name"), max_length=200)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        db_table = "tenant"
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's place in a tenant. Every member may read what is open to everyone; the role says what else."""

    class Role(models.TextChoices):
        READER = "reader", _("reader")
        EDITOR = "editor", _("editor: uploads and publishes")
        OPERATOR = "operator", _("operator: watches and retries indexing")

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="memberships", verbose_name=_("tenant"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships", verbose_name=_("user")
    )
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.READER)

    class Meta:
        db_table = "membership"
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="membership_once_per_tenant")]

    def __str__(self) -> str:
        return f"{self.user} @ {self.tenant}"


class ReaderGroup(models.Model):
    """A named set of a tenant's members. Django's own groups span tenants and carry admin rights, so they do not serve."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="reader_groups", verbose_name=_("tenant"))
    name = models.CharField(_("name"), max_length=100)
    members = models.ManyToManyField(
        Membership, related_name="reader_groups", blank=True, db_table="reader_group_member", verbose_name=_("members")
    )

    class Meta:
        db_table = "reader_group"
        verbose_name = _("reader group")
        verbose_name_plural = _("reader groups")
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="reader_group_name_once_per_tenant")]

    def __str__(self) -> str:
        return self.name


class StoredContent(models.Model):
    """Bytes in storage under a generated, tenant-scoped key. Staged before the transaction that uses them, confirmed in it.

    Only the sweep removes them, in two steps, as a storage may take its time and no transaction is open then: DELETING in a
    short transaction, after which nobody can use them any more; then the file; then the row.
    """

    class State(models.TextChoices):
        STAGED = "staged"
        CONFIRMED = "confirmed"
        DELETING = "deleting"  # for good: the file goes, then the row

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+")
    key = models.CharField(max_length=200, unique=True)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField(help_text="bytes")
    media_type = models.CharField(max_length=100)
    state = models.CharField(max_length=10, choices=State.choices, default=State.STAGED)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "stored_content"
        indexes = [
            models.Index(fields=["created_at"], name="stored_content_staged", condition=Q(state="staged")),
            models.Index(fields=["id"], name="stored_content_deleting", condition=Q(state="deleting")),
            models.Index(fields=["tenant", "sha256"], name="stored_content_digest"),
        ]


class Document(models.Model):
    """What an editor maintains.

    `requested_version` is what an editor asked for, `published_version` what the business says is in force. They differ
    only under `publish_when_ready` while the requested one is being indexed. `revision` grows with every command.
    """

    class Staleness(models.TextChoices):
        SERVE_PREVIOUS = "serve_previous", _("serve the previous version while a new one is indexed")
        WITHHOLD = "withhold", _("show nothing while a new version is indexed")
        PUBLISH_WHEN_READY = "publish_when_ready", _("a new version comes into force when it is searchable")

    class PastMaximum(models.TextChoices):
        ALERT = "alert", _("tell editors and operators, and go on serving it")
        WITHHOLD = "withhold", _("tell them, and show it no longer")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="documents", verbose_name=_("tenant"))
    title = models.CharField(_("title"), max_length=300)
    revision = models.PositiveIntegerField(_("revision"), default=1)
    staleness = models.CharField(
        _("while a new version is indexed"), max_length=20, choices=Staleness.choices, default=Staleness.SERVE_PREVIOUS
    )
    max_staleness_seconds = models.PositiveIntegerField(
        _("longest staleness"), null=True, help_text="seconds; null: KB_MAX_STALENESS_SECONDS"
    )
    past_maximum = models.CharField(
        _("text that is too stale"),
        max_length=8,
        choices=PastMaximum.choices,
        default=PastMaximum.ALERT,
        db_default=PastMaximum.ALERT.value,
    )
    is_behind = models.BooleanField(
        default=False,
        db_default=False,
        help_text="the version asked for last may not be searchable yet: where to look; whether it is, the index says",
    )
    latest_version = models.PositiveIntegerField(_("latest version"), default=0)
    requested_version = models.PositiveIntegerField(_("requested version"), null=True)
    published_version = models.PositiveIntegerField(_("published version"), null=True)
    published_at = models.DateTimeField(_("published"), null=True)
    serve_from_version = models.PositiveIntegerField(
        default=0, help_text="readers are shown nothing older: set by a publish after a withdrawal, or under `withhold`"
    )
    withdrawn_at = models.DateTimeField(_("withdrawn"), null=True)
    deleted_at = models.DateTimeField(_("deleted"), null=True)
    purged_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        db_table = "document"
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering = ["-updated_at"]
        indexes = [
            models.Index(fields=["tenant", "-updated_at"], name="document_by_tenant"),
            models.Index(
                fields=["deleted_at"], name="document_to_purge", condition=Q(deleted_at__isnull=False, purged_at=None)
            ),
            models.Index(fields=["tenant", "title"], name="document_title"),
            models.Index(fields=["tenant", "id"], name="document_behind", condition=Q(is_behind=True)),
        ]
        constraints = [
            models.CheckConstraint(
                name="document_published_was_requested",
                condition=Q(published_version=None) | Q(requested_version__gte=models.F("published_version")),
            ),
            models.CheckConstraint(
                name="document_requested_exists",
                condition=Q(requested_version=None) | Q(requested_version__lte=models.F("latest_version")),
            ),
            models.CheckConstraint(
                name="document_withholds_after_its_own_maximum",
                condition=~Q(past_maximum="withhold") | Q(max_staleness_seconds__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.title


class DocumentVersion(models.Model):
    """Immutable content of a document. A trigger refuses every UPDATE, and DELETE unless the document is deleted."""

    document = models.ForeignKey(Document, models.PROTECT, related_name="versions", verbose_name=_("document"))
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+")
    number = models.PositiveIntegerField(_("version"))
    title = models.CharField(_("title"), max_length=300)
    file_name = models.CharField(_("file"), max_length=255)
    media_type = models.CharField(_("type"), max_length=100)
    content = models.ForeignKey(StoredContent, models.PROTECT, related_name="versions")
    restored_from = models.PositiveIntegerField(_("restored from version"), null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.DO_NOTHING, null=True, related_name="+", db_constraint=False
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        db_table = "document_version"
        verbose_name = _("version")
        verbose_name_plural = _("versions")
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="version_number_once")]

    def __str__(self) -> str:
        return f"{self.title} v{self.number}"


class ReadRule(models.Model):
    """One READ permission on one version. See `documents.access` for who may read the version that is served."""

    class Kind(models.TextChoices):
        EVERYONE = "everyone", _("every member of the tenant")
        GROUP = "group", _("group")
        USER = "user", _("user")

    version = models.ForeignKey(DocumentVersion, models.CASCADE, related_name="read_rules")
    document = models.ForeignKey(Document, models.CASCADE, related_name="read_rules")
    version_number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    group = models.ForeignKey(ReaderGroup, models.CASCADE, null=True, related_name="read_rules")
    membership = models.ForeignKey(Membership, models.CASCADE, null=True, related_name="read_rules")

    class Meta:
        db_table = "read_rule"
        constraints = [
            models.UniqueConstraint(
                fields=["version", "kind", "group", "membership"], name="read_rule_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="read_rule_names_its_reader",
                condition=Q(kind="everyone", group=None, membership=None)
                | Q(kind="group", group__isnull=False, membership=None)
                | Q(kind="user", group=None, membership__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["document", "version_number"], name="read_rule_by_version")]


class DocumentReader(models.Model):
    """Who may read which version: a view over rules, groups and memberships, so that SQL and ORM ask the same thing."""

    id = models.BigIntegerField(primary_key=True)
    document = models.ForeignKey(Document, models.DO_NOTHING, related_name="+")
    version_number = models.PositiveIntegerField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.DO_NOTHING, related_name="+")

    class Meta:
        managed = False
        db_table = "document_reader"


class Publication(models.Model):
    """When which version was asked for and came into force: the workflow of a version, apart from its content."""

    document = models.ForeignKey(Document, models.CASCADE, related_name="publications")
    version_number = models.PositiveIntegerField(_("version"))
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    requested_at = models.DateTimeField(_("requested"), db_default=Now())
    published_at = models.DateTimeField(_("in force"), null=True)
    withdrawn_at = models.DateTimeField(_("withdrawn"), null=True)

    class Meta:
        db_table = "publication"
        ordering = ["-requested_at", "-id"]
        indexes = [models.Index(fields=["document", "version_number"], name="publication_by_version")]


class AuditEvent(models.Model):
    """Who did what to a document. Append-only, without foreign keys: it outlives what it tells of."""

    tenant_id = models.BigIntegerField()
    document_id = models.UUIDField(db_index=True)
    action = models.CharField(max_length=30)
    version_number = models.PositiveIntegerField(null=True)
    revision = models.PositiveIntegerField()
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150, default="")
    detail = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "audit_event"
        ordering = ["-id"]


class ApiKey(models.Model):
    """A key for the API, stored as a digest. The key itself is shown once, when it is made."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_keys", verbose_name=_("user"))
    name = models.CharField(_("name"), max_length=100, blank=True)
    prefix = models.CharField(max_length=12, help_text="first characters, to recognise a key by")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the key, hexadecimal")
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    last_used_at = models.DateTimeField(_("last used"), null=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True)

    class Meta:
        db_table = "api_key"
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")


class IdempotencyRecord(models.Model):
    """The first answer to a POST with an Idempotency-Key, given again to every repetition."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    request_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True, help_text="null while the first request runs")
    body = models.JSONField(null=True)
    headers = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "idempotency_record"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_per_user")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_age")]


from documents.freshness_models import StalenessAlert as StalenessAlert  # noqa: E402  (for Django)
from documents.hold_models import Hold  # noqa: E402, F401  (for Django)
from documents.source_models import Source, SourceEntry  # noqa: E402, F401  (for Django)
