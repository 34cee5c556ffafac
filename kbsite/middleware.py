"""What a person meets where there is nothing to be seen."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.views.defaults import page_not_found


class NotFoundMiddleware:
    """A view's “not found” is an expected answer, with the site's own page under KB_DEBUG too. An address that no view has is
    left to Django, whose page for developers lists those there are."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return page_not_found(request, exception) if isinstance(exception, Http404) else None
