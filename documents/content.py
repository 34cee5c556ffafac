"""Originals: checked before anything is kept, stored under generated keys, staged first and confirmed with their version."""

from __future__ import annotations

import hashlib
import logging
import unicodedata
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import PurePosixPath

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from documents import media_types
from documents.errors import FileTooLarge, Incomplete, InvalidInput, StorageFailed, UnsupportedMediaType
from documents.locks import ensure_no_transaction
from documents.models import DocumentVersion, StoredContent, Tenant

logger = logging.getLogger(__name__)

_State = StoredContent.State

MAX_NAME = 255  # characters
MAX_TITLE = 300
_LOOKED_AT = 3_000  # characters: normalising takes a time that grows with the square of what combines into one


def clean_file_name(name: str) -> str:
    """The last part of a path, without control characters, at most `MAX_NAME` characters, its extension kept."""
    name = name[-_LOOKED_AT:].replace("\\", "/").encode("utf-8", "ignore").decode()
    name = unicodedata.normalize("NFC", name)
    name = PurePosixPath(name).name
    name = "".join(character for character in name if unicodedata.category(character)[0] != "C").strip()
    if not name or name in {".", ".."}:
        raise InvalidInput(_("The file has no name; nothing was stored. Give it a name and upload it again."))
    if len(name) > MAX_NAME:
        suffix = PurePosixPath(name).suffix[:20]
        name = name[: MAX_NAME - len(suffix)] + suffix
    return name


def title_of(file_name: str) -> str:
    """The title of a document that nobody gave one: its file's name without the extension. Raises `InvalidInput` for a file
    without a name."""
    return clean_title(PurePosixPath(clean_file_name(file_name)).stem)


def clean_title(title: str) -> str:
    """A title in one line. Raises `InvalidInput` if nothing is left or it is too long."""
    title = title.encode("utf-8", "ignore").decode()
    title = "".join(" " if unicodedata.category(character)[0] == "C" else character for character in title)
    title = " ".join(title.split())
    if len(title) <= _LOOKED_AT:
        title = " ".join(unicodedata.normalize("NFC", title).split())
    if not title:
        raise InvalidInput(_("The title is empty; nothing was changed. Enter a title."))
    if len(title) > MAX_TITLE:
        raise InvalidInput(_("The title is longer than 300 characters; nothing was changed. Shorten it."))
    return title


def stage(*, tenant: Tenant, content: bytes, file_name: str) -> StoredContent:
    """Check and store the bytes of an upload; it becomes permanent only with `confirm`.

    Raises what `check` raises, or `StorageFailed`; nothing is kept then.
    """
    media_type = check(content=content, file_name=file_name)
    key = f"tenant-{tenant.pk}/{uuid.uuid4()}"
    # The row first: a crash between the two leaves a row that the sweep finds, never a file that nobody knows of.
    row = StoredContent.objects.create(
        tenant=tenant, key=key, sha256=hashlib.sha256(content).hexdigest(), size=len(content), media_type=media_type
    )
    ensure_no_transaction()
    try:
        saved = default_storage.save(key, ContentFile(content))
    except OSError as error:
        raise StorageFailed from error
    assert saved == key, "generated keys never collide"
    if not StoredContent.objects.filter(pk=row.pk, state=_State.STAGED).exists():
        # It was swept before its file was there: nobody else would remove that.
        with suppress(OSError):
            default_storage.delete(key)
        raise _swept()
    return row


def check(*, content: bytes, file_name: str) -> str:
    """The media type of an upload. Raises `InvalidInput`, `FileTooLarge` or `UnsupportedMediaType`."""
    if not content:
        raise InvalidInput(_("The file is empty; nothing was stored. Choose a file with content."))
    if len(content) > settings.KB_MAX_UPLOAD_BYTES:
        limit = settings.KB_MAX_UPLOAD_BYTES / 1024 / 1024
        raise FileTooLarge(
            _("The file is over the limit of %(limit)s MiB; nothing was stored. Split it and upload the parts.")
            % {"limit": f"{limit:.0f}"}
        )
    try:
        return media_types.detect(content, file_name)
    except media_types.UnsupportedFile as error:
        reason = " ".join(_(sentence) % error.parts for sentence in error.sentences)
        raise UnsupportedMediaType(_("%(reason)s Nothing was stored.") % {"reason": reason}) from error


