"""JSON: the claimed lines. A value's keys stand in front of it (“person.name: Li”); all but the last are on lines above."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from indexing.verification import lines
from indexing.verification.claims import Claim, Outcome

_KEYS_ABOVE = re.compile(r"^[^:]*\.(?=[^.:]+: )")


def outcomes(content: bytes, claims: Sequence[Claim]) -> Iterable[Outcome]:
    own = [replace(claim, texts=tuple(_KEYS_ABOVE.sub("", text) for text in claim.texts)) for claim in claims]
    return lines.outcomes(content, own)
