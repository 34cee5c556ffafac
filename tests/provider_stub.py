"""An embedding provider on a loopback socket that does what it is told, faults included.

In a test: the fixture `provider`. From another process: `python -m tests.provider_stub --port 0 --dimensions 64` prints
its URL and serves until it is ended; `GET /stats` tells what it was asked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np
import pytest

from indexing.embedders.texts import CANARY

_TOKEN = re.compile(r"[a-z0-9]+|[^\W_]")


def embedding(text: str, dimensions: int, model: str) -> list[float]:
    """A vector of norm 1 that counts the tokens of `text`: texts that share words are near each other.

    The model's name goes into it, so that vectors of two models have nothing in common.
    """
    vector = np.zeros(dimensions)
    for token in _TOKEN.findall(text.lower()) or ["blank"]:
        digest = hashlib.blake2b(f"{model}\n{token}".encode(), digest_size=8).digest()
        vector[int.from_bytes(digest, "big") % dimensions] += 1
    normalised: list[float] = (vector / np.linalg.norm(vector)).tolist()
    return normalised


@dataclass(frozen=True)
class Reply:
    """What goes over the wire, and how."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0.0  # seconds before the first byte
    drip: float = 0.0  # seconds between bytes, 0 for all at once
    drip_head: bool = False  # whether the status line and headers drip too
    cut: bool = False  # whether the connection is closed half way through the body


Fault = Callable[[Reply], Reply]


def status(code: int, headers: Mapping[str, str] | None = None) -> Fault:
    """An HTTP status with an error body that quotes what it must not: a test can look for it in messages."""
    body = b'{"error": {"message": "body of the refusal"}}'
    return lambda reply: Reply(status=code, headers=headers or {}, body=body)


def slow(seconds: float) -> Fault:
    """The whole answer, late."""
    return lambda reply: replace(reply, delay=seconds)


def drip(seconds: float = 1.0, *, head: bool = False) -> Fault:
    """The answer a byte at a time."""
    return lambda reply: replace(reply, drip=seconds, drip_head=head)


def cut(reply: Reply) -> Reply:
    """Closes the connection half way through the body."""
    return replace(reply, cut=True)


def not_json(reply: Reply) -> Reply:
    """A 200 from something else than the provider, such as a proxy's page."""
    return replace(reply, body=b"<html>It works!</html>")


def body(content: bytes) -> Fault:
    """A 200 with these bytes."""
    return lambda reply: replace(reply, body=content)


def edited(edit: Callable[[dict[str, Any]], object]) -> Fault:
    """A fault that lets `edit` change the answer's JSON in place."""

    def fault(reply: Reply) -> Reply:
        answer = json.loads(reply.body)
        edit(answer)
        return replace(reply, body=json.dumps(answer).encode())

    return fault


def _vector(answer: dict[str, Any]) -> list[Any]:
    vector: list[Any] = answer["data"][-1]["embedding"]
    return vector


short = edited(lambda answer: answer["data"].pop())
permuted = edited(lambda answer: answer["data"].reverse())  # each item keeps its own index
duplicate_index = edited(lambda answer: answer["data"][-1].update(index=0))
wrong_model = edited(lambda answer: answer.update(model="another-model"))
wrong_dimensions = edited(lambda answer: _vector(answer).pop())
nan = edited(lambda answer: _vector(answer).__setitem__(0, float("nan")))
zero_vector = edited(lambda answer: _vector(answer).__setitem__(slice(None), [0.0] * len(_vector(answer))))


