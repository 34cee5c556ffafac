"""A pipeline's configuration: what may stand in it, what a change makes of it, and how two differ. Pure."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from indexing.splitters import STRATEGIES

MOST_DIMENSIONS = 4000  # pgvector's limit for HNSW over `halfvec`
_KINDS = ("local", "openai")
_NUMBERS = {  # least and most of each
    ("splitter", "tokens"): (32, 8192),
    ("splitter", "childTokens"): (16, 8192),
    ("splitter", "characters"): (50, 100_000),
    ("splitter", "overlap"): (0, 50_000),
    ("embedder", "dimensions"): (2, MOST_DIMENSIONS),
}
_TEXTS = {
    ("embedder", "model"),
    ("embedder", "endpoint"),
    ("embedder", "query_prefix"),
    ("embedder", "passage_prefix"),
    ("context", "model"),
}
_FIXED = {"parser", "lexical"}  # of the release: nobody chooses them


@dataclass(frozen=True, slots=True)
class Change:
    """One value that differs; None where a configuration does not have it. `path` is dotted, such as `splitter.tokens`."""

    path: str
    before: Any
    after: Any


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """What differs, in the order of the paths."""
    old, new = dict(_flat(before)), dict(_flat(after))
    return [Change(path, old.get(path), new.get(path)) for path in sorted(old | new) if old.get(path) != new.get(path)]


def changed(config: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """A copy with `path=value` applied; a value that is JSON is read as such, an empty one takes the key out.

    Raises `ValueError`, with a sentence, for what is no assignment or gives no valid configuration.
    """
    result: dict[str, Any] = copy.deepcopy(dict(config))
    for assignment in assignments:
        path, sign, text = assignment.partition("=")
        keys = path.strip().split(".")
        if not sign or not all(keys):
            raise ValueError(f"“{assignment}” is not PATH=VALUE, such as splitter.tokens=400")
        if keys[0] in _FIXED or keys[-1] == "revision":
            raise ValueError(f"{path} comes with the release and cannot be chosen")
        _assign(result, keys, _value(text))
    check(result)
    return result


def check(config: Mapping[str, Any]) -> None:
    """Raises `ValueError`, with a sentence, for the first thing that is wrong."""
    embedder, splitter = config.get("embedder"), config.get("splitter")
    if not isinstance(embedder, dict) or not isinstance(splitter, dict):
        raise ValueError("a pipeline has a splitter and an embedder")
    if embedder.get("kind") not in _KINDS:
        raise ValueError(f"embedder.kind is {' or '.join(_KINDS)}, not {embedder.get('kind')!r}")
    if splitter.get("strategy") not in STRATEGIES:
        raise ValueError(f"splitter.strategy is one of {', '.join(STRATEGIES)}, not {splitter.get('strategy')!r}")
    for part, values in config.items():
        if part in _FIXED:
            continue
        if not isinstance(values, dict):
            raise ValueError(f"there is no part “{part}” of a pipeline")
        for key, value in values.items():
            _check_value(part, key, value)
    for part, needed in (("embedder", {"kind", "model", "dimensions"}), ("splitter", _needed(splitter["strategy"]))):
        if missing := needed - set(config[part]):
            raise ValueError(f"{part}.{min(missing)} is missing")


def _needed(strategy: str) -> set[str]:
    own = {"parent-child": {"childTokens"}, "fixed": {"characters", "overlap"}}
    return {"strategy", "tokens"} | own.get(strategy, set())


def _check_value(part: str, key: str, value: Any) -> None:
    if bounds := _NUMBERS.get((part, key)):
        least, most = bounds
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{part}.{key} is a whole number from {least:,} to {most:,}, not {value!r}")
    elif (part, key) in _TEXTS:
        if not isinstance(value, str) or (key == "model" and not value.strip()):
            raise ValueError(f"{part}.{key} is a text, not {value!r}")
    elif key not in {"kind", "strategy", "revision", "unit", "prompt"}:
        raise ValueError(f"there is no {part}.{key}")


def _assign(config: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        config = config.setdefault(key, {})
        if not isinstance(config, dict):
            raise ValueError(f"{'.'.join(keys)} is below a value")
    if value is None:
        config.pop(keys[-1], None)
    else:
        config[keys[-1]] = value


def _value(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def _flat(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
