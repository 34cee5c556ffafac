"""Stops the embedded PostgreSQL once the demo is gone, however it went: `python -m kbsite.demo.janitor DATA_DIR`.

It waits for the end of its standard input, whose other end only the demo has: the kernel closes that even after SIGKILL.
It inherits the lock of the data folder, so that the next run begins only when the server has stopped.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kbsite import embedded_postgres


def main() -> None:
    sys.stdin.buffer.read()
    embedded_postgres.stop(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
