"""What the application's database role may do, granted by the owner after every migration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import connections

SQL = Path(__file__).parent / "sql" / "grants.sql"


def grant_after_migrate(*, using: str, **_: Any) -> None:
    grant(using=using, path=SQL)


def grant(*, using: str, path: Path) -> None:
    """Run a file of grants for the application's role. With one role for everything there is nothing to grant."""
    owner, application = connections[using].settings_dict["USER"], connections["default"].settings_dict["USER"]
    if owner == application:
        return
    with connections[using].cursor() as cursor:
        quoted = connections[using].ops.quote_name(application)
        cursor.execute(path.read_text().replace(":application", quoted))
