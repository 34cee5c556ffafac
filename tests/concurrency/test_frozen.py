"""A worker that is frozen in the middle of a transaction holds nobody up for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from documents import publishing
from tests.concurrency.leases import expire, found_texts, pointer, run_worker, task_of
from tests.concurrency.test_crash import provider_environment
from tests.concurrency.test_stage_then_switch import publish_next, searchable
from tests.environment import ROOT
from tests.factories import World
from tests.processes import end
from tests.provider_stub import ProviderStub
from tests.sessions import Session

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]


def frozen_in_its_finish(provider: ProviderStub, *, idle_seconds: str) -> subprocess.Popen[str]:
    """A worker process that moved the pointer, has not committed, and is stopped (SIGSTOP)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.concurrency.halting_worker", "SWITCHED"],
        cwd=ROOT,
        env={**provider_environment(provider), "KB_IDLE_TRANSACTION_SECONDS": idle_seconds},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "AT SWITCHED"
    os.kill(process.pid, signal.SIGSTOP)
    return process


@pytest.mark.parametrize("idle_seconds", ["2", pytest.param("100", id="without-the-limit")])
def test_an_editor_does_not_wait_for_a_frozen_worker(
    stub_world: World, provider: ProviderStub, idle_seconds: str
) -> None:
    """The server ends the frozen transaction: readers taken off are off, and the next worker finishes the version.
    Without the limit the editor waits, which is what the test must be able to see."""
    document = searchable(stub_world)
    publish_next(stub_world, document, "fresh")
    process = frozen_in_its_finish(provider, idle_seconds=idle_seconds)

    def take_off_all() -> None:
        publishing.set_readers(actor=stub_world.editor, document_id=document.pk, revision=None, readers=[])

    try:
        with Session() as editor:
            waiting = editor.start(take_off_all)
            editor.wait_until_blocked()
            if idle_seconds == "100":
                with pytest.raises(TimeoutError):
                    waiting.result(timeout=5)
                end(process)
            waiting.result(timeout=20)
        assert found_texts(stub_world, "old") == []
        assert pointer(document.pk) == 1
        expire(task_of(document.pk, 2).pk)
        assert run_worker("next") == "FAILED"
        assert task_of(document.pk, 2).error_code == "ACCESS_REVOKED"
    finally:
        end(process)