def confirm(content: StoredContent) -> None:
    """Make staged bytes permanent, in the transaction that writes their version."""
    updated = StoredContent.objects.filter(pk=content.pk, state=_State.STAGED).update(state=_State.CONFIRMED)
    if not updated and not StoredContent.objects.filter(pk=content.pk, state=_State.CONFIRMED).exists():
        raise _swept()


def _swept() -> StorageFailed:
    return StorageFailed(_("The upload took so long that it was swept; nothing was changed. Upload the file again."))


def read(content: StoredContent) -> bytes:
    """The stored bytes. Raises `StorageFailed` if they cannot be read or are not the ones that were stored."""
    ensure_no_transaction()
    try:
        with default_storage.open(content.key, "rb") as file:
            data: bytes = file.read()
    except OSError as error:
        raise StorageFailed(_("The stored file could not be read.")) from error
    if hashlib.sha256(data).hexdigest() != content.sha256:
        raise StorageFailed(_("The stored file is not the one that was uploaded."))
    return data


def orphans() -> QuerySet[StoredContent]:
    """Uploads that were staged and never confirmed within the grace period."""
    before = timezone.now() - timedelta(seconds=settings.KB_UPLOAD_GRACE_SECONDS)
    used = DocumentVersion.objects.filter(content=OuterRef("pk"))
    return StoredContent.objects.filter(~Exists(used), state=_State.STAGED, created_at__lt=before)


def marked() -> QuerySet[StoredContent]:
    """What is to be removed already: orphans, and bytes whose versions are gone."""
    return StoredContent.objects.filter(state=_State.DELETING)


def sweep(*, batch: int = 500, stop: Callable[[], bool] = lambda: False) -> int:
    """Remove orphans and what was abandoned; return how many. `stop` is asked between two transactions.

    A file that the storage does not remove stays marked for the next sweep: `Incomplete` is raised at the end, with how many
    were `removed`.
    """
    while not stop() and _mark(orphans(), batch):
        pass
    removed, failed, last = 0, 0, 0
    while not stop() and (some := list(marked().filter(pk__gt=last).order_by("pk")[:batch])):
        done = sum(_remove(row) for row in some)
        removed, failed, last = removed + done, failed + len(some) - done, some[-1].pk
        if not done and len(some) == batch:
            break  # it is the storage, not the files
    if failed:
        sentence = _("The storage did not remove %(count)d files; the next sweep tries again.") % {"count": failed}
        raise Incomplete(sentence, removed=removed)
    return removed


def abandon(content_ids: list[int]) -> None:
    """Mark bytes whose versions are gone for removal, in the transaction that removed them: a crash before the file is gone
    leaves none that nobody knows of."""
    StoredContent.objects.filter(pk__in=content_ids, versions=None).update(state=_State.DELETING)


def remove_abandoned(content_ids: list[int]) -> None:
    """Remove abandoned bytes at once; what the storage keeps, the sweep tries again."""
    for row in StoredContent.objects.filter(pk__in=content_ids, state=_State.DELETING):
        _remove(row)


def _mark(orphans: QuerySet[StoredContent], batch: int) -> int:
    """Mark some for removal; return how many. One that is being confirmed right now is passed over."""
    with transaction.atomic():
        some = list(orphans.select_for_update(skip_locked=True).values_list("pk", flat=True)[:batch])
        return StoredContent.objects.filter(pk__in=some).update(state=_State.DELETING)


def _remove(row: StoredContent) -> bool:
    """The file of a marked row, then the row. False if the storage refuses. Two sweeps may do this at once."""
    ensure_no_transaction()
    try:
        default_storage.delete(row.key)
    except OSError:
        logger.exception("stored content %s could not be removed", row.pk)
        return False
    StoredContent.objects.filter(pk=row.pk, state=_State.DELETING).delete()
    return True
