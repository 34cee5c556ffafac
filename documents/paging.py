"""Lists in pages, newest first. A cursor names the last row that was given out, so what is added meanwhile shifts nothing."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext as _

from documents.errors import InvalidInput

MAX_PAGE = 100  # rows

Row = TypeVar("Row", bound=Model)


def page_of(rows: QuerySet[Row], *, limit: int, cursor: str, moment: str = "created_at") -> tuple[Sequence[Row], str]:
    """The page of `rows` that begins after `cursor` (empty: the first), and the cursor of the next one (empty: none follows).

    `moment`: the field of the rows that says when they came to be. Raises `InvalidInput` for a cursor that is none.
    """
    if cursor:
        at, last = _position(rows, cursor)
        rows = rows.filter(Q((f"{moment}__lt", at)) | Q((moment, at), pk__lt=last))
    page = list(rows.order_by(f"-{moment}", "-pk")[: limit + 1])
    return page[:limit], _cursor(page[limit - 1], moment) if len(page) > limit else ""


def _cursor(row: Any, moment: str) -> str:
    return base64.urlsafe_b64encode(f"{getattr(row, moment).isoformat()} {row.pk}".encode()).decode()


def _position(rows: QuerySet[Row], cursor: str) -> tuple[datetime, Any]:
    try:
        at, _space, last = base64.b64decode(cursor, altchars=b"-_", validate=True).decode().partition(" ")
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None:
            raise ValueError
        # In UTC here: a moment at the end of time with an offset is none that the database could be asked for.
        return moment.astimezone(UTC), rows.model._meta.pk.to_python(last)
    except (ValueError, OverflowError, ValidationError):
        raise InvalidInput(_("The cursor is not one that this list gave out. Begin without one.")) from None
