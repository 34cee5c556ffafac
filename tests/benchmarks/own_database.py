"""A database of its own for a benchmark, gone afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_database() -> Iterator[None]:
    """Set Django up on an embedded server in a temporary folder. Import what needs Django within the block."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            KB_DATA_DIR=folder, KB_DEBUG="true", DJANGO_SETTINGS_MODULE="kbsite.settings", KB_LOG_LEVEL="ERROR"
        )
        os.environ.pop("DATABASE_URL", None)
        import django

        django.setup()
        from kbsite import embedded_postgres

        try:
            yield
        finally:
            embedded_postgres.stop(Path(folder).resolve())
