"""A stand-in for `indexing.parsers.child` that answers many wishes, one after another, behind the same locks.

A process for each of hundreds of damaged files would take minutes. Standard input: for each wish a line of JSON, with the
`bytes` of the content that follows. Only tests start it.
"""

from __future__ import annotations

import json
import os
import sys

from indexing.parsers import child
from indexing.parsers.lockdown import lock_down


def main() -> None:
    media_type, memory_bytes, cpu_seconds, parent = sys.argv[1], *map(int, sys.argv[2:5])
    child.die_with(parent)
    child.limit(memory_bytes, cpu_seconds)
    answer = _own_the_answer()
    lock_down()
    with os.fdopen(answer, "wb") as stream:
        while head := sys.stdin.buffer.readline():
            wish = json.loads(head)
            stream.write(child._result(wish["verb"], sys.stdin.buffer.read(wish["bytes"]), media_type, wish, stream))
            stream.flush()


def _own_the_answer() -> int:
    """A descriptor for the answer alone: what libraries print goes nowhere."""
    answer = os.dup(sys.stdout.fileno())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.dup2(nowhere, sys.stderr.fileno())
    return answer


if __name__ == "__main__":
    main()
