"""An embedding provider in a process of its own that takes the time it is told, and a client that does nothing but ask it."""

from __future__ import annotations

import hashlib
import http.client
import json
import multiprocessing
import queue
import random
import re
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.provider_stub import ProviderStub, Reply

MODEL = "bench"
GROUP = 16  # numbers of a vector that come from one byte of its text's digest
QUERY = re.compile(r"kb\d{5}")


class TimedStub(ProviderStub):
    """Answers each request so many seconds after it came. Its numbers are written beforehand: a real provider computes
    elsewhere, and here every millisecond is taken from those who are measured."""

    def __init__(self, *, dimensions: int, seconds: float, seconds_per_text: float) -> None:
        super().__init__(dimensions)
        self._seconds, self._per_text = seconds, seconds_per_text
        rng = random.Random("numbers")
        self._numbers = [
            [",".join(f"{rng.gauss(0.0, 0.05):.8f}" for _ in range(GROUP)) for _ in range(256)]
            for _ in range(dimensions // GROUP)
        ]

    def _honest(self, texts: list[str], model: str, *, weights: str) -> Reply:
        due = time.perf_counter() + self._seconds + self._per_text * len(texts)
        data = ",".join(f'{{"index":{index},"embedding":[{self._vector(text)}]}}' for index, text in enumerate(texts))
        body = f'{{"object":"list","model":{json.dumps(model)},"data":[{data}]}}'.encode()
        return Reply(body=body, delay=max(0.0, due - time.perf_counter()))

    def _vector(self, text: str) -> str:
        digest = hashlib.blake2b(text.encode(), digest_size=len(self._numbers)).digest()
        return ",".join(numbers[byte] for numbers, byte in zip(self._numbers, digest, strict=True))


def _serve(pipe: Connection, options: dict[str, Any]) -> None:
    with TimedStub(**options) as stub:
        pipe.send(stub.url)
        while (wish := pipe.recv()) != "end":
            if wish == "reset":
                stub.reset()
            pipe.send([batch for batch in stub.batches if not (len(batch) == 1 and QUERY.fullmatch(batch[0]))])


class Provider:
    """The stub's process. `batches` are the texts of all requests since `reset`, without what a search asked."""

    def __init__(self, *, dimensions: int, seconds: float, seconds_per_text: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        options = {"dimensions": dimensions, "seconds": seconds, "seconds_per_text": seconds_per_text}
        self._process = context.Process(target=_serve, args=(theirs, options), daemon=True)
        self._process.start()
        self.url: str = self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pipe.send("end")
        self._process.join()

    @property
    def batches(self) -> list[list[str]]:
        return self._ask("batches")

    def reset(self) -> None:
        self._ask("reset")

    def _ask(self, wish: str) -> list[list[str]]:
        self._pipe.send(wish)
        answer: list[list[str]] = self._pipe.recv()
        return answer


def limit(url: str, batches: Sequence[Sequence[str]], *, concurrency: int) -> float:
    """Seconds in which a client that only asks and reads gets all the batches answered, over so many connections."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    for batch in batches:
        waiting.put(json.dumps({"model": MODEL, "input": batch}).encode())
    address = urlsplit(url)

    def ask() -> None:
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        while True:
            try:
                body = waiting.get_nowait()
            except queue.Empty:
                break
            connection.request("POST", f"{address.path}/embeddings", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert response.status == 200
            response.read()
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(concurrency)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began
