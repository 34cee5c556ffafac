"""Pictures: all of their text is recognised, so only that page and region exist can be checked."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence

from PIL import Image

from indexing.verification.claims import Claim, Outcome

_MARGIN = 1.0  # pixels


def outcomes(content: bytes, claims: Sequence[Claim]) -> Iterator[Outcome]:
    warnings.simplefilter("ignore")
    image = Image.open(io.BytesIO(content))
    for claim in claims:
        page, region = claim.locator.page, claim.locator.region
        size = _size(image, page) if page is not None else None
        inside = size is not None and (
            region is None
            or (
                -_MARGIN <= region[0] <= region[2] <= size + _MARGIN
                and -_MARGIN <= region[1] <= region[3] <= size + _MARGIN
            )
        )
        yield Outcome.NOT_CHECKABLE if inside else Outcome.ELSEWHERE


def _size(image: Image.Image, page: int) -> int | None:
    """The longer side of a page, whichever way it is turned; None where there is no such page."""
    try:
        image.seek(page - 1)
    except (EOFError, ValueError):
        return None
    return max(image.size)
