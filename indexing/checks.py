"""What `manage.py check` refuses about indexing: settings that no embedder can be built from, or no lease be held with."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from indexing.errors import EmbeddingUnavailable
from indexing.lease import LONGEST_LEASE
from indexing.providers import context_model, default_context_config, default_embedder_config, embedder_for
from indexing.splitters import STRATEGIES
from indexing.splitters.packing import SMALLEST_BUDGET

POSITIVE = (
    "KB_LEASE_SECONDS",
    "KB_POLL_SECONDS",
    "KB_MAX_FAILURES",
    "KB_BULK_BATCH",
    "KB_PARSE_TIMEOUT",
    "KB_PARSE_MEMORY",
    "KB_EMBEDDING_BATCH_SIZE",
    "KB_EMBEDDING_TIMEOUT",
    "KB_CONTEXT_TIMEOUT",
    "KB_MAX_UPLOAD_BYTES",
    "KB_SPLITTER_CHARACTERS",
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
    try:
        embedder_for({"embedder": default_embedder_config()})
    except EmbeddingUnavailable as error:
        return [
            Error(
                str(error),
                hint="Correct KB_EMBEDDING_URL, or the setting that the reason names.",
                id="indexing.E003",
            )
        ]
    return []


@register()
def context_model_is_described(**_: Any) -> list[CheckMessage]:
    """A pipeline names the language model that wrote before its chunks."""
    config = default_context_config()
    if config is None:
        return []
    if not config["model"]:
        return [Error("KB_CONTEXT_URL is set without KB_CONTEXT_MODEL.", id="indexing.E009")]
    try:
        context_model(config)
    except EmbeddingUnavailable as error:
        return [Error(str(error), hint="Correct KB_CONTEXT_URL, or KB_CONTEXT_API_KEY.", id="indexing.E010")]
    return []


@register()
def splitter_is_known(**_: Any) -> list[CheckMessage]:
    """A pipeline with another strategy, or with a budget in which nothing fits, would fail every document."""
    errors: list[CheckMessage] = []
    if settings.KB_SPLITTER_STRATEGY not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        errors.append(Error(f"KB_SPLITTER_STRATEGY is none of {known}.", id="indexing.E006"))
    errors += [
        Error(f"{name} is at least {SMALLEST_BUDGET}, not {getattr(settings, name)}.", id="indexing.E007")
        for name in ("KB_CHUNK_TOKENS", "KB_SPLITTER_CHILD_TOKENS")
        if getattr(settings, name) < SMALLEST_BUDGET
    ]
    if settings.KB_SPLITTER_OVERLAP < 0:
        errors.append(Error("KB_SPLITTER_OVERLAP is not below zero.", id="indexing.E008"))
    return errors


@register()
def lease_is_not_too_long(**_: Any) -> list[CheckMessage]:
    """The database refuses a longer one: whatever a worker holds is free again soon after it died."""
    if settings.KB_LEASE_SECONDS > LONGEST_LEASE:
        return [
            Error(f"KB_LEASE_SECONDS is at most {LONGEST_LEASE}, not {settings.KB_LEASE_SECONDS}.", id="indexing.E004")
        ]
    return []


@register()
def budgets_let_a_batch_through(**_: Any) -> list[CheckMessage]:
    """A budget is kept for any minute, wherever it begins; that takes room for two of what is sent at once."""
    budgets = {
        "KB_EMBEDDING_REQUESTS_PER_MINUTE": 2,
        "KB_EMBEDDING_TEXTS_PER_MINUTE": 2 * settings.KB_EMBEDDING_BATCH_SIZE,
    }
    return [
        Error(
            f"{name} is 0 or at least {least}, not {getattr(settings, name)}.",
            hint="The second number is two requests, or two batches of KB_EMBEDDING_BATCH_SIZE texts.",
            id="indexing.E005",
        )
        for name, least in budgets.items()
        if getattr(settings, name) != 0 and getattr(settings, name) < least
    ]


@register()
def numbers_are_positive(**_: Any) -> list[CheckMessage]:
    return [
        Error(f"{name} must be above zero, not {getattr(settings, name)}.", id="indexing.E002")
        for name in POSITIVE
        if getattr(settings, name) <= 0
    ]
