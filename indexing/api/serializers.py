"""What the index and search calls take and give, in camelCase."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.api.base import RequestSerializer
from documents.api.serializers import PageQuerySerializer
from documents.paging import MAX_PAGE
from indexing import messages, remarks
from indexing.blocks import GapReason
from indexing.models import IndexTask, TaskEvent
from indexing.search import MAX_LIMIT, Answer, Hit, Notice
from indexing.states import Stage, TaskState, TaskType
from indexing.tasks import LATEST, SOONEST
from indexing.worker import Result, Round

MOST_GAPS = 20  # named in each hit


class GapSerializer(serializers.Serializer[Any]):
    """A part of a document that could not be read: the rest is searchable without it."""

    reason = serializers.ChoiceField(choices=[reason.value for reason in GapReason])
    page = serializers.IntegerField(required=False)
    sheet = serializers.CharField(required=False)
    slide = serializers.IntegerField(required=False)
    cells = serializers.CharField(required=False, help_text="“B4:F17” of the sheet; without, no cell in particular.")
    message = serializers.SerializerMethodField()

    def get_message(self, gap: dict[str, Any]) -> str:
        return remarks.gap_words(gap)


class PlacesSerializer(serializers.Serializer[Any]):
    found = serializers.IntegerField()
    failed = serializers.ListField(child=serializers.IntegerField(), help_text="Ordinals of chunks that were not.")
    notCheckable = serializers.IntegerField(help_text="Recognised in pictures.")


class ProgressSerializer(serializers.Serializer[IndexTask]):
    done = serializers.IntegerField(source="progress_done")
    total = serializers.IntegerField(source="progress_total")


class IndexTaskSerializer(serializers.Serializer[IndexTask]):
    taskId = serializers.IntegerField(source="pk")
    documentId = serializers.UUIDField(source="document_id")
    versionNumber = serializers.IntegerField(source="version_number")
    taskType = serializers.ChoiceField(source="task_type", choices=[kind.value for kind in TaskType])
    pipeline = serializers.CharField(source="pipeline.name")
    pool = serializers.CharField(help_text="Which workers take it.")
    priority = serializers.IntegerField(help_text="Lower is sooner.")
    state = serializers.ChoiceField(choices=[state.value for state in TaskState])
    stage = serializers.ChoiceField(choices=[stage.value for stage in Stage], allow_null=True)
    progress = ProgressSerializer(source="*", help_text="Counted within the stage.")
    attempts = serializers.IntegerField()
    failures = serializers.IntegerField(help_text="Charged to the budget of `maxFailures`.")
    maxFailures = serializers.IntegerField(source="max_failures")
    cancelRequested = serializers.BooleanField(source="cancel_requested")
    errorCode = serializers.CharField(source="error_code", allow_null=True)
    errorMessage = serializers.SerializerMethodField()
    gaps = serializers.SerializerMethodField(
        allow_null=True,
        help_text="Parts of the original that could not be read; null unless readers are served its result.",
    )
    places = serializers.SerializerMethodField(
        allow_null=True, help_text="How many chunks were found again at their places in the file; null likewise."
    )
    nextAttemptAt = serializers.DateTimeField(source="next_attempt_at", allow_null=True)
    createdAt = serializers.DateTimeField(source="created_at")
    startedAt = serializers.DateTimeField(source="started_at", allow_null=True)
    finishedAt = serializers.DateTimeField(source="finished_at", allow_null=True)

    @extend_schema_field(GapSerializer(many=True, allow_null=True))
    def get_gaps(self, task: Any) -> Any:
        return None if task.gaps is None else GapSerializer(task.gaps, many=True).data

    @extend_schema_field(PlacesSerializer(allow_null=True))
    def get_places(self, task: Any) -> Any:
        return task.verification

    def get_errorMessage(self, task: IndexTask) -> str | None:
        return messages.error_sentence(task.error_code, task.error_message, task.error_places) or None


class TaskQuerySerializer(PageQuerySerializer):
    state = serializers.ChoiceField(
        choices=[state.value for state in TaskState], required=False, help_text="Only tasks in this state."
    )
    documentId = serializers.UUIDField(required=False, help_text="Only tasks of this document.")


class PrioritySerializer(RequestSerializer):
    priority = serializers.IntegerField(
        min_value=SOONEST, max_value=LATEST, help_text="Lower is sooner; a publish has 0."
    )


class IndexTaskPageSerializer(serializers.Serializer[Any]):
    indexTasks = IndexTaskSerializer(many=True)
    nextCursor = serializers.CharField(allow_null=True, help_text="null after the last page")


class EventQuerySerializer(RequestSerializer):
    limit = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, default=50)
    cursor = serializers.CharField(max_length=200, default="", allow_blank=True, help_text="`nextCursor` of a page.")


class TaskEventSerializer(serializers.Serializer[TaskEvent]):
    eventId = serializers.IntegerField(source="pk")
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(
        choices=["move", "wish", "refused"],
        help_text="A move from state to state; a wish that the running attempt has yet to see; a late write refused.",
    )
    fromState = serializers.CharField(
        source="from_state",
        allow_null=True,
        help_text="A task's state; null for the order itself, and unless it is a move.",
    )
    toState = serializers.CharField(
        source="to_state", allow_null=True, help_text="A task's state; null unless it is a move."
    )
    attempt = serializers.IntegerField(source="attempts", help_text="The fencing token; 0 before the first claim.")
    worker = serializers.CharField(allow_null=True)
    stage = serializers.ChoiceField(
        choices=[stage.value for stage in Stage], allow_null=True, help_text="Where the attempt was that this ended."
    )
    action = serializers.CharField(allow_null=True, help_text="Which write was refused.")
    code = serializers.CharField(allow_null=True, help_text="Why: stable, to be compared.")
    message = serializers.SerializerMethodField()

    def get_message(self, event: TaskEvent) -> str | None:
        if event.kind == "refused":
            return messages.refusal_words(event.action, event.code, event.detail)
        return messages.event_sentence(event.code) or None


class TaskEventPageSerializer(serializers.Serializer[Any]):
    events = TaskEventSerializer(many=True)
    nextCursor = serializers.CharField(allow_null=True, help_text="null after the last page")


class RoundSerializer(serializers.Serializer[Round]):
    result = serializers.ChoiceField(choices=[result.value for result in Result])
    taskId = serializers.IntegerField(source="task_id", required=False, help_text="Not there if the result is IDLE.")

    def to_representation(self, instance: Round) -> dict[str, Any]:
        return {name: value for name, value in super().to_representation(instance).items() if value is not None}


class SearchQuerySerializer(RequestSerializer):
    # What is a query and how long it may be, the search itself says.
    q = serializers.CharField(allow_blank=True, trim_whitespace=False)
    tenant = serializers.CharField(max_length=50, help_text="The tenant's short name.")
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=10)


class FreshnessSerializer(serializers.Serializer[Any]):
    publishedVersion = serializers.IntegerField(allow_null=True)
    searchableVersion = serializers.IntegerField()
    secondsBehind = serializers.FloatField()


class CitationSerializer(serializers.Serializer[Hit]):
    permalink = serializers.CharField(help_text="Version and place: outlives the chunk.")
    marks = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2),
        help_text="[start, end) in the snippet, in Unicode code points",
    )
    freshness = FreshnessSerializer()


class EvidenceSerializer(serializers.Serializer[Any]):
    """The passage around a small chunk, to be read as a whole."""

    span = serializers.ListField(
        child=serializers.IntegerField(),
        min_length=2,
        max_length=2,
        help_text="[start, end) in the extracted text, in Unicode code points",
    )
    permalink = serializers.CharField()


class HitSerializer(serializers.Serializer[Hit]):
    chunkId = serializers.UUIDField(source="chunk_id")
    documentId = serializers.UUIDField(source="document_id")
    versionNumber = serializers.IntegerField(source="version_number")
    title = serializers.CharField()
    headingPath = serializers.ListField(source="heading_path", child=serializers.CharField())
    locator = serializers.DictField(child=serializers.JSONField(), help_text="Where in the original the text stands.")
    snippet = serializers.CharField()
    score = serializers.FloatField(help_text="Comparable within one answer only.")
    citation = CitationSerializer(source="*")
    evidence = EvidenceSerializer(
        allow_null=True, help_text="null unless the pipeline finds small chunks and shows the passage around them."
    )
    gaps = serializers.SerializerMethodField(
        help_text="Parts that could not be read near the text: of its sheet or slide, or of its pages and the ones before "
        f"and after them; of many {MOST_GAPS}."
    )
    otherGaps = serializers.SerializerMethodField(
        help_text="How many parts elsewhere in the document could not be read."
    )
    notices = serializers.SerializerMethodField(
        help_text="The same in a sentence for a reader; none if nothing is missing."
    )

    @extend_schema_field(GapSerializer(many=True))
    def get_gaps(self, hit: Hit) -> Any:
        return GapSerializer(remarks.near(hit.gaps, hit.locator)[:MOST_GAPS], many=True).data

    def get_otherGaps(self, hit: Hit) -> int:
        return len(hit.gaps) - len(remarks.near(hit.gaps, hit.locator))

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_notices(self, hit: Hit) -> list[str]:
        return remarks.near_words(hit.gaps, hit.locator)


class NoticeSerializer(serializers.Serializer[Notice]):
    code = serializers.CharField()
    message = serializers.CharField()
    documentId = serializers.UUIDField(source="document_id", allow_null=True)


class AnswerSerializer(serializers.Serializer[Answer]):
    hits = HitSerializer(many=True)
    pipeline = serializers.CharField()
    notices = NoticeSerializer(many=True)
    tookMs = serializers.FloatField(source="took_ms")
