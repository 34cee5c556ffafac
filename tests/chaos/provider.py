"""The provider stub with a bad temper: `python -m tests.chaos.provider --journal FILE` prints its URL.

Commands come on standard input, a line each, and are answered with `ok`:

    faults RATE            the share of answers that are faulty
    other_model SECONDS    serve the vectors of another model under the same name for so long

The journal has a line for each request: the digests of its texts, and the fault, if any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import provider_stub
from tests.chaos.oracle import DIMENSIONS
from tests.provider_stub import Fault, ProviderStub, Reply, embedding

TIMEOUT = 1.5  # seconds that the workers wait for an answer

FAULTS: dict[str, Fault] = {
    "429": provider_stub.status(429, {"Retry-After": "1"}),
    "500": provider_stub.status(500),
    "503": provider_stub.status(503),
    "slow": provider_stub.slow(0.7 * TIMEOUT),
    "too slow": provider_stub.slow(1.5 * TIMEOUT),
    "drip": provider_stub.drip(0.02),
    "short": provider_stub.short,
    "permuted": provider_stub.permuted,
    "other model": provider_stub.wrong_model,
    "cut": provider_stub.cut,
}
SWAPPED = "silently another model"
ANSWERED = ("slow", "permuted")  # faults whose answer is a right one: its texts are paid for and must not be sent again


class MoodyProvider(ProviderStub):
    def __init__(self, *, rate: float, seed: str, journal: Path, delay: float = 0.0) -> None:
        super().__init__(DIMENSIONS)
        self.rate, self.delay = rate, delay
        self.other_model_until = 0.0
        self._rng = random.Random(f"{seed} provider")
        self._journal = journal.open("a", encoding="utf-8")
        self._writing = threading.Lock()

    def answer(self, question: dict[str, Any]) -> Reply:
        with self._writing:
            name = self._rng.choice(list(FAULTS)) if self._rng.random() < self.rate else None
        model = question["model"]
        if time.monotonic() < self.other_model_until:
            name, model = SWAPPED, "another"
        texts = question["input"] if isinstance(question["input"], list) else [question["input"]]
        digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        with self._writing:
            self._journal.write(json.dumps({"at": time.monotonic(), "texts": digests, "fault": name}) + "\n")
            self._journal.flush()
        data = [
            {"object": "embedding", "index": index, "embedding": embedding(text, DIMENSIONS, model)}
            for index, text in enumerate(texts)
        ]
        answer = json.dumps({"object": "list", "model": question["model"], "data": data}).encode()
        reply = Reply(body=answer, delay=self.delay)
        return FAULTS[name](reply) if name in FAULTS else reply


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of the journal."""

    at: float
    texts: tuple[str, ...]
    fault: str | None

    @property
    def answered(self) -> bool:
        return self.fault is None or self.fault in ANSWERED


def read_journal(path: Path) -> list[Asked]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Asked(line["at"], tuple(line["texts"]), line["fault"]) for line in map(json.loads, lines)]


def faults(asked: Iterable[Asked]) -> int:
    return sum(request.fault is not None for request in asked)


def obey(provider: MoodyProvider) -> None:
    """Do what standard input says, until it ends."""
    for line in sys.stdin:
        command, value = line.split()
        if command == "faults":
            provider.rate = float(value)
        elif command == "other_model":
            provider.other_model_until = time.monotonic() + float(value)
        else:
            raise SystemExit(f"unknown command {command!r}")
        print("ok", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that each answer takes")
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    mood = {"rate": options.faults, "seed": options.seed, "delay": options.delay}
    with MoodyProvider(**mood, journal=options.journal) as provider:
        print(provider.url, flush=True)
        obey(provider)


if __name__ == "__main__":
    main()
