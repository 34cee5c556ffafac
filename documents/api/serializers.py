"""What the document calls take and give, in camelCase. They check form; whether a command is allowed, the services say."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.base import RequestSerializer
from documents.errors import BeingUpdated
from documents.models import Document, DocumentVersion, ReadRule
from documents.paging import MAX_PAGE
from documents.ports import IndexState, search_index
from documents.publishing import LONGEST_MAXIMUM
from documents.readers import Reader

MAX_COUNTER = 2**31 - 1  # what a revision or version number can be in the database
MAX_READERS = 1000


class StateField(serializers.ChoiceField):
    """An index state; a class of its own, so that the schema names it once."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=[state.value for state in IndexState], **options)


def counter(**options: Any) -> serializers.IntegerField:
    """A revision or version number."""
    return serializers.IntegerField(min_value=1, max_value=MAX_COUNTER, **options)


class RevisedSerializer(RequestSerializer):
    revision = counter(required=False, help_text="The document's revision in view; or send it as If-Match.")


class NewDocumentSerializer(RequestSerializer):
    # An empty file is the service's to refuse: its sentence says what to do. The same goes for titles.
    file = serializers.FileField(allow_empty_file=True)
    title = serializers.CharField(allow_blank=True)
    tenant = serializers.CharField(max_length=50, help_text="The tenant's short name.")


class NewVersionSerializer(RevisedSerializer):
    file = serializers.FileField(allow_empty_file=True)
    title = serializers.CharField(allow_blank=True, required=False, help_text="Keeps the old title if omitted.")


class ReaderSerializer(RequestSerializer):
    type = serializers.ChoiceField(choices=[kind.value for kind in ReadRule.Kind])
    name = serializers.CharField(
        max_length=150, required=False, help_text="User name or group name; not for everyone.", trim_whitespace=False
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["type"] != ReadRule.Kind.EVERYONE and "name" not in attrs:
            raise serializers.ValidationError({"name": _("A user or a group needs a name.")})
        if attrs["type"] == ReadRule.Kind.EVERYONE and "name" in attrs:
            raise serializers.ValidationError({"name": _("Everyone has no name.")})
        return attrs


def readers_field(**options: Any) -> serializers.ListField:
    return serializers.ListField(child=ReaderSerializer(), max_length=MAX_READERS, **options)


class PublishSerializer(RevisedSerializer):
    versionNumber = counter(required=False, help_text="The latest version if omitted.")
    readers = readers_field(required=False, help_text="Omitted: as before, if it was published before. Empty: nobody.")


class ReadersSerializer(RevisedSerializer):
    versionNumber = counter(
        required=False, allow_null=True, help_text="As it was read: refused if another version was asked for since."
    )
    readers = readers_field(help_text="All readers from now on. Empty: nobody.")


class FreshnessContractSerializer(RevisedSerializer):
    """All of the contract: what is left out goes back to its default."""

    policy = serializers.ChoiceField(
        choices=[policy.value for policy in Document.Staleness],
        help_text="What readers get while a new version is indexed; from the next publish on.",
    )
    maxStalenessSeconds = serializers.IntegerField(
        min_value=1,
        max_value=LONGEST_MAXIMUM,
        allow_null=True,
        required=False,
        default=None,
        help_text="How long they may go without the version asked for; null: as the site has it.",
    )
    pastMaximum = serializers.ChoiceField(
        choices=[choice.value for choice in Document.PastMaximum],
        default=Document.PastMaximum.ALERT.value,
        help_text="What happens then: an alert alone, or text that is no longer in force is also withheld (with a maximum of "
        "its own only).",
    )


class RestoreSerializer(RevisedSerializer):
    versionNumber = counter(help_text="The version to bring back as a new one.")


class PageQuerySerializer(RequestSerializer):
    tenant = serializers.CharField(max_length=50, help_text="The tenant's short name.")
    limit = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=50)
    cursor = serializers.CharField(max_length=200, default="", allow_blank=True, help_text="`nextCursor` of a page.")


class DocumentQuerySerializer(PageQuerySerializer):
    state = StateField(required=False, help_text="Only documents in this state; deleted ones are listed only so.")


class VersionCreatedSerializer(serializers.Serializer[DocumentVersion]):
    documentId = serializers.UUIDField(source="document_id")
    versionNumber = counter(source="number")
    revision = counter(source="document.revision")


