"""What an answer other than 200 means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from indexing.errors import (
    EmbeddingAuth,
    EmbeddingBadResponse,
    EmbeddingInputRejected,
    EmbeddingRateLimited,
    EmbeddingTimeout,
    EmbeddingUnavailable,
    IndexingError,
)

LONGEST_PAUSE = 900.0  # seconds: a provider that says "tomorrow" is asked again every quarter of an hour

# By what must happen next: `PROVIDER` errors charge no document, so they stand only where the provider as a whole is
# out of order. A 500 may well be this document's doing, and would be tried for ever if it were one of them.
_MEANINGS: dict[int, type[IndexingError]] = {
    400: EmbeddingInputRejected,
    401: EmbeddingAuth,
    402: EmbeddingUnavailable,  # out of credit
    403: EmbeddingAuth,
    404: EmbeddingUnavailable,  # wrong address or model
    405: EmbeddingUnavailable,
    408: EmbeddingTimeout,
    410: EmbeddingUnavailable,
    413: EmbeddingInputRejected,
    422: EmbeddingInputRejected,
    429: EmbeddingRateLimited,
    502: EmbeddingUnavailable,
    503: EmbeddingUnavailable,
    504: EmbeddingUnavailable,
    529: EmbeddingUnavailable,  # overloaded
}


def refusal(status: int, headers: Mapping[str, str]) -> IndexingError:
    """The error for an HTTP status other than 200. The body is not looked at: it may quote the document or the key."""
    if 300 <= status < 400:
        return EmbeddingUnavailable(f"It redirects (HTTP {status}); the address must be the final one.")
    meaning = _MEANINGS.get(status, EmbeddingBadResponse)
    return meaning(f"It answered HTTP {status}.", retry_after=retry_after(headers))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `Retry-After`, from 0 to `LONGEST_PAUSE`; None if it is absent or says nothing clear.

    A date is compared with the answer's own `Date`, never with a clock of ours, which may be an hour wrong.
    """
    value = headers.get("retry-after", "").strip()
    seconds = (
        float(value) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", value) else _until(value, headers.get("date", ""))
    )
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_PAUSE)


def _until(then: str, now: str) -> float | None:
    """Seconds between two HTTP dates, None where one of them is none."""
    try:
        return (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds()
    except (TypeError, ValueError, OverflowError):  # TypeError: one with a zone, one without
        return None