class ProviderStub:
    """The provider. Its public attributes may be changed while it runs.

    faults         one for each request to come, in order; None for an honest answer
    before_answer  called with the texts before each answer, in the server's thread, after they were counted
    poison         the answer to every request that holds a text with this word
    most           texts in a request, the canary counted, above which it is refused as too large
    swapped        another model answers under the same name
    batches        the texts of every request so far, refused ones included, without the canary
    canaries       how many of the requests carried it
    headers        the headers of every request, those with a wrong key too
    say            what a language model at the same address answers to a question; its requests are in `asked`, and their
                   faults in `chat_faults`
    """

    def __init__(self, dimensions: int = 64, port: int = 0, api_key: str = "") -> None:
        """`api_key`: requests without it get 401; empty accepts all. `port` 0 takes a free one."""
        self.dimensions = dimensions
        self.dimensions_of: dict[str, int] = {}  # of models that have others, as an endpoint with several does
        self.api_key = api_key
        self.faults: list[Fault | None] = []
        self.before_answer: Callable[[list[str]], None] | None = None
        self.poison: dict[str, Fault] = {}
        self.most: int | None = None
        self.swapped = False
        self.batches: list[list[str]] = []
        self.canaries = 0
        self.headers: list[Message] = []
        self.say: Callable[[dict[str, Any]], str] = lambda told: f"About {told['headings'] or told['title']}."
        self.asked: list[dict[str, Any]] = []
        self.chat_faults: list[Fault | None] = []
        self.stopped = threading.Event()
        self._planned: dict[int, Fault] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), self)

    @property
    def url(self) -> str:
        """The base address, as `KB_EMBEDDING_URL` takes it."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def requests(self) -> int:
        """Number of requests so far."""
        return len(self.batches)

    @property
    def texts_sent(self) -> int:
        """Number of texts in all requests so far, without the canaries: what a real provider would bill for documents."""
        return sum(map(len, self.batches))

    def fail_on(self, batch_number: int, fault: Fault) -> None:
        """Answer request `batch_number` (from 1, over the stub's life) with `fault`."""
        self._planned[batch_number] = fault

    def reset(self) -> None:
        """Forget faults, hook and counts."""
        with self._lock:
            self.faults, self.before_answer, self.batches, self.headers = [], None, [], []
            self.poison, self.most, self.swapped, self.canaries = {}, None, False, 0
            self._planned.clear()
            self.asked, self.chat_faults = [], []

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def serve_forever(self) -> None:
        """Serve in this thread until it is interrupted."""
        self._server.serve_forever()

    def answer(self, question: dict[str, Any]) -> Reply:
        """Count the request and make its reply."""
        texts = question["input"] if isinstance(question["input"], list) else [question["input"]]
        with self._lock:
            self.batches.append([text for text in texts if not text.endswith(CANARY)])
            self.canaries += len(texts) - len(self.batches[-1])
            queued = self.faults.pop(0) if self.faults else None
            poison = next((self.poison[word] for word in self.poison if any(word in text for text in texts)), None)
            fault = self._planned.pop(len(self.batches), queued) or poison
        if self.most is not None and len(texts) > self.most:
            fault = status(413)
        if self.before_answer is not None:
            self.before_answer(texts)
        reply = self._honest(texts, question["model"], weights="other weights" if self.swapped else question["model"])
        return fault(reply) if fault else reply

    def chat(self, question: dict[str, Any]) -> Reply:
        """Answer a question to a language model about the JSON that it was sent."""
        with self._lock:
            self.asked.append(question)
            fault = self.chat_faults.pop(0) if self.chat_faults else None
        content = self.say(json.loads(question["messages"][-1]["content"]))
        reply = Reply(body=json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode())
        return fault(reply) if fault else reply

    def _honest(self, texts: list[str], model: str, *, weights: str) -> Reply:
        dimensions = self.dimensions_of.get(model, self.dimensions)
        data = [
            {"object": "embedding", "index": index, "embedding": embedding(text, dimensions, weights)}
            for index, text in enumerate(texts)
        ]
        return Reply(body=json.dumps({"object": "list", "model": model, "data": data}).encode())


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a dripping answer must not hold the end of a test

    def __init__(self, address: tuple[str, int], stub: ProviderStub) -> None:
        super().__init__(address, _Handler)
        self.stub = stub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        stub = self.server.stub
        stats = {"requests": stub.requests, "texts": stub.texts_sent, "batches": [len(batch) for batch in stub.batches]}
        found = self.path == "/stats"
        self._send(Reply(status=200 if found else 404, body=json.dumps(stats).encode() if found else b"{}"))

    def do_POST(self) -> None:
        stub = self.server.stub
        content = self.rfile.read(int(self.headers["Content-Length"]))
        stub.headers.append(self.headers)
        answers = {"/v1/embeddings": stub.answer, "/v1/chat/completions": stub.chat}
        answer = answers.get(self.path.partition("?")[0])
        if answer is None:
            self._send(status(404)(Reply()))
        elif stub.api_key and self.headers.get("Authorization") != f"Bearer {stub.api_key}":
            self._send(status(401)(Reply()))
        else:
            self._send(answer(json.loads(content)))

    def _send(self, reply: Reply) -> None:
        head = self._head(reply)
        at_once = len(head) + len(reply.body)
        if reply.drip:
            at_once = 0 if reply.drip_head else len(head)
        if reply.cut:
            at_once = len(head) + len(reply.body) // 2
            self.close_connection = True
        wire = head + reply.body
        self.server.stub.stopped.wait(reply.delay)
        self.wfile.write(wire[:at_once])
        if reply.cut:
            return
        for byte in wire[at_once:]:
            if self.server.stub.stopped.wait(reply.drip):
                return
            self.wfile.write(bytes([byte]))

    def _head(self, reply: Reply) -> bytes:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(reply.body)), **reply.headers}
        lines = [
            f"HTTP/1.1 {reply.status} {_phrase(reply.status)}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _phrase(code: int) -> str:
    with suppress(ValueError):
        return HTTPStatus(code).phrase
    return "Unknown"


@pytest.fixture
def provider() -> Iterator[ProviderStub]:
    """A fresh provider with 64 dimensions and no key."""
    with ProviderStub() as stub:
        yield stub


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dimensions", type=int, default=64)
    arguments = parser.parse_args()
    stub = ProviderStub(arguments.dimensions, arguments.port)
    print(stub.url, flush=True)
    with suppress(KeyboardInterrupt):
        stub.serve_forever()


if __name__ == "__main__":
    main()
