"""The calls of external systems: conditional writes, one by one and in batches. The rules are in `documents.sources`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from documents import sources
from documents.api.base import ApiView, answer, valid
from documents.api.idempotency import idempotent
from documents.api.parsing import NdjsonParser, StrictJSONParser, json_of
from documents.api.serializers import readers_from
from documents.api.source_serializers import (
    AppliedSerializer,
    BatchSerializer,
    ClockSerializer,
    EntrySerializer,
    FormWriteSerializer,
    NewSourceSerializer,
    RowSerializer,
    SourceListSerializer,
    SourceQuerySerializer,
    SourceSerializer,
    write_of_row,
)
from documents.api.views import POLL_AFTER
from documents.conditional import Outcome
from documents.errors import Conflict, DocumentsError, InvalidInput, StorageFailed
from documents.source_models import Source
from documents.sources import Applied, Write

MOST_ROWS = 10_000
_BODY_OF_ROW = OpenApiParameter(
    "key", OpenApiTypes.STR, OpenApiParameter.PATH, description="The source's own name of it."
)


class SourcesView(ApiView):
    @extend_schema(
        summary="The sources of a tenant", parameters=[SourceQuerySerializer], responses=SourceListSerializer
    )
    def get(self, request: Request) -> Response:
        query = valid(SourceQuerySerializer, request.query_params)
        return answer(SourceListSerializer, {"sources": sources.sources_of(actor=request.user, tenant=query["tenant"])})

    @extend_schema(
        summary="An external system that will write documents; the same again if it is there",
        request=NewSourceSerializer,
        responses={201: SourceSerializer},
    )
    @idempotent()
    def post(self, request: Request) -> Response:
        data = valid(NewSourceSerializer, request.data)
        source = sources.create_source(
            actor=request.user,
            tenant=data["tenant"],
            name=data["name"],
            clock=data["clock"],
            readers=readers_from(data["readers"]),
        )
        return answer(SourceSerializer, source, status=201)


class EntryView(ApiView):
    parser_classes = [StrictJSONParser, MultiPartParser]

    @extend_schema(
        summary="What a source wrote last of one document", parameters=[_BODY_OF_ROW], responses=EntrySerializer
    )
    def get(self, request: Request, source_id: int, key: str) -> Response:
        return answer(EntrySerializer, sources.entry_of(actor=request.user, source_id=source_id, key=key))

    @extend_schema(
        summary="Write and publish a document if this is the newest that the source says of it",
        parameters=[_BODY_OF_ROW],
        request={"multipart/form-data": FormWriteSerializer, "application/json": RowSerializer},
        responses={200: AppliedSerializer, 202: AppliedSerializer},
    )
    def put(self, request: Request, source_id: int, key: str) -> Response:
        source = sources.source_of(actor=request.user, source_id=source_id)
        write = (
            _form_write(request, key) if request.content_type.startswith("multipart/") else _json_write(request, key)
        )
        return _answer(sources.apply(actor=request.user, source=source, write=write))

    @extend_schema(
        summary="Delete a document if this is the newest that the source says of it",
        parameters=[_BODY_OF_ROW, ClockSerializer],
        responses={200: AppliedSerializer},
    )
    def delete(self, request: Request, source_id: int, key: str) -> Response:
        source = sources.source_of(actor=request.user, source_id=source_id)
        clock = valid(ClockSerializer, request.query_params)
        write = Write(key, updated_at=clock.get("sourceUpdatedAt"), epoch=clock.get("versionEpoch"))
        return _answer(sources.apply(actor=request.user, source=source, write=write))


class BatchesView(ApiView):
    parser_classes = [NdjsonParser]

    @extend_schema(
        summary="Many writes, a JSON object a line, each on its own: one bad row does not sink the others",
        request={"application/x-ndjson": RowSerializer},
        responses=BatchSerializer,
    )
    @idempotent(atomic=False)
    def post(self, request: Request, source_id: int) -> Response:
        source = sources.source_of(actor=request.user, source_id=source_id)
        lines: Any = request.data
        if len(lines) > MOST_ROWS:
            sentence = _("A batch has at most %(limit)s rows; nothing was changed. Split it and send the parts.")
            raise InvalidInput(sentence % {"limit": f"{MOST_ROWS:,}"})
        rows = [_apply_row(request, source, number, line) for number, line in lines]
        counts = Counter(row["outcome"] for row in rows)
        return answer(BatchSerializer, {"counts": {one.value: counts[one] for one in Outcome}, "rows": rows})


def _form_write(request: Request, key: str) -> Write:
    data = valid(FormWriteSerializer, request.data)
    return Write(
        key,
        updated_at=data.get("sourceUpdatedAt"),
        epoch=data.get("versionEpoch"),
        data=data["file"].read(),
        file_name=data["file"].name,
        title=data.get("title", ""),
        readers=readers_from(data["readers"]) if "readers" in data else None,
    )


def _json_write(request: Request, key: str) -> Write:
    body = request.data if isinstance(request.data, dict) else {}
    if body.get("key", key) != key:
        raise InvalidInput(_("The body and the address name different keys; nothing was changed."))
    return write_of_row(valid(RowSerializer, {**body, "key": key}))


def _apply_row(request: Request, source: Source, number: int, line: str) -> dict[str, Any]:
    """Its outcome, whatever becomes of it; only an outage ends the batch, and what was done stays done."""
    key = None
    try:
        data = json_of(line)
        key = data.get("key") if isinstance(data, dict) and isinstance(data.get("key"), str) else None
        applied = sources.apply(actor=request.user, source=source, write=write_of_row(valid(RowSerializer, data)))
    except StorageFailed:
        raise
    except DocumentsError as error:
        return _row(number, key, Outcome.INVALID, reason=error.message)
    except ValidationError as error:
        return _row(number, key, Outcome.INVALID, reason=_sentences(error.detail))
    except APIException as error:
        return _row(number, key, Outcome.INVALID, reason=str(error.detail))
    entry, published = applied.entry, applied.published
    return _row(
        number,
        key,
        applied.outcome,
        reason=applied.reason,
        documentId=entry.document_id if entry else None,
        versionNumber=published.version_number if published else None,
    )


def _row(number: int, key: str | None, outcome: Outcome, *, reason: str, **more: Any) -> dict[str, Any]:
    ids = {"documentId": None, "versionNumber": None}
    return {"line": number, "key": key, "outcome": outcome.value, "reason": reason, **ids, **more}


def _sentences(detail: Any) -> str:
    """“title: It is empty.”"""
    if isinstance(detail, dict):
        return " ".join(f"{name}: {_sentences(value)}" for name, value in detail.items())
    return " ".join(map(_sentences, detail)) if isinstance(detail, list) else str(detail)


def _answer(applied: Applied) -> Response:
    if applied.outcome is Outcome.CONFLICT:
        raise Conflict(applied.reason)
    if applied.published is None:
        return answer(AppliedSerializer, applied)
    location = reverse("index-task", args=[applied.published.ticket.task_id])
    return answer(AppliedSerializer, applied, status=202, headers={"Location": location, "Retry-After": POLL_AFTER})
