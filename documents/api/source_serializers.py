"""What the calls of external systems take and give, in camelCase."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from documents import sources
from documents.api.base import RequestSerializer
from documents.api.serializers import StateField, counter, readers_field, readers_from
from documents.conditional import Outcome
from documents.source_models import Source, SourceEntry
from documents.sources import Applied, Write


class NewSourceSerializer(RequestSerializer):
    tenant = serializers.CharField(max_length=50, help_text="The tenant's short name.")
    name = serializers.RegexField(r"^[a-z0-9][a-z0-9._-]*$", max_length=50)
    clock = serializers.ChoiceField(
        choices=[clock.value for clock in Source.Clock],
        default=Source.Clock.TIME.value,
        help_text="How it orders its writes: by `sourceUpdatedAt` (time) or by `versionEpoch` (epoch).",
    )
    readers = readers_field(required=False, default=list, help_text="Of all that it writes without naming readers.")


class SourceQuerySerializer(RequestSerializer):
    tenant = serializers.CharField(max_length=50, help_text="The tenant's short name.")


class SourceSerializer(serializers.Serializer[Source]):
    sourceId = serializers.IntegerField(source="pk")
    tenant = serializers.CharField(source="tenant.slug")
    name = serializers.CharField()
    clock = serializers.CharField()
    readers = serializers.JSONField()


class SourceListSerializer(serializers.Serializer[Any]):
    sources = SourceSerializer(many=True)


class ClockSerializer(RequestSerializer):
    sourceUpdatedAt = serializers.DateTimeField(
        required=False, help_text="When the document last changed in the source, with its zone."
    )
    versionEpoch = serializers.IntegerField(
        min_value=0, max_value=sources.MAX_CLOCK, required=False, help_text="Or a number that grows with every change."
    )


class JsonReadersField(serializers.JSONField):
    """Readers as JSON in a form's field."""

    def to_internal_value(self, data: Any) -> Any:
        return readers_field().run_validation(super().to_internal_value(data))


class FormWriteSerializer(ClockSerializer):
    file = serializers.FileField(allow_empty_file=True)
    title = serializers.CharField(required=False, allow_blank=True, help_text="The file name if omitted.")
    readers = JsonReadersField(required=False, binary=True, help_text="JSON, as in a publish. Omitted: the source's.")


class RowSerializer(ClockSerializer):
    """A write as JSON: with `content` or `contentBytes`, or `deleted`."""

    key = serializers.CharField(max_length=sources.MAX_KEY, trim_whitespace=False)
    deleted = serializers.BooleanField(default=False)
    content = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, help_text="Text.")
    contentBytes = serializers.CharField(required=False, allow_blank=True, help_text="Any file.")
    fileName = serializers.CharField(
        required=False, max_length=255, help_text="Says the type. The key's last part if omitted."
    )
    title = serializers.CharField(required=False, allow_blank=True, help_text="The file name if omitted.")
    readers = readers_field(required=False, help_text="As in a publish. Omitted: the source's.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("content", "contentBytes") if name in attrs]
        if attrs["deleted"] and given:
            raise serializers.ValidationError({given[0]: _("A deletion has no content; nothing was changed.")})
        if not attrs["deleted"] and len(given) != 1:
            raise serializers.ValidationError(
                {"content": _("A write has `content` or `contentBytes`, one of them; nothing was changed.")}
            )
        return attrs

    def validate_contentBytes(self, value: str) -> bytes:
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            raise serializers.ValidationError(_("This is not Base64; nothing was changed.")) from None


class EntrySerializer(serializers.Serializer[SourceEntry]):
    key = serializers.CharField()
    deleted = serializers.SerializerMethodField()
    documentId = serializers.UUIDField(source="document_id", allow_null=True)
    sourceUpdatedAt = serializers.SerializerMethodField(help_text="The clock of the write that counts, or null.")
    versionEpoch = serializers.SerializerMethodField(help_text="Likewise.")

    def get_deleted(self, entry: SourceEntry) -> bool:
        return entry.digest is None

    def get_sourceUpdatedAt(self, entry: SourceEntry) -> datetime | None:
        clock = sources.clock_of(entry)
        return clock if isinstance(clock, datetime) else None

    def get_versionEpoch(self, entry: SourceEntry) -> int | None:
        clock = sources.clock_of(entry)
        return clock if isinstance(clock, int) else None


class AppliedSerializer(serializers.Serializer[Applied]):
    outcome = serializers.ChoiceField(choices=[outcome.value for outcome in Outcome])
    key = serializers.CharField(source="entry.key")
    documentId = serializers.UUIDField(source="entry.document_id", allow_null=True)
    versionNumber = counter(source="published.version_number", allow_null=True, default=None)
    inForce = serializers.BooleanField(
        source="published.in_force", allow_null=True, default=None, help_text="false: when it is searchable."
    )
    indexTaskId = serializers.IntegerField(source="published.ticket.task_id", allow_null=True, default=None)
    indexState = StateField(source="published.ticket.state", allow_null=True, default=None)
    reason = serializers.CharField(help_text="Why it was a conflict; empty otherwise.")


class BatchRowSerializer(serializers.Serializer[Any]):
    line = counter(help_text="Of the batch, from 1.")
    key = serializers.CharField(allow_null=True)
    outcome = serializers.ChoiceField(choices=[outcome.value for outcome in Outcome])
    documentId = serializers.UUIDField(allow_null=True)
    versionNumber = counter(allow_null=True)
    reason = serializers.CharField(help_text="Why it was a conflict or invalid; empty otherwise.")


class BatchSerializer(serializers.Serializer[Any]):
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Rows by outcome.")
    rows = BatchRowSerializer(many=True)


def write_of_row(data: dict[str, Any]) -> Write:
    """A row that `RowSerializer` has checked."""
    body = data["content"].encode("utf-8", "surrogatepass") if "content" in data else data.get("contentBytes")
    return Write(
        key=data["key"],
        updated_at=data.get("sourceUpdatedAt"),
        epoch=data.get("versionEpoch"),
        data=body,
        file_name=data.get("fileName") or data["key"].rsplit("/", 1)[-1],
        title=data.get("title", ""),
        readers=readers_from(data["readers"]) if "readers" in data else None,
    )
