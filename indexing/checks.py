"""What `manage.py check` refuses about indexing: settings that no embedder can be built from."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

POSITIVE = (
    "KB_LEASE_SECONDS",
    "KB_POLL_SECONDS",
    "KB_MAX_FAILURES",
    "KB_PARSE_TIMEOUT",
    "KB_PARSE_MEMORY",
    "KB_EMBEDDING_BATCH_SIZE",
    "KB_EMBEDDING_TIMEOUT",
    "KB_MAX_UPLOAD_BYTES",
)


@register()
def embedding_endpoint_is_described(**_: Any) -> list[CheckMessage]:
    """An endpoint's vectors cannot be stored without knowing their model and length."""
    if settings.KB_EMBEDDING_URL and not (settings.KB_EMBEDDING_MODEL and settings.KB_EMBEDDING_DIMENSIONS > 0):
        return [
            Error(
                "KB_EMBEDDING_URL is set without KB_EMBEDDING_MODEL and KB_EMBEDDING_DIMENSIONS.",
                hint="Set both to what the endpoint serves, or unset the URL to use the bundled model.",
                id="indexing.E001",
            )
        ]
    return []


@register()
def numbers_are_positive(**_: Any) -> list[CheckMessage]:
    return [
        Error(f"{name} must be above zero, not {getattr(settings, name)}.", id="indexing.E002")
        for name in POSITIVE
        if getattr(settings, name) <= 0
    ]
