"""The calls on audit holds: place one, see those of a document, lift one. For operators; editors may look."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from documents import holds
from documents.api.base import ApiView, NoFields, RequestSerializer, answer, valid
from documents.api.idempotency import idempotent
from documents.api.serializers import counter
from documents.hold_models import Hold


class NewHoldSerializer(RequestSerializer):
    # An empty reason is the service's to refuse.
    reason = serializers.CharField(allow_blank=True, help_text="Why it must stay, for whoever looks later.")
    versionNumber = counter(required=False, allow_null=True, help_text="Omitted: every version, those to come too.")


class HoldSerializer(serializers.Serializer[Hold]):
    holdId = serializers.IntegerField(source="pk")
    documentId = serializers.UUIDField(source="document_id")
    versionNumber = counter(source="version_number", allow_null=True)
    reason = serializers.CharField()
    placedBy = serializers.CharField(source="placed_by_name")
    placedAt = serializers.DateTimeField(source="placed_at")
    liftedBy = serializers.SerializerMethodField()
    liftedAt = serializers.DateTimeField(source="lifted_at", allow_null=True, help_text="null while it lasts")

    def get_liftedBy(self, hold: Hold) -> str | None:
        return hold.lifted_by_name or None


class HoldListSerializer(serializers.Serializer[Any]):
    holds = HoldSerializer(many=True)


class HoldsView(ApiView):
    @extend_schema(summary="Audit holds of a document, newest first", responses=HoldListSerializer)
    def get(self, request: Request, document_id: uuid.UUID) -> Response:
        found = holds.holds_of(actor=request.user, document_id=document_id)
        return answer(HoldListSerializer, {"holds": found})

    @extend_schema(
        summary="Keep a document, or one version, from being removed by any rule; for operators",
        request=NewHoldSerializer,
        responses={201: HoldSerializer},
    )
    @idempotent()
    def post(self, request: Request, document_id: uuid.UUID) -> Response:
        data = valid(NewHoldSerializer, request.data)
        hold = holds.place_hold(
            actor=request.user,
            document_id=document_id,
            reason=data["reason"],
            version_number=data.get("versionNumber"),
        )
        location = reverse("document-holds", args=[document_id])
        return answer(HoldSerializer, hold, status=201, headers={"Location": location})


class LiftView(ApiView):
    @extend_schema(summary="End an audit hold; for operators", request=None, responses=HoldSerializer)
    @idempotent()
    def post(self, request: Request, hold_id: int) -> Response:
        valid(NoFields, request.data)
        return answer(HoldSerializer, holds.lift_hold(actor=request.user, hold_id=hold_id))