class PublishedSerializer(serializers.Serializer[Any]):
    documentId = serializers.UUIDField(source="document.pk")
    versionNumber = counter(source="version_number")
    revision = counter(source="document.revision")
    publishedVersion = counter(
        source="document.published_version", allow_null=True, help_text="In force now; null if none ever was."
    )
    inForce = serializers.BooleanField(
        source="in_force",
        help_text="false under `publish_when_ready`: the version comes into force when it is searchable, until then the one "
        "before it stays.",
    )
    indexTaskId = serializers.IntegerField(source="ticket.task_id", help_text="Under the pipeline that serves readers.")
    indexState = StateField(source="ticket.state")


class DocumentFreshnessSerializer(serializers.Serializer[Any]):
    policy = serializers.ChoiceField(source="staleness", choices=[policy.value for policy in Document.Staleness])
    maxStalenessSeconds = serializers.IntegerField(source="max_staleness_seconds", allow_null=True)
    pastMaximum = serializers.ChoiceField(
        source="past_maximum", choices=[choice.value for choice in Document.PastMaximum]
    )
    secondsBehind = serializers.FloatField(
        source="behind_seconds",
        allow_null=True,
        help_text="How long readers have been without the version asked for, served an older one or none.",
    )
    isTooStale = serializers.BooleanField(source="is_too_stale")


class DocumentSerializer(serializers.Serializer[Document]):
    """A document as `documents.catalog` annotates it."""

    documentId = serializers.UUIDField(source="pk")
    title = serializers.CharField(source="shown_title")
    revision = counter()
    requestedVersion = counter(source="requested_version", allow_null=True)
    publishedVersion = counter(source="published_version", allow_null=True)
    searchableVersion = counter(source="searchable_version", allow_null=True, help_text="What readers are served.")
    indexState = StateField(source="index_state")
    stalenessSeconds = serializers.FloatField(
        source="staleness_seconds", allow_null=True, help_text="How long readers have been served an older version."
    )
    freshness = serializers.SerializerMethodField(
        help_text="The document's freshness contract, and whether it is broken now. For editors and operators; null for those "
        "who only read."
    )
    errorCode = serializers.CharField(source="index_error_code", allow_null=True)
    errorMessage = serializers.SerializerMethodField()
    gaps = serializers.SerializerMethodField(
        help_text="Parts of the searchable version that could not be read: a reason with a page, sheet or slide. For editors "
        "and operators; readers are told with what they find. null: nothing is searchable."
    )
    notices = serializers.SerializerMethodField(
        help_text="The same, places that are not exact, and text that is held back for now, in sentences."
    )

    @extend_schema_field(DocumentFreshnessSerializer(allow_null=True))
    def get_freshness(self, document: Any) -> Any:
        return DocumentFreshnessSerializer(document).data if document.is_overseen else None

    @extend_schema_field(serializers.ListField(child=serializers.DictField(), allow_null=True))
    def get_gaps(self, document: Any) -> Any:
        return document.index_gaps if document.is_overseen else None

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_notices(self, document: Any) -> list[str]:
        held = [BeingUpdated.sentence_of(document.shown_title)] if document.withheld_version else []
        if not document.is_overseen:
            return held
        index = search_index()
        return held + index.describe_text(gaps=document.index_gaps, verification=document.index_verification)

    def get_errorMessage(self, document: Any) -> str | None:
        sentence = search_index().describe_error(
            code=document.index_error_code, message=document.index_error_message, places=document.index_error_places
        )
        return sentence or None


class DocumentDetailSerializer(DocumentSerializer):
    readers = ReaderSerializer(
        many=True, allow_null=True, help_text="For editors and operators, once a version is published; null otherwise."
    )


class CurrentReadersSerializer(serializers.Serializer[Any]):
    versionNumber = counter(allow_null=True, help_text="The version asked for last; null before the first publish.")
    revision = counter()
    readers = ReaderSerializer(many=True, help_text="Empty: nobody.")


class DocumentPageSerializer(serializers.Serializer[Any]):
    documents = DocumentSerializer(many=True)
    nextCursor = serializers.CharField(allow_null=True, help_text="null after the last page")


class VersionSerializer(serializers.Serializer[DocumentVersion]):
    versionNumber = counter(source="number")
    title = serializers.CharField()
    fileName = serializers.CharField(source="file_name")
    mediaType = serializers.CharField(source="media_type")
    size = serializers.IntegerField(source="content.size", help_text="bytes")
    restoredFrom = counter(source="restored_from", allow_null=True)
    createdBy = serializers.SerializerMethodField()
    createdAt = serializers.DateTimeField(source="created_at")

    def get_createdBy(self, version: DocumentVersion) -> str | None:
        return version.created_by.get_username() if version.created_by else None


class VersionListSerializer(serializers.Serializer[Any]):
    versions = VersionSerializer(many=True)


def readers_from(data: list[dict[str, Any]]) -> list[Reader]:
    return [Reader(item["type"], item.get("name", "")) for item in data]
