"""The tables of what is kept so that it need not be made again; a part of `indexing.models`, where Django looks for tables."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from pgvector.django import VectorField

from documents.models import Tenant


class ParseCache(models.Model):
    """A parsed document as compressed JSON, per tenant, content and parser revision."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="+", db_index=False)
    content_digest = models.CharField(max_length=64)
    media_type = models.CharField(max_length=100)
    parser_revision = models.CharField(max_length=50)
    parsed = models.BinaryField()
    created_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(
        db_default=Now(), help_text="until when a version in force is known to have had its bytes"
    )

    class Meta:
        db_table = "parse_cache"
        indexes = [models.Index(fields=["used_at"], name="parse_cache_used")]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "content_digest", "media_type", "parser_revision"], name="parse_cache_key"
            )
        ]


class EmbeddingCache(models.Model):
    """A vector per tenant, model fingerprint and digest of the embedded text: survives tasks and crashes."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="+", db_index=False)
    fingerprint = models.CharField(max_length=64)
    text_digest = models.CharField(max_length=64)
    embedding = VectorField()
    created_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(
        db_default=Now(), help_text="until when a stored chunk is known to have had its text"
    )

    class Meta:
        db_table = "embedding_cache"
        indexes = [models.Index(fields=["used_at"], name="embedding_cache_used")]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "text_digest", "fingerprint"], name="embedding_cache_key")
        ]


class SituationCache(models.Model):
    """The sentence of a language model for one chunk, by what the model was told: survives tasks and crashes, and goes with
    its document. No foreign keys, as below."""

    document_id = models.UUIDField()
    tenant_id = models.BigIntegerField()
    fingerprint = models.CharField(max_length=64, help_text="of the model and of what it is asked to do")
    question_digest = models.CharField(max_length=64)
    sentence = models.TextField()
    created_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(db_default=Now(), help_text="noted once a day at most")

    class Meta:
        db_table = "situation_cache"
        indexes = [models.Index(fields=["used_at"], name="situation_cache_used")]
        constraints = [
            models.UniqueConstraint(
                fields=["document_id", "question_digest", "fingerprint"], name="situation_cache_key"
            )
        ]


class EmbeddedText(models.Model):
    """Which document has which embedded text: a purge finds its vectors by this, those of a task that died before staging
    too. Written in the transaction that reads or writes them; no foreign keys, since its lease says which document."""

    pk = models.CompositePrimaryKey("document_id", "text_digest")
    document_id = models.UUIDField()
    text_digest = models.CharField(max_length=64)
    tenant_id = models.BigIntegerField()

    class Meta:
        db_table = "embedded_text"
        indexes = [models.Index(fields=["tenant_id", "text_digest"], name="embedded_text_of_tenant")]
