"""Any server that speaks OpenAI's `POST /v1/chat/completions`."""

from __future__ import annotations

import json

from indexing.embedders.exchange import Exchange
from indexing.errors import EmbeddingBadResponse

PATH = "/chat/completions"
LONGEST_ANSWER = 262_144  # bytes, for a sentence and what servers put around it


class ChatModel:
    """A model that answers in words. Nothing in its answer is taken on trust."""

    def __init__(
        self, url: str, model: str, api_key: str = "", *, connect_timeout: float = 5.0, timeout: float = 30.0
    ) -> None:
        """As for `OpenAIEmbedder`. `ValueError` for an unusable address or key."""
        self._exchange = Exchange(url, PATH, api_key, connect_timeout=connect_timeout, timeout=timeout)
        # Apart from embeddings of the same host: one may be out while the other answers.
        self.provider = f"{self._exchange.url.netloc.decode('ascii')}{PATH}"
        self.model = model

    def ask(self, instruction: str, question: str, *, most_tokens: int) -> str:
        """What the model answers, in one request. Raises any `EMBEDDING_*` error."""
        body = self._exchange.post(
            {
                "model": self.model,
                "messages": [{"role": "system", "content": instruction}, {"role": "user", "content": question}],
                "temperature": 0,
                "max_tokens": most_tokens,
            },
            longest=LONGEST_ANSWER,
        )
        try:
            answer = json.loads(body)["choices"][0]["message"]["content"]
        except (ValueError, RecursionError, LookupError, TypeError):
            answer = None  # raised below, because a JSON error carries the whole body along
        if not isinstance(answer, str):
            raise EmbeddingBadResponse("It holds no message.")
        return answer
