"""Every refusal of the API as `application/problem+json` (RFC 9457): type, title, status, detail, code and facts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response

from documents import errors
from documents.outages import changed_nothing, is_outage, is_unstorable

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
API_ROOT = "/api/"

STATUS: tuple[tuple[type[errors.DocumentsError], int], ...] = (  # the first that fits
    (errors.NotFound, 404),
    (errors.NotAllowed, 403),
    (errors.UnsupportedMediaType, 415),
    (errors.FileTooLarge, 413),
    (errors.InvalidInput, 400),
    (errors.Conflict, 409),
    (errors.StorageFailed, 503),
)
UNEXPECTED = _("Something went wrong here; the request was not carried out. It has been logged.")
UNREACHABLE = _("The database cannot be reached or is busy; nothing was changed. Repeat the request in a moment.")
UNCERTAIN = _(
    "The connection to the database was lost, and whether the request was carried out is not known. Look before you repeat it; "
    "with the same Idempotency-Key you may repeat it at once."
)
UNSTORABLE = _("The request contains a character or a number that cannot be stored; nothing was changed.")
RETRY_AFTER = "5"  # seconds


def problem(status: int, *, code: str, detail: str | Promise, **facts: Any) -> dict[str, Any]:
    """The body of a refusal. `code` is stable and for programs, `detail` one sentence for a person."""
    return {
        "type": f"urn:kb:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": str(detail),
        "code": code,
        **facts,
    }


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """What Django REST framework calls for whatever a view raises. A defect is logged and tells nothing of itself."""
    headers: dict[str, str] = {}
    if isinstance(error, errors.DocumentsError):
        body = _of_domain(error)
    elif isinstance(error, exceptions.APIException):
        body = _of_framework(error)
        if challenge := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = challenge
    elif isinstance(error, Http404):
        body = problem(404, code="not_found", detail=_sentence(errors.NotFound))
    elif isinstance(error, PermissionDenied):
        body = problem(403, code="not_allowed", detail=_sentence(errors.NotAllowed))
    elif isinstance(error, RequestDataTooBig):
        body = problem(413, code="request_too_large", detail=_("The request's fields are over the size limit."))
    elif isinstance(error, SuspiciousOperation):
        body = problem(400, code="invalid", detail=_sentence(errors.InvalidInput))
    elif is_outage(error):
        logger.error("%s %s: no database", *_asked(context), exc_info=error)
        body = _outage(getattr(context.get("request"), "method", None), error)
        headers["Retry-After"] = RETRY_AFTER
    elif is_unstorable(error):
        logger.warning("%s %s: a value that cannot be stored", *_asked(context), exc_info=error)
        body = problem(400, code="invalid", detail=UNSTORABLE)
    else:
        logger.error("%s %s: defect", *_asked(context), exc_info=error)
        body = problem(500, code="internal_error", detail=UNEXPECTED)
    return Response(body, status=body["status"], headers=headers, content_type=MEDIA_TYPE)


@csrf_exempt
def no_such_address(request: HttpRequest) -> HttpResponse:
    """For every address under the API's root that is none: handler404 is not asked while debugging."""
    return _plain(problem(404, code="not_found", detail=_("There is nothing at this address.")))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400 of the project: a problem under the API's root, Django's page elsewhere."""
    if not is_api(request):
        return defaults.bad_request(request, exception)
    return _plain(problem(400, code="invalid", detail=_sentence(errors.InvalidInput)))


def server_error(request: HttpRequest) -> HttpResponse:
    """For what fails outside the API's views, such as a middleware."""
    return _plain(problem(500, code="internal_error", detail=UNEXPECTED))


def unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    """For an outage outside the API's views."""
    response = _plain(_outage(request.method, error))
    response["Retry-After"] = RETRY_AFTER
    return response


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith(API_ROOT)


def _outage(method: str | None, error: Exception) -> dict[str, Any]:
    if method in ("GET", "HEAD", "OPTIONS") or changed_nothing(error):
        return problem(503, code="unavailable", detail=UNREACHABLE)
    return problem(503, code="unavailable", detail=UNCERTAIN)


def _of_domain(error: errors.DocumentsError) -> dict[str, Any]:
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 400)
    return problem(status, code=error.code, detail=error.message, **error.facts)


def _of_framework(error: exceptions.APIException) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        fields = dict(_by_field(error.detail))
        detail = " ".join(f"{name}: {' '.join(found)}" if name else " ".join(found) for name, found in fields.items())
        return problem(400, code="invalid", detail=detail, fields=fields)
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("-", "_")
    return problem(error.status_code, code=code, detail=str(error.detail))


def _by_field(detail: Any, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Sentences by field; a nested one as `readers.0.name`, the request as a whole as the empty name."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            here = "" if name == "non_field_errors" else str(name)
            yield from _by_field(inner, ".".join(part for part in (path, here) if part))
    elif isinstance(detail, list) and any(isinstance(inner, dict | list) for inner in detail):
        for number, inner in enumerate(detail):
            yield from _by_field(inner, f"{path}.{number}" if path else str(number))
    else:
        yield path, [str(sentence) for sentence in (detail if isinstance(detail, list) else [detail])]


def _sentence(kind: type[errors.DocumentsError]) -> str:
    return kind().message


def _asked(context: dict[str, Any]) -> tuple[str, str]:
    request = context.get("request")
    return (request.method or "", request.path) if request is not None else ("", "")


def _plain(body: dict[str, Any]) -> HttpResponse:
    return JsonResponse(body, status=body["status"], content_type=MEDIA_TYPE)
