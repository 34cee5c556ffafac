"""Originals: checked before anything is kept, stored under generated keys, staged first and confirmed with their version."""

from __future__ import annotations

import hashlib
import logging
import unicodedata
import uuid
from datetime import timedelta
from pathlib import PurePosixPath

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from documents import media_types
from documents.errors import FileTooLarge, InvalidInput, StorageFailed, UnsupportedMediaType
from documents.models import StoredContent, Tenant

logger = logging.getLogger(__name__)

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

    Raises `InvalidInput`, `FileTooLarge`, `UnsupportedMediaType` or `StorageFailed`; nothing is kept then.
    """
    if not content:
        raise InvalidInput(_("The file is empty; nothing was stored. Choose a file with content."))
    if len(content) > settings.KB_MAX_UPLOAD_BYTES:
        limit = settings.KB_MAX_UPLOAD_BYTES / 1024 / 1024
        raise FileTooLarge(
            _("The file is over the limit of %(limit)s MiB; nothing was stored. Split it and upload the parts.")
            % {"limit": f"{limit:.0f}"}
        )
    try:
        media_type = media_types.detect(content, file_name)
    except media_types.UnsupportedFile as error:
        reason = _(error.sentence) % error.parts
        raise UnsupportedMediaType(_("%(reason)s Nothing was stored.") % {"reason": reason}) from error
    key = f"tenant-{tenant.pk}/{uuid.uuid4()}"
    # The row first: a crash between the two leaves a row that the sweep finds, never a file that nobody knows of.
    row = StoredContent.objects.create(
        tenant=tenant, key=key, sha256=hashlib.sha256(content).hexdigest(), size=len(content), media_type=media_type
    )
    try:
        saved = default_storage.save(key, ContentFile(content))
    except OSError as error:
        raise StorageFailed from error
    assert saved == key, "generated keys never collide"
    return row


def confirm(content: StoredContent) -> None:
    """Make staged bytes permanent, in the transaction that writes their version."""
    updated = StoredContent.objects.filter(pk=content.pk, state=StoredContent.State.STAGED).update(
        state=StoredContent.State.CONFIRMED
    )
    if not updated and not StoredContent.objects.filter(pk=content.pk).exists():
        raise StorageFailed(_("The upload took so long that it was swept; nothing was changed. Upload the file again."))


def read(content: StoredContent) -> bytes:
    """The stored bytes. Raises `StorageFailed` if they cannot be read or are not the ones that were stored."""
    try:
        with default_storage.open(content.key, "rb") as file:
            data: bytes = file.read()
    except OSError as error:
        raise StorageFailed(_("The stored file could not be read.")) from error
    if hashlib.sha256(data).hexdigest() != content.sha256:
        raise StorageFailed(_("The stored file is not the one that was uploaded."))
    return data


def sweep_staged(*, batch: int = 500, dry_run: bool = False) -> int:
    """Remove uploads that were staged but never confirmed within the grace period; return how many.

    Looks for `batch` uploads at a time until none is left, or until the storage removes none of a whole batch.
    """
    before = timezone.now() - timedelta(seconds=settings.KB_UPLOAD_GRACE_SECONDS)
    orphans = StoredContent.objects.filter(state=StoredContent.State.STAGED, created_at__lt=before)
    if dry_run:
        return orphans.count()
    swept, kept = 0, set[int]()
    while some := list(orphans.exclude(pk__in=kept).order_by("created_at")[:batch]):
        stays = {row.pk for row in some if not _drop(row)}
        swept, kept = swept + len(some) - len(stays), kept | stays
        if len(stays) == batch:
            break
    return swept


def abandon(content_ids: list[int]) -> None:
    """Give bytes whose versions are gone to the sweep, in the transaction that removed them: a crash before
    `drop_abandoned` leaves no file that nobody knows of."""
    StoredContent.objects.filter(pk__in=content_ids, versions=None).update(state=StoredContent.State.STAGED)


def drop_abandoned(content_ids: list[int]) -> int:
    """Remove abandoned bytes at once; return how many."""
    abandoned = StoredContent.objects.filter(pk__in=content_ids, state=StoredContent.State.STAGED)
    return sum(_drop(row) for row in abandoned)


def _drop(row: StoredContent) -> int:
    """Row and file go together: the row's lock keeps a concurrent `confirm` out until the file is gone. Returns 0 if it is
    in use, or if the storage refuses: the next sweep tries again."""
    with transaction.atomic():
        locked = StoredContent.objects.select_for_update().filter(pk=row.pk, state=StoredContent.State.STAGED).first()
        if locked is None or locked.versions.exists():
            return 0
        try:
            default_storage.delete(locked.key)
        except OSError:
            logger.exception("stored content %s could not be removed", locked.pk)
            return 0
        locked.delete()
    return 1
