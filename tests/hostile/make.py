"""Writes the hostile files into a folder: `python -m tests.hostile.make FOLDER`. Do not open them with what you care for."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.hostile.catalogue import every_file

NOWHERE = "http://127.0.0.1:9/"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.hostile.make FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file in every_file().values():
        content = file.make(NOWHERE)
        (folder / file.name).write_bytes(content)
        print(f"{file.name:<44} {len(content):>12,}  {' or '.join(sorted(file.ends))}: {file.why}")


if __name__ == "__main__":
    main()
