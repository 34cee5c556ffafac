"""Django database backend that starts the embedded server on the first connection, never at import.

It says that the server then keeps running. Whoever stops it again, as the demo and the tests do, starts it before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db.backends.postgresql import base, client

from kbsite import embedded_postgres

KEEPS_RUNNING = "PostgreSQL was started in {folder} and keeps running after this command. To stop it: make stop\n"


class DatabaseClient(client.DatabaseClient):
    """`manage.py dbshell`."""

    def runshell(self, parameters: Iterable[str]) -> None:
        self.connection.get_connection_params()  # starts the server and learns where it is
        super().runshell(parameters)

    @classmethod
    def settings_to_cmd_args_env(cls, settings_dict: dict[str, Any], parameters: Iterable[str]) -> Any:
        arguments, environment = super().settings_to_cmd_args_env(settings_dict, parameters)
        return [embedded_postgres.psql(), *arguments[1:]], environment


class DatabaseWrapper(base.DatabaseWrapper):
    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        folder = Path(self.settings_dict["DATA_DIR"])
        ran_before = embedded_postgres.is_running(folder)
        self.settings_dict["HOST"] = embedded_postgres.ensure_running(folder)
        if not ran_before:
            sys.stderr.write(KEEPS_RUNNING.format(folder=folder))
        return super().get_connection_params()
