"""What a person or a program gets when a request fails on its way: a database out of reach, a value that nothing can hold.

One door for the admin, the search page and what lies outside of the views; the API's views answer through
`documents.api.problems`, with the same meaning.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views import defaults

from documents.api import problems
from documents.outages import changed_nothing, is_outage, is_unstorable

logger = logging.getLogger(__name__)


class FaultMiddleware:
    """Answers what a view, or the template that it returned, fails with."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return _answer(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500 of the project: for what fails outside the views, such as the session in a middleware."""
    error = sys.exc_info()[1]
    answer = _answer(request, error) if isinstance(error, Exception) else None
    if answer is not None:
        return answer
    return problems.server_error(request) if problems.is_api(request) else defaults.server_error(request)


def _answer(request: HttpRequest, error: Exception) -> HttpResponse | None:
    if is_outage(error):
        logger.error("%s %s: no database: %s", request.method, request.path, str(error).strip())
        if problems.is_api(request):
            return problems.unavailable(request, error)
        return _unavailable(request, error)
    if is_unstorable(error):
        logger.warning("%s %s: a value that cannot be stored", request.method, request.path, exc_info=error)
        return problems.bad_request(request, error) if problems.is_api(request) else _unstorable()
    return None


def _unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    if request.method in ("GET", "HEAD"):
        sentence, back = _("Nothing was changed. Try again in a moment."), request.get_full_path()
    else:
        back = _where_from(request)
        if changed_nothing(error):
            sentence = _(
                "What you sent was not carried out; nothing was changed. Go back and send it again in a moment."
            )
        else:
            sentence = _(
                "The connection was lost while what you sent was being carried out, so it may have been kept or not. "
                "Go back and look before you send it again."
            )
    title = _("The database cannot be reached or is busy")
    return _page(title, sentence, status=503, back=back, headers={"Retry-After": problems.RETRY_AFTER})


def _unstorable() -> HttpResponse:
    sentence = _(
        "It contains a character or a number that cannot be stored; nothing was changed. Correct it and try again."
    )
    return _page(_("The request is not understood"), sentence, status=400)


def _where_from(request: HttpRequest) -> str:
    """The page of ours that the form was on; the address itself may take nothing but a form."""
    referer = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(referer, {request.get_host()}, require_https=request.is_secure())
    return referer if ours else ""


def _page(
    title: str, sentence: str, *, status: int, back: str = "", headers: dict[str, str] | None = None
) -> HttpResponse:
    # Without the request: its context processors would ask the database who it is from.
    text = render_to_string("fault.html", {"heading": title, "sentence": sentence, "back": back})
    return HttpResponse(text, status=status, headers={"Cache-Control": "no-store", **(headers or {})})
