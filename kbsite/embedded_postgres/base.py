"""Django database backend that starts the embedded server on the first connection, never at import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db.backends.postgresql import base

from kbsite import embedded_postgres


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        self.settings_dict["HOST"] = embedded_postgres.ensure_running(Path(self.settings_dict["DATA_DIR"]))
        return super().get_connection_params()
