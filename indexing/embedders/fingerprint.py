"""Which vectors may be compared with which."""

from __future__ import annotations

import hashlib
import json


def fingerprint(kind: str, model: str, dimensions: int, query_prefix: str = "", passage_prefix: str = "") -> str:
    """32 hex digits for everything that changes what a vector means.

    The endpoint, its key and the batch size are left out on purpose: the same model behind another address gives
    the same vectors, and a changed key must not throw the cache away.
    """
    facts = json.dumps([kind, model, dimensions, query_prefix, passage_prefix], ensure_ascii=True)
    return hashlib.sha256(facts.encode("ascii")).hexdigest()[:32]
