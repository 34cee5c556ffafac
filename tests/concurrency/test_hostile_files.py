"""Every hostile file the whole way: uploaded, published, read by real worker processes. Each ends with its code, none takes a
worker with it, nothing is fetched, and what was published between them becomes searchable.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from documents import uploading
from documents.errors import DocumentsError
from indexing import pipelines
from indexing.models import IndexTask
from indexing.states import TaskState
from tests.concurrency.leases import found_texts
from tests.factories import EVERYONE, World, make_world
from tests.hostile.catalogue import HARMLESS, REFUSED, HostileFile, every_file
from tests.processes import child_environment, end, spawn_worker
from tests.provider_stub import ProviderStub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.django_db(transaction=True, databases=["default", "owner"]),
]

WORKERS = 2
HEAVY = 50_000  # bytes; what is longer makes others work for minutes
WORKER_MEMORY = 800 * 1024**2  # resident; what a worker takes at rest is a quarter of it
WAITING = (TaskState.PENDING, TaskState.RUNNING, TaskState.RETRY_WAIT)


@pytest.fixture
def own_world(provider: ProviderStub, settings: Any) -> World:
    """A tenant whose pipeline embeds through the provider stub, with chunks and batches of the usual size."""
    settings.KB_EMBEDDING_URL = provider.url
    settings.KB_EMBEDDING_MODEL = "stub"
    settings.KB_EMBEDDING_DIMENSIONS = 64
    pipelines.ensure_default_pipeline(using="owner")
    return make_world()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Where the addresses in the files lead."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


class HighWater(threading.Thread):
    """The most resident memory of a process while it runs, by the kernel's own mark."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__()
        self.process, self.bytes = process, 0
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError, StopIteration):
            while True:
                lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
                mark = next(line for line in lines if line.startswith("VmHWM"))
                self.bytes = max(self.bytes, int(mark.split()[1]) * 1024)
                time.sleep(0.01)


def publish(world: World, name: str, content: bytes) -> uuid.UUID:
    version = uploading.create_document(
        actor=world.editor, tenant=world.tenant.slug, title="A file", data=content, file_name=name
    )
    world.publish(version.document, readers=EVERYONE)
    return version.document_id


def drain(environment: dict[str, str]) -> list[int]:
    """Let workers do all there is; the most memory each took. Every one of them ends by itself and finds no defect."""
    workers = [spawn_worker("--drain", env=environment) for _ in range(WORKERS)]
    marks = [HighWater(worker) for worker in workers]
    try:
        said = [worker.communicate()[1] for worker in workers]
    finally:
        for worker in workers:
            end(worker)
    for worker, stderr in zip(workers, said, strict=True):
        assert worker.returncode == 0, stderr[-3_000:]
        assert "defect" not in stderr, stderr[-3_000:]
        assert "Traceback" not in stderr, stderr[-3_000:]
    for mark in marks:
        mark.join()
    return [mark.bytes for mark in marks]


@pytest.mark.parametrize("heavy", [False, pytest.param(True, marks=pytest.mark.heavy)], ids=["light", "heavy"])
def test_no_file_breaks_a_worker(
    own_world: World, provider: ProviderStub, listener: socket.socket, heavy: bool
) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    contents = {name: file.make(url) for name, file in every_file().items()}
    files = {name: file for name, file in every_file().items() if (len(contents[name]) > HEAVY) is heavy}
    published: dict[uuid.UUID, HostileFile] = {}
    ended: dict[str, str] = {}
    good, sentences = [], []
    for number, file in enumerate(files.values()):
        try:
            published[publish(own_world, file.name, contents[file.name])] = file
        except DocumentsError as refusal:
            sentences.append(refusal.message)
            ended[file.name] = REFUSED
        if number % 20 == 0:
            good.append(f"harvest{number}")
            publish(own_world, "good.md", f"# Good\n\nThe {good[-1]} of this year.".encode())
    environment = child_environment(
        KB_EMBEDDING_URL=provider.url,
        KB_EMBEDDING_MODEL="stub",
        KB_EMBEDDING_DIMENSIONS="64",
        KB_BACKOFF_BASE_SECONDS="0.01",
        KB_PARSE_TIMEOUT="60",
    )
    taken = drain(environment)
    while IndexTask.objects.filter(state__in=WAITING).exists():
        taken += drain(environment)

    for task in IndexTask.objects.filter(document__in=published):
        found = HARMLESS if task.state == TaskState.SUCCEEDED else task.error_code or task.state
        ended[published[task.document_id].name] = found
    wrong = {name: (end, sorted(files[name].ends)) for name, end in ended.items() if end not in files[name].ends}
    assert not wrong
    assert len(ended) == len(files) >= 60
    assert all(sentence.endswith(".") for sentence in sentences)
    assert max(taken) < WORKER_MEMORY
    for word in good:
        assert found_texts(own_world, word), word
    with pytest.raises(BlockingIOError):
        listener.accept()
