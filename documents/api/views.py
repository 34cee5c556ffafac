"""The document calls. Each one reads its request, calls one service and shows the result; no rule of the business is here."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from documents import catalog, content, publishing, uploading
from documents.api.base import ApiView, NoFields, answer, valid
from documents.api.idempotency import idempotent
from documents.api.parsing import optional_revision_of, revision_of
from documents.api.schema import IF_MATCH
from documents.api.serializers import (
    CurrentReadersSerializer,
    DocumentDetailSerializer,
    DocumentPageSerializer,
    DocumentQuerySerializer,
    FreshnessContractSerializer,
    NewDocumentSerializer,
    NewVersionSerializer,
    PublishedSerializer,
    PublishSerializer,
    ReadersSerializer,
    RestoreSerializer,
    RevisedSerializer,
    VersionCreatedSerializer,
    VersionListSerializer,
    readers_from,
)
from documents.models import Document, DocumentVersion
from documents.ports import IndexState

POLL_AFTER = "2"  # seconds


def _stage_first(view: ApiView, request: Request) -> uploading.Upload:
    data = valid(NewDocumentSerializer, request.data)
    return uploading.stage_first(
        actor=request.user,
        tenant=data["tenant"],
        title=data["title"],
        data=data["file"].read(),
        file_name=data["file"].name,
    )


def _stage_next(view: ApiView, request: Request, document_id: uuid.UUID) -> tuple[uploading.Upload, int]:
    data = valid(NewVersionSerializer, request.data)
    revision = revision_of(request, data.get("revision"))
    upload = uploading.stage_next(
        actor=request.user,
        document_id=document_id,
        revision=revision,
        data=data["file"].read(),
        file_name=data["file"].name,
        title=data.get("title"),
    )
    return upload, revision


class DocumentsView(ApiView):
    parser_classes = [MultiPartParser]

    @extend_schema(
        summary="Documents of a tenant, newest first",
        operation_id="documents_list",
        parameters=[DocumentQuerySerializer],
        responses=DocumentPageSerializer,
    )
    def get(self, request: Request) -> Response:
        query = valid(DocumentQuerySerializer, request.query_params)
        page, cursor = catalog.list_documents(
            actor=request.user,
            tenant=query["tenant"],
            state=IndexState(query["state"]) if "state" in query else None,
            limit=query["limit"],
            cursor=query["cursor"],
        )
        return answer(DocumentPageSerializer, {"documents": page, "nextCursor": cursor or None})

    @extend_schema(
        summary="A new document with its first version, not yet published",
        request={"multipart/form-data": NewDocumentSerializer},
        responses={201: VersionCreatedSerializer},
    )
    @idempotent(before=_stage_first)
    def post(self, request: Request, prepared: uploading.Upload) -> Response:
        return _created(uploading.create_from(actor=request.user, upload=prepared))


class DocumentView(ApiView):
    @extend_schema(summary="What is published and what is searchable", responses=DocumentDetailSerializer)
    def get(self, request: Request, document_id: uuid.UUID) -> Response:
        return _state(request, document_id)

    @extend_schema(summary="Delete: invisible before the answer is sent", parameters=[IF_MATCH], responses={204: None})
    def delete(self, request: Request, document_id: uuid.UUID) -> Response:
        valid(NoFields, request.data)  # a revision in the body would go unheard
        revision = optional_revision_of(request)
        publishing.delete_document(actor=request.user, document_id=document_id, revision=revision)
        return Response(status=204)


class VersionsView(ApiView):
    parser_classes = [MultiPartParser]

    @extend_schema(summary="All versions, for editors and operators", responses=VersionListSerializer)
    def get(self, request: Request, document_id: uuid.UUID) -> Response:
        versions = catalog.versions_of(actor=request.user, document_id=document_id)
        return answer(VersionListSerializer, {"versions": versions})

    @extend_schema(
        summary="A new version, not yet published; what readers see does not change",
        parameters=[IF_MATCH],
        request={"multipart/form-data": NewVersionSerializer},
        responses={201: VersionCreatedSerializer},
    )
    @idempotent(before=_stage_next)
    def post(self, request: Request, document_id: uuid.UUID, prepared: tuple[uploading.Upload, int]) -> Response:
        upload, revision = prepared
        version = uploading.add_from(actor=request.user, document_id=document_id, revision=revision, upload=upload)
        return _created(version)


class ContentView(ApiView):
    @extend_schema(
        summary="The original file of a version",
        responses={(200, "*/*"): OpenApiResponse(OpenApiTypes.BINARY, description="The bytes as uploaded")},
    )
    def get(self, request: Request, document_id: uuid.UUID, version_number: int) -> HttpResponse:
        version = catalog.original(actor=request.user, document_id=document_id, version_number=version_number)
        response = HttpResponse(content.read(version.content), content_type=version.media_type)
        # Somebody else's HTML must not run with our origin: never shown in place, and powerless if it is anyway.
        response["Content-Disposition"] = content_disposition_header(True, version.file_name) or "attachment"
        response["X-Content-Type-Options"] = "nosniff"
        response["Content-Security-Policy"] = "sandbox; default-src 'none'"
        return response


class PublishView(ApiView):
    @extend_schema(
        summary="Bring a version into force and order its indexing",
        parameters=[IF_MATCH],
        request=PublishSerializer,
        responses={202: PublishedSerializer},
    )
    @idempotent()
    def post(self, request: Request, document_id: uuid.UUID) -> Response:
        data = valid(PublishSerializer, request.data)
        published = publishing.publish_version(
            actor=request.user,
            document_id=document_id,
            revision=revision_of(request, data.get("revision")),
            version_number=data.get("versionNumber"),
            readers=readers_from(data["readers"]) if "readers" in data else None,
        )
        location = reverse("index-task", args=[published.ticket.task_id])
        return answer(
            PublishedSerializer, published, status=202, headers={"Location": location, "Retry-After": POLL_AFTER}
        )


class ReadersView(ApiView):
    @extend_schema(summary="Who may read, for editors and operators", responses=CurrentReadersSerializer)
    def get(self, request: Request, document_id: uuid.UUID) -> Response:
        document = catalog.overseen_document(actor=request.user, document_id=document_id)
        current = {
            "versionNumber": document.requested_version,
            "revision": document.revision,
            "readers": _readers(request, document) or [],
        }
        return answer(CurrentReadersSerializer, current, headers=_etag(document))

    @extend_schema(
        summary="Replace the readers; whoever is taken off finds nothing from the next query on",
        parameters=[IF_MATCH],
        request=ReadersSerializer,
        responses=DocumentDetailSerializer,
    )
    def put(self, request: Request, document_id: uuid.UUID) -> Response:
        data = valid(ReadersSerializer, request.data)
        publishing.set_readers(
            actor=request.user,
            document_id=document_id,
            revision=revision_of(request, data.get("revision")),
            readers=readers_from(data["readers"]),
            version_number=data.get("versionNumber"),
        )
        return _state(request, document_id)


class FreshnessView(ApiView):
    @extend_schema(
        summary="What readers get while a new version is indexed, and for how long at most",
        parameters=[IF_MATCH],
        request=FreshnessContractSerializer,
        responses=DocumentDetailSerializer,
    )
    def put(self, request: Request, document_id: uuid.UUID) -> Response:
        data = valid(FreshnessContractSerializer, request.data)
        publishing.set_staleness(
            actor=request.user,
            document_id=document_id,
            revision=revision_of(request, data.get("revision")),
            staleness=data["policy"],
            max_seconds=data["maxStalenessSeconds"],
            past_maximum=data["pastMaximum"],
        )
        return _state(request, document_id)


class RestoreView(ApiView):
    @extend_schema(
        summary="A new version with the bytes of an old one, not yet published",
        parameters=[IF_MATCH],
        request=RestoreSerializer,
        responses={201: VersionCreatedSerializer},
    )
    @idempotent()
    def post(self, request: Request, document_id: uuid.UUID) -> Response:
        data = valid(RestoreSerializer, request.data)
        version = uploading.restore_version(
            actor=request.user,
            document_id=document_id,
            revision=revision_of(request, data.get("revision")),
            version_number=data["versionNumber"],
        )
        return _created(version)


class WithdrawView(ApiView):
    @extend_schema(
        summary="Show readers nothing until the next publish",
        parameters=[IF_MATCH],
        request=RevisedSerializer,
        responses=DocumentDetailSerializer,
    )
    @idempotent()
    def post(self, request: Request, document_id: uuid.UUID) -> Response:
        data = valid(RevisedSerializer, request.data)
        revision = revision_of(request, data.get("revision"))
        publishing.withdraw_document(actor=request.user, document_id=document_id, revision=revision)
        return _state(request, document_id)


def _created(version: DocumentVersion) -> Response:
    headers = {"Location": reverse("document", args=[version.document_id])}
    return answer(VersionCreatedSerializer, version, status=201, headers=headers)


def _state(request: Request, document_id: uuid.UUID) -> Response:
    document: Any = catalog.document_with_state(actor=request.user, document_id=document_id)
    document.readers = _readers(request, document)
    return answer(DocumentDetailSerializer, document, headers=_etag(document))


def _readers(request: Request, document: Document) -> list[dict[str, str]] | None:
    readers = catalog.readers_shown(actor=request.user, document=document)
    return None if readers is None else [reader.as_json() for reader in readers]


def _etag(document: Document) -> dict[str, str]:
    """What If-Match wants to see again."""
    return {"ETag": f'"{document.revision}"'}
