"""The environment of every test, set before Django reads its settings (a pytest plugin, see pyproject.toml)."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

for _name in [name for name in os.environ if name.startswith("KB_") and name != "KB_TEST_DATA_DIR"]:
    del os.environ[_name]
os.environ.update(
    KB_DEBUG="false",
    KB_SECRET_KEY="only-for-tests-0123456789-0123456789-0123456789-0123456789",
    KB_SSL_REDIRECT="false",
    KB_ALLOWED_HOSTS="localhost,127.0.0.1,testserver",
    KB_LOG_LEVEL="WARNING",
    # Tests hold transactions open on purpose; those that are about frozen processes set it for their own.
    KB_IDLE_TRANSACTION_SECONDS="120",
    KB_LOCK_WAIT_SECONDS="60",
    # A server of its own: tests never touch the data of a demo that may be running.
    KB_DATA_DIR=os.environ.get("KB_TEST_DATA_DIR", str(ROOT / ".data" / "tests")),
)
