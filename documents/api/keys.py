"""API keys: made once, shown once, kept as a digest."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from django.utils import timezone

from documents.models import ApiKey

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PREFIX = "kb_"
SHOWN = 10  # characters of a key that are kept, to recognise it by


def create_api_key(*, user: User, name: str = "") -> str:
    """A new key of `user`. The return value is the only copy there will ever be."""
    key = PREFIX + secrets.token_urlsafe(32)
    ApiKey.objects.create(user=user, name=name[:100], prefix=key[:SHOWN], digest=digest(key.encode()))
    return key


def revoke(api_key: ApiKey) -> None:
    """Refuse the key from the next request on; a key that is revoked already keeps its time."""
    ApiKey.objects.filter(pk=api_key.pk, revoked_at=None).update(revoked_at=timezone.now())


def digest(key: bytes) -> str:
    """What is stored of a key. A plain hash is enough: a key is 256 random bits, which nobody can guess through."""
    return hashlib.sha256(key).hexdigest()
