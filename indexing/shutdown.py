"""How a long-running command ends: on SIGTERM or Ctrl-C, and with the process that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PARENT = "KB_SUPERVISOR_PID"  # set by `indexing.supervisor` for the processes it starts; not a setting
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG = 1


@contextmanager
def on_signals(told: Callable[[int], None]) -> Iterator[None]:
    """Within the block, SIGTERM and SIGINT call `told(n)` for the n-th of them, in a thread of its own.

    Not in Python's signal handler: that runs between two steps of the main thread, so it waits for a call into native
    code to end (a batch of embeddings takes seconds), and may hold the very lock that it is about to take.
    """
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    # Without a handler of Python's the wake-up descriptor is not written to.
    handlers = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
    previous = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)

    def listen() -> None:
        count = 0
        while received := reading.recv(1):
            if received[0] in SIGNALS:  # other signals with a handler are written too
                count += 1
                told(count)

    threading.Thread(target=listen, name="signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        writing.close()  # ends the thread


def end_with_parent(*, by: signal.Signals = signal.SIGTERM) -> None:
    """If a supervisor started this process: be sent the signal `by` when it is gone, even if it was killed (Linux only).

    The kernel sends it when the thread that started this process ends, so supervisors start processes in their main thread.
    It may come more than once: an orphan is handed from one ending thread of its parent to the next.
    """
    supervisor = os.environ.get(PARENT)
    if supervisor is None or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() != int(supervisor):  # it ended before this could be noticed
        sys.exit("The process that started this one has ended.")
