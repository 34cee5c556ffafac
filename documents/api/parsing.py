"""What is understood of a request before any service sees it: its size, its JSON and the revision it was made with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.request import Request

from documents.errors import FileTooLarge, InvalidInput

ENVELOPE = 1024 * 1024  # bytes of a multipart body beside the file: boundaries, headers, the other fields
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates: no text in PostgreSQL or UTF-8
IF_MATCH = re.compile(r'"(\d{1,10})"')


class StrictJSONParser(JSONParser):
    """JSON whose text can be stored and whose depth can be read."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
            _refuse_unstorable(data)
        except RecursionError:
            raise ParseError(_("The JSON is nested too deeply.")) from None
        return data


class NdjsonParser(BaseParser):
    """One JSON value a line: the lines as they are, empty ones left out, each with its number. A bad one spoils no other."""

    media_type = "application/x-ndjson"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            lines = stream.read().decode("utf-8-sig").split("\n")
        except UnicodeDecodeError:
            raise ParseError(_("The batch is not UTF-8; nothing was changed.")) from None
        return [(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def json_of(line: str) -> Any:
    """One JSON value, as `StrictJSONParser` takes it. Raises DRF's `ParseError`."""
    try:
        data = json.loads(line, parse_constant=_refuse_constant)
        _refuse_unstorable(data)
    except RecursionError:
        raise ParseError(_("The JSON is nested too deeply.")) from None
    except ValueError as error:
        raise ParseError(_("This is not JSON: %(reason)s.") % {"reason": error}) from None
    return data


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _refuse_unstorable(data: Any) -> None:
    if isinstance(data, dict):
        for name, value in data.items():
            _refuse_unstorable(name)
            _refuse_unstorable(value)
    elif isinstance(data, list):
        for value in data:
            _refuse_unstorable(value)
    elif isinstance(data, str) and UNSTORABLE.search(data):
        raise ParseError(_("The JSON contains a NUL character or half of a surrogate pair, which is no text."))


def refuse_oversized(request: Request) -> None:
    """Refuse by the announced length, before a byte of the body is read: a body without one is taken for empty, and
    nothing is read beyond the length announced. The file itself is measured again when it is stored."""
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    if (request.content_type or "").startswith(("multipart/", NdjsonParser.media_type)):
        limit = settings.KB_MAX_UPLOAD_BYTES + ENVELOPE
    else:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or ENVELOPE
    if length > limit:
        sentence = _("The request is over the limit of %(limit)s MiB; nothing was stored. Split it and send the parts.")
        raise FileTooLarge(sentence % {"limit": limit // ENVELOPE})


def revision_of(request: Request, in_body: int | None) -> int:
    """The revision the caller had in view, from the body or `If-Match: "7"`. Raises `InvalidInput` if there is none."""
    revision = optional_revision_of(request, in_body)
    if revision is None:
        raise InvalidInput(
            _(
                "The revision is missing; nothing was changed. Send the document's revision as `revision` or as If-Match."
            )
        )
    return revision


def optional_revision_of(request: Request, in_body: int | None = None) -> int | None:
    """Like `revision_of`, for a call that may be made whatever the revision is."""
    header = request.headers.get("If-Match")
    if header is None:
        return in_body
    match = IF_MATCH.fullmatch(header.strip())
    if match is None:
        raise InvalidInput(_('If-Match carries one revision in quotation marks, such as "7"; nothing was changed.'))
    if in_body is not None and in_body != int(match[1]):
        sentence = _("The body and If-Match name different revisions, %(body)s and %(header)s; nothing was changed.")
        raise InvalidInput(sentence % {"body": in_body, "header": match[1]})
    return int(match[1])
