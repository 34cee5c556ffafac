"""`tests.unit.hostile_child` without its locks: what must hold even where there are none. Only tests start it."""

from __future__ import annotations

from indexing.parsers import child
from tests.unit.hostile_child import parse

if __name__ == "__main__":
    child.parse = parse
    child.lock_down = lambda **_: None
    child.limits.PROCESSES = 1_000
    child.limits.FILE_BYTES = 1_000
    child.main()
