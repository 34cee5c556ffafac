"""`Authorization: Bearer KEY`, looked up by digest."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from documents.api.keys import digest
from documents.models import ApiKey

if TYPE_CHECKING:
    from django.contrib.auth.models import User

USE_IS_NOTED_EVERY = timedelta(minutes=1)


class ApiKeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        """The key's user; None if the request carries no key at all, so that a session may stand in."""
        scheme, _space, key = get_authorization_header(request).strip().partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        found = ApiKey.objects.select_related("user").filter(digest=digest(key.strip()), revoked_at=None).first()
        if found is None or not found.user.is_active:
            # One sentence for every reason: whoever guesses keys learns nothing.
            raise AuthenticationFailed(_("This API key is unknown, revoked, or its user is not active."))
        _note_use(found)
        return found.user, found

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _note_use(key: ApiKey) -> None:
    """At most once a minute: a busy key must not turn every read into a write of one hot row."""
    now = timezone.now()
    if key.last_used_at is None or key.last_used_at <= now - USE_IS_NOTED_EVERY:
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
