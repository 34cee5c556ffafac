"""Embedders from a pipeline's stored configuration and the environment."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from typing import Any

from django.conf import settings

from indexing.embedders.base import Embedder
from indexing.embedders.chat import ChatModel
from indexing.embedders.local import LocalEmbedder
from indexing.embedders.openai import provider_of
from indexing.embedders.registry import EmbedderConfig, Endpoint, build
from indexing.errors import EmbeddingUnavailable
from indexing.situating import PROMPT_REVISION


def default_embedder_config() -> dict[str, Any]:
    """What the settings describe: the bundled model, or an endpoint if KB_EMBEDDING_URL is set."""
    if not settings.KB_EMBEDDING_URL:
        bundled = LocalEmbedder()
        return {
            "kind": "local",
            "model": bundled.model,
            "dimensions": bundled.dimensions,
            "query_prefix": "",
            "passage_prefix": "",
        }
    return {
        "kind": "openai",
        "model": settings.KB_EMBEDDING_MODEL,
        "dimensions": settings.KB_EMBEDDING_DIMENSIONS,
        "query_prefix": settings.KB_EMBEDDING_QUERY_PREFIX,
        "passage_prefix": settings.KB_EMBEDDING_PASSAGE_PREFIX,
    }


def default_context_config() -> dict[str, Any] | None:
    """The language model that the settings describe, which says of each chunk where it stands; None without one."""
    if not settings.KB_CONTEXT_URL:
        return None
    return {"model": settings.KB_CONTEXT_MODEL, "prompt": PROMPT_REVISION}


def context_model(config: dict[str, Any]) -> ChatModel:
    """The language model of a pipeline. Raises `EmbeddingUnavailable` if its endpoint is not configured, or not well."""
    if not settings.KB_CONTEXT_URL:
        raise EmbeddingUnavailable("KB_CONTEXT_URL is not set for the language model of this pipeline.")
    try:
        return _chat(settings.KB_CONTEXT_URL, config["model"], settings.KB_CONTEXT_API_KEY, settings.KB_CONTEXT_TIMEOUT)
    except ValueError as error:  # its text quotes no secret
        raise EmbeddingUnavailable(f"No language model can be made of the settings: {error}.") from error


@lru_cache(maxsize=4)
def _chat(url: str, model: str, api_key: str, timeout: float) -> ChatModel:
    return ChatModel(url, model, api_key, timeout=timeout)


def endpoint_providers() -> dict[str, str]:
    """The names of the providers behind the endpoints that the settings tell, by the endpoints' names; the one of
    KB_EMBEDDING_URL has none. What is no address is left out."""
    found = {}
    for name, endpoint in _endpoints().items():
        with suppress(ValueError):
            found[name] = provider_of(endpoint["url"])
    return found


def _endpoints() -> dict[str, dict[str, str]]:
    own = {"url": settings.KB_EMBEDDING_URL, "key": settings.KB_EMBEDDING_API_KEY}
    return {**settings.KB_EMBEDDING_ENDPOINTS, **({"": own} if settings.KB_EMBEDDING_URL else {})}


def embedder_for(pipeline_config: dict[str, Any], *, timeout: float | None = None) -> Embedder:
    """The embedder of a pipeline, kept for the process. `timeout`: seconds for a request, if not the setting's.

    Raises `EmbeddingUnavailable` if its endpoint is not configured, or if no embedder can be made of what is.
    """
    stored = json.dumps(pipeline_config["embedder"], sort_keys=True)
    endpoint = None
    if pipeline_config["embedder"]["kind"] == "openai":
        name = pipeline_config["embedder"].get("endpoint", "")
        told = _endpoints().get(name)
        if told is None:
            missing = f"KB_EMBEDDING_ENDPOINTS has no “{name}”" if name else "KB_EMBEDDING_URL is not set"
            raise EmbeddingUnavailable(f"{missing} for the model of this pipeline.")
        endpoint = Endpoint(
            url=told["url"],
            api_key=told.get("key", ""),
            connect_timeout=settings.KB_EMBEDDING_CONNECT_TIMEOUT,
            timeout=timeout or settings.KB_EMBEDDING_TIMEOUT,
        )
    try:
        return _build(stored, settings.KB_EMBEDDING_BATCH_SIZE, endpoint)
    except ValueError as error:  # its text quotes no secret
        raise EmbeddingUnavailable(f"No embedder can be made of the settings: {error}.") from error


@lru_cache(maxsize=8)
def _build(stored: str, batch_size: int, endpoint: Endpoint | None) -> Embedder:
    return build(EmbedderConfig(**json.loads(stored), batch_size=batch_size), endpoint)
