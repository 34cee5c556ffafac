"""What `manage.py check` refuses: a missing index binding, or a development database in production."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.utils.module_loading import import_string


@register()
def search_index_is_bound(**_: Any) -> list[CheckMessage]:
    """Without an index every publish would fail, or worse, stay unindexed in silence."""
    try:
        import_string(settings.KB_SEARCH_INDEX)
    except (ImportError, AttributeError) as error:
        return [
            Error(
                f"KB_SEARCH_INDEX does not name a search index: {error}",
                hint="Set it to “indexing.port.PostgresSearchIndex”.",
                id="documents.E001",
            )
        ]
    return []


@register(Tags.security, deploy=True)
def own_database_in_production(**_: Any) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    if settings.EMBEDDED_POSTGRES:
        messages.append(_no_embedded_server())
    elif settings.DATABASES["default"]["USER"] == settings.DATABASES["owner"]["USER"]:
        messages.append(
            Warning(
                "The application connects as the owner of its tables, who could disable the triggers that guard them.",
                hint="Set DATABASE_OWNER_URL to the owner's role and DATABASE_URL to another one.",
                id="documents.W001",
            )
        )
    return messages


@register(Tags.database)
def database_is_configured(**_: Any) -> Sequence[CheckMessage]:
    if settings.EMBEDDED_POSTGRES and not settings.DEBUG:
        return [_no_embedded_server()]
    return []


@register()
def secret_key_is_set(**_: Any) -> Sequence[CheckMessage]:
    if not settings.SECRET_KEY:
        return [Error("KB_SECRET_KEY is not set.", hint="Set it to a long random string.", id="documents.E003")]
    return []


def _no_embedded_server() -> CheckMessage:
    return Error(
        "DATABASE_URL is not set. The embedded PostgreSQL is for development only.",
        hint="Set DATABASE_URL=postgresql://user:password@host/name, or KB_DEBUG=true on a development machine.",
        id="documents.E002",
    )
