"""From a pipeline's stored configuration and the environment to an embedder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from indexing.embedders import fingerprint as fingerprints
from indexing.embedders.base import Embedder
from indexing.embedders.local import LocalEmbedder
from indexing.embedders.openai import OpenAIEmbedder


@dataclass(frozen=True, kw_only=True)
class EmbedderConfig:
    """What a pipeline stores about its model: it never changes, and says what the vectors mean."""

    kind: Literal["local", "openai"]  # in this process, or an endpoint
    model: str
    dimensions: int
    batch_size: int = 32  # most texts in one request
    query_prefix: str = ""  # put before a search query; empty for a local model, which has its own
    passage_prefix: str = ""  # put before a document's text; likewise
    endpoint: str = ""  # by its name in the settings; where a model runs is no part of what it is

    def fingerprint(self) -> str:
        """That of the embedder built from this, without building it."""
        return fingerprints.fingerprint(self.kind, self.model, self.dimensions, self.query_prefix, self.passage_prefix)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where the environment says the provider is, and how long to wait for it."""

    url: str = field(repr=False)  # its query may be a secret
    api_key: str = field(default="", repr=False)
    connect_timeout: float = 5.0  # seconds
    timeout: float = 30.0  # seconds for a whole request
    max_tokens: int = 512  # longest text the model reads, in its own tokens


def build(config: EmbedderConfig, endpoint: Endpoint | None = None) -> Embedder:
    """The embedder for `config`; `endpoint` is needed for kind "openai" only.

    Opens no connection and loads no weights. `ValueError` where the two do not describe an embedder.
    """
    if config.kind == "local":
        return _local(config)
    if config.kind != "openai":
        raise ValueError(f"unknown kind of embedder {config.kind!r}")
    if endpoint is None:
        raise ValueError(f"the pipeline's model {config.model!r} needs an embedding endpoint, and none is configured")
    return OpenAIEmbedder(
        endpoint.url,
        config.model,
        endpoint.api_key,
        dimensions=config.dimensions,
        batch_size=config.batch_size,
        connect_timeout=endpoint.connect_timeout,
        timeout=endpoint.timeout,
        max_tokens=endpoint.max_tokens,
        query_prefix=config.query_prefix,
        passage_prefix=config.passage_prefix,
    )


def _local(config: EmbedderConfig) -> LocalEmbedder:
    if config.query_prefix or config.passage_prefix:
        raise ValueError("a local model has its prefixes built in: leave them empty")
    embedder = LocalEmbedder(config.model, config.batch_size)
    if config.dimensions != embedder.dimensions:
        raise ValueError(f"{config.model} has {embedder.dimensions} dimensions, not {config.dimensions}")
    return embedder
