"""What every view of the API does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.parsing import StrictJSONParser, refuse_oversized

HEARD_ELSEWHERE = {"csrfmiddlewaretoken", "format"}  # in a form or query: by the session's check, by `JsonOnly`


class JsonOnly(DefaultContentNegotiation):
    """`?format=json` is what there is; another one is told so, instead of “not found”."""

    def filter_renderers(self, renderers: Iterable[BaseRenderer], format: str) -> list[BaseRenderer]:
        found = [renderer for renderer in renderers if renderer.format == format]
        if not found:
            raise NotAcceptable(_("Answers are JSON: leave `format` out, or send format=json."))
        return found


class ApiView(APIView):
    parser_classes = [StrictJSONParser]
    content_negotiation_class = JsonOnly

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Before the session's CSRF check, which reads the whole form.
        refuse_oversized(request)
        super().initial(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        # What is searchable, and for whom, changes by itself: an answer is true when it is given.
        response.headers.setdefault("Cache-Control", "no-store")
        return response


class RequestSerializer(serializers.Serializer[Any]):
    """What a caller sends. A field that is not known is refused: a misspelt one must not be taken for one left out."""

    def to_internal_value(self, data: Any) -> Any:
        known = set(self.fields) | (HEARD_ELSEWHERE if isinstance(data, QueryDict) else set())
        unknown = sorted(set(data) - known) if isinstance(data, Mapping) else []
        if unknown:
            raise serializers.ValidationError(
                {name: _("There is no such field; nothing was changed.") for name in unknown}
            )
        return super().to_internal_value(data)


class NoFields(RequestSerializer):
    """The body of a call that takes none."""


def valid(kind: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """`data` as `kind` understands it. Raises DRF's ValidationError."""
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    checked: dict[str, Any] = serializer.validated_data
    return checked


def answer(kind: type[serializers.Serializer[Any]], found: Any, **options: Any) -> Response:
    """`found` as `kind` shows it."""
    return Response(kind(found).data, **options)
