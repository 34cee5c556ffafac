"""A PostgreSQL of the run's own, which can be stopped as a power cut would stop it."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from kbsite import embedded_postgres

SCHEMA = Path(__file__).parent / "schema.sql"


class Database:
    """In a temporary folder, gone afterwards."""

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="chaos-"))
        self.host = embedded_postgres.ensure_running(self.folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # At its exit this process would make the lock's file again, in a folder that is gone.
        atexit.unregister(embedded_postgres._server(self.folder)._cleanup)
        self._control("stop")  # the wheel's handle knows only the server that it started, not the one after a restart
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, role: str) -> str:
        """As DATABASE_URL takes it."""
        return f"postgresql://{role}@/{embedded_postgres.DATABASE}?host={self.host}"

    def connect(
        self, *, role: str = embedded_postgres.OWNER_ROLE, name: str, **options: Any
    ) -> psycopg.Connection[Any]:
        """A connection in autocommit mode; `name` is its application_name."""
        return psycopg.connect(
            host=self.host,
            user=role,
            dbname=embedded_postgres.DATABASE,
            autocommit=True,
            application_name=name,
            **options,
        )

    @contextmanager
    def connected(self, *, role: str = embedded_postgres.OWNER_ROLE, name: str) -> Iterator[psycopg.Connection[Any]]:
        with self.connect(role=role, name=name) as connection:
            yield connection

    def restart_at_once(self) -> None:
        """Stop without a checkpoint, as a crash does, and start again; on return it answers."""
        self._control("restart")

    def _control(self, action: str) -> None:
        server = embedded_postgres._server(self.folder)
        command = [str(Path(server.bin_path) / "pg_ctl"), "-D", str(server.pgdata), "-l", str(server.log)]
        command += ["-m", "immediate", "-w", "-t", "60", action]
        subprocess.run(
            command, user=server.system_user, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
        )

    def observe(self) -> None:
        """Make the run's own schema, with its observers, in the migrated database."""
        with self.connect(name="chaos-setup") as connection:
            connection.execute(SCHEMA.read_text(encoding="utf-8"))
