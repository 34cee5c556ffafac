"""What every answer carries: what its page may load, and the site's own page where there is nothing to be seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.defaults import page_not_found

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# Swagger UI sets styles on its elements and has its icons inside of its style sheet.
POLICY_OF_API_DOCS = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
    "img-src 'self'", "img-src 'self' data:"
)


class ContentSecurityPolicyMiddleware:
    """A second net behind escaping: whatever gets into a page, only the site's own scripts and styles run, and nothing is
    loaded from or sent to anywhere else. An answer may bring a policy of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Django's page for developers about an error has its styles and scripts inside.
        if not (settings.DEBUG and response.status_code in (404, 500)):
            response.headers.setdefault("Content-Security-Policy", POLICY)
        return response


def with_policy(policy: str, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """`view`, its answers with this policy."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["Content-Security-Policy"] = policy
        return response

    return answer


class NotFoundMiddleware:
    """A view's “not found” is an expected answer, with the site's own page under KB_DEBUG too. An address that no view has is
    left to Django, whose page for developers lists those there are."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return page_not_found(request, exception) if isinstance(exception, Http404) else None
