"""The data folder of a demo: held by one run at a time, and emptied only of what the demo made."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class InUse(Exception):
    """Another run holds the folder."""


class DataFolder:
    """`root` is KB_DATA_DIR; what belongs to the demo alone is in `own`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = root / "demo"
        self.passwords = self.own / "passwords.json"

    def log(self, name: str) -> Path:
        return self.own / f"{name}.log"

    @contextmanager
    def held(self, *, cwd: Path, embedded: bool) -> Iterator[None]:
        """Keep other runs out; with `embedded`, the folder's PostgreSQL has stopped on return. Raises `InUse`."""
        self.root.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.root / "demo.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InUse from None
            janitor = _start_janitor(self.root, lock, cwd) if embedded else None
            try:
                yield
            finally:
                if janitor is not None:
                    janitor.communicate()  # closes its input
        finally:
            os.close(lock)

    def prepare(self) -> None:
        self.own.mkdir(mode=0o700, exist_ok=True)

    def reset(self, *, cwd: Path) -> bool:
        """Remove the database, the originals and the log-ins of the demo; False if no demo was ever started here (what
        is in the folder then is somebody's work)."""
        if not self.own.is_dir():
            return False
        # In another process: the package remembers the servers it has started and would not start this one again.
        subprocess.run(_janitor(self.root), cwd=cwd, stdin=subprocess.DEVNULL, check=True)  # noqa: S603
        for path in (self.root / "postgres", self.root / "content", self.own):
            if path.exists():
                shutil.rmtree(path)
        return True


def _start_janitor(root: Path, lock: int, cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 (our own module)
        _janitor(root),
        cwd=cwd,
        stdin=subprocess.PIPE,
        pass_fds=[lock],
        start_new_session=True,
    )


def _janitor(root: Path) -> list[str]:
    return [sys.executable, "-m", "kbsite.demo.janitor", str(root)]
