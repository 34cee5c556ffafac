"""`Idempotency-Key`: a POST that is sent twice is carried out once, and both get the same answer.

A record is made and committed first, so that a repetition sees that the first request runs. The command and its answer
are then written in one transaction: after a crash either both are there or neither is. `created_at` doubles as the
record's fencing token: whoever finds a request that must have crashed takes the record over by renewing it, and the answer
of the one who is late is refused together with its command.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.api.problems import MEDIA_TYPE
from documents.errors import InvalidInput, KeyReused, StillRunning
from documents.models import IdempotencyRecord

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEPT_HEADERS = ("Location", "Retry-After")
CRASHED_AFTER = timedelta(minutes=5)  # longer than any command; an upload is read before its record is made
KEY = re.compile(r"[\x21-\x7e]{1,255}")

Handler = Callable[..., Response]


def idempotent(*, before: Callable[..., Any] | None = None, atomic: bool = True) -> Callable[[Handler], Handler]:
    """Make a view's `post` honour the header.

    `before` (view, request, **arguments of the address) runs outside the transaction and hands its result to the command as
    `prepared`: for what must be there after a rollback too, such as the row of a staged file. `atomic=False` is for
    work that may not run in a transaction and harms nobody when a crash makes it run twice.
    """

    def decorate(handler: Handler) -> Handler:
        @functools.wraps(handler)
        def post(view: APIView, request: Request, **arguments: Any) -> Response:
            key = _key_of(request)
            record = _begin(request, key) if key is not None else None
            if record is not None and record.status is not None:
                return _repeat(record)
            try:
                prepared = {} if before is None else {"prepared": before(view, request, **arguments)}
                with _transaction(atomic):
                    response = handler(view, request, **prepared, **arguments)
                    if record is not None and not _keep(record, response) and atomic:
                        raise StillRunning  # taken over: our command is rolled back, the other one's stands
            except Exception as error:
                response = view.handle_exception(error)
                if record is not None:
                    _keep(record, response) if response.status_code < 500 else _forget(record)
            return response

        return post

    return decorate


def old_records() -> QuerySet[IdempotencyRecord]:
    """Records that are kept no longer."""
    return IdempotencyRecord.objects.filter(created_at__lt=_oldest_kept())


def sweep(*, batch: int = 1000, stop: Callable[[], bool] = lambda: False) -> int:
    """Remove old records, `batch` in a transaction, until `stop` says so; return how many."""
    swept = 0
    while not stop() and (some := list(old_records().values_list("pk", flat=True)[:batch])):
        swept += IdempotencyRecord.objects.filter(pk__in=some).delete()[0]
    return swept


def _key_of(request: Request) -> str | None:
    key = request.headers.get(HEADER)
    if key is not None and not KEY.fullmatch(key):
        raise InvalidInput(_("An Idempotency-Key has 1 to 255 visible ASCII characters; nothing was changed."))
    return key


def _begin(request: Request, key: str) -> IdempotencyRecord:
    """This request's own record (without a status), or the one with the answer to repeat.

    Raises `KeyReused`, or `StillRunning` while somebody else works on the first request. Committed on return: two that come
    at once meet at the unique constraint, and one of them inserts.
    """
    digest = _digest(request)
    assert request.user.pk is not None, "every call needs somebody"
    mine = IdempotencyRecord.objects.filter(user=request.user.pk, key=key)
    mine.filter(created_at__lt=_oldest_kept()).delete()
    try:
        record, made = mine.get_or_create(user_id=request.user.pk, key=key, defaults={"request_digest": digest})
    except IntegrityError:
        raise StillRunning from None  # the other request ended with a 5xx and forgot the record while we looked for it
    if made:
        return record
    if record.request_digest != digest:
        raise KeyReused
    if record.status is None:
        _take_over(record)
    return record


def _take_over(record: IdempotencyRecord) -> None:
    """Make the record of a request that must have crashed this request's own. Raises `StillRunning`."""
    now = timezone.now()
    if record.created_at > now - CRASHED_AFTER or not _unanswered(record).update(created_at=now):
        raise StillRunning
    record.created_at = now


def _digest(request: Request) -> str:
    """Of everything that makes the request what it is; a file counts by its bytes."""
    fields = {name: value for name, value in _items(request.data) if not isinstance(value, UploadedFile)}
    files = {name: (value.name, _file_digest(value)) for name, value in _items(request.FILES)}
    whole = [request.method, request.get_full_path(), request.headers.get("If-Match"), fields, files]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _items(data: Any) -> list[tuple[str, Any]]:
    if hasattr(data, "lists"):  # a form: each name may stand several times, the last one counts
        return [(name, values[-1]) for name, values in data.lists() if values]
    return list(data.items()) if isinstance(data, dict) else [("", data)]


def _file_digest(file: UploadedFile[Any]) -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def _transaction(atomic: bool) -> AbstractContextManager[Any]:
    return transaction.atomic() if atomic else nullcontext()


def _unanswered(record: IdempotencyRecord) -> Any:
    """The record, as long as it is without an answer and belongs to the request that holds this copy of it."""
    return IdempotencyRecord.objects.filter(pk=record.pk, status=None, created_at=record.created_at)


def _keep(record: IdempotencyRecord, response: Response) -> bool:
    """Store the answer; False if somebody took the record over in the meantime."""
    headers = {name: response[name] for name in KEPT_HEADERS if name in response}
    body = json.loads(JSONRenderer().render(response.data) or b"null")
    return bool(_unanswered(record).update(status=response.status_code, body=body, headers=headers))


def _forget(record: IdempotencyRecord) -> None:
    """An answer of the 500s says nothing about the command: the next request with this key is a first one."""
    _unanswered(record).delete()


def _repeat(record: IdempotencyRecord) -> Response:
    assert record.status is not None, "only an answered request is repeated"
    return Response(
        record.body,
        status=record.status,
        headers={**record.headers, REPLAYED: "true"},
        content_type=MEDIA_TYPE if record.status >= 400 else None,
    )


def _oldest_kept() -> datetime:
    return timezone.now() - timedelta(seconds=settings.KB_IDEMPOTENCY_SECONDS)
