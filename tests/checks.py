"""Django's own checks, as `make lint` runs them: as on a development machine, and as in production.

In production the database is foreign; the checks look at the settings only, so any address will do.
"""

from __future__ import annotations

import os
import subprocess
import sys

from kbsite import embedded_postgres
from tests.environment import ROOT

PRODUCTION = {
    "KB_DEBUG": "false",
    "KB_SECRET_KEY": "only-for-checks-0123456789-abcdefghij-0123456789-ABCDEFGHIJ-!",
    "KB_ALLOWED_HOSTS": "kb.example",
    "KB_SSL_REDIRECT": "true",
    "DATABASE_URL": "postgresql://kb_app@database.example/kb",
    "DATABASE_OWNER_URL": "postgresql://kb_owner@database.example/kb",
}
DEVELOPMENT = {"KB_DEBUG": "true", "KB_SECRET_KEY": PRODUCTION["KB_SECRET_KEY"]}

COMMANDS: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    (DEVELOPMENT, ("check", "--fail-level", "WARNING")),
    (DEVELOPMENT, ("makemigrations", "--check", "--dry-run")),
    (PRODUCTION, ("check", "--deploy", "--fail-level", "WARNING")),
)


DATA = ROOT / ".data" / "tests"


def main() -> None:
    ran_before = embedded_postgres.is_running(DATA)  # a test run at the same time needs it further
    embedded_postgres.ensure_running(DATA)
    try:
        run_all()
    finally:
        if not ran_before:
            embedded_postgres.stop(DATA)


def run_all() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "DATABASE_"))}
    for environment, command in COMMANDS:
        print("manage.py", *command, flush=True)
        done = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *command], env={**clean, "KB_DATA_DIR": str(DATA), **environment}
        )
        if done.returncode:
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
