"""What becomes of each hostile file, how long it takes and how much memory the parser's process uses at most:

`python -m tests.hostile.measure [PART OF A NAME]…`. Exit status 1 where a file ends otherwise than it should.
"""

from __future__ import annotations

import contextlib
import resource
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from documents.media_types import UnsupportedFile, detect
from indexing.errors import IndexingError
from indexing.parsers import sandbox
from indexing.parsers.forkserver import Fork
from tests.hostile.catalogue import HARMLESS, REFUSED, HostileFile, every_file
from tests.hostile.make import NOWHERE

SECONDS, MEMORY = 120.0, 1024**3  # as in production
UPLOAD = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Outcome:
    end: str
    detail: str
    seconds: float
    peak: int  # bytes of resident memory of the child; 0 where none was started


class Peaks:
    """The most resident memory of the child that `sandbox` starts last: the kernel's own mark (VmHWM), read until it ends.

    `getrusage` would count the caller too: between fork and exec the child is as large.
    """

    def __init__(self) -> None:
        self.last = 0
        self._start = sandbox._start
        self._watch = threading.Thread()

    def __enter__(self) -> Peaks:
        def starting(source: IO[bytes], *arguments: Any) -> Fork:
            child = self._start(source, *arguments)
            self._watch = threading.Thread(target=self._look, args=[child.pid])
            self._watch.start()
            return child

        sandbox._start = starting
        return self

    def __exit__(self, *_: Any) -> None:
        sandbox._start = self._start
        if self._watch.ident:
            self._watch.join()

    def _look(self, pid: int) -> None:
        with contextlib.suppress(OSError, StopIteration):
            while True:
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                mark = next(line for line in lines if line.startswith("VmHWM"))  # none once it has ended
                self.last = max(self.last, int(mark.split()[1]) * 1024)
                time.sleep(0.002)


def outcome(file: HostileFile, *, seconds: float = SECONDS, memory: int = MEMORY) -> Outcome:
    content = file.make(NOWHERE)
    began = time.monotonic()
    try:
        if not content:
            raise UnsupportedFile("The file is empty.")
        media_type = detect(content, file.name)
    except UnsupportedFile as refusal:
        return Outcome(REFUSED, str(refusal), time.monotonic() - began, 0)
    with Peaks() as peaks:
        try:
            sandbox.parse_in_child(content, media_type, file.name, timeout=seconds, memory_bytes=memory)
            end, detail = HARMLESS, ""
        except IndexingError as error:
            end, detail = error.code, error.detail
    return Outcome(end, detail, time.monotonic() - began, peaks.last)


def main() -> None:
    wanted = sys.argv[1:]
    wrong = 0
    print(f"{'file':<32} {'ends as':<22} {'seconds':>7} {'peak MB':>7}  ")
    for file in every_file().values():
        if wanted and not any(part in file.name for part in wanted):
            continue
        found = outcome(file)
        mark = "" if found.end in file.ends else f"  WRONG, not {' or '.join(sorted(file.ends))}"
        wrong += bool(mark)
        name = ascii(file.name)[1:-1]
        print(
            f"{name:<32} {found.end:<22} {found.seconds:7.2f} {found.peak / 1e6:7.0f}  {found.detail}{mark}", flush=True
        )
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{wrong} ended otherwise than they should; this process itself used at most {own / 1e6:.0f} MB")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
