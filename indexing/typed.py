"""Whether data from outside (another process, a store) is what its dataclass says. Annotations alone check nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints


class Written(Protocol):
    def to_json(self) -> dict[str, Any]: ...


Value = TypeVar("Value", bound=Written)
Check = Callable[[Any], bool]


def as_written(read: Callable[[Any], Value], data: Any) -> Value:
    """What `read` makes of `data`. Raises `ValueError` where `data` is not exactly what its `to_json` writes, or a field of it,
    however deep, is not of its declared type. Whole numbers count something and are not negative, others are finite."""
    try:
        value = read(data)
        if _checker(type(value))(value) and value.to_json() == data:
            return value
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        pass
    raise ValueError("This is not what was written.") from None


@cache
def _checker(kind: Any) -> Check:
    """For a declared type: of dataclasses, tuples, unions, enums and scalars."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        options = [_checker(argument) for argument in arguments]
        return lambda value: any(option(value) for option in options)
    if get_origin(kind) is tuple and arguments[-1] is ...:
        item = _checker(arguments[0])
        return lambda value: type(value) is tuple and all(map(item, value))
    if get_origin(kind) is tuple:
        items = [_checker(argument) for argument in arguments]
        return lambda value: (
            type(value) is tuple
            and len(value) == len(items)
            and all(check(part) for check, part in zip(items, value, strict=True))
        )
    if is_dataclass(kind):
        return _of_fields(kind)
    return _of_scalar(kind)


def _of_fields(kind: Any) -> Check:
    hints = get_type_hints(kind)
    checks = [(field.name, _checker(hints[field.name])) for field in fields(kind)]
    return lambda value: type(value) is kind and all(check(getattr(value, name)) for name, check in checks)


def _of_scalar(kind: Any) -> Check:
    if kind is float:  # JSON does not tell 3.0 from 3
        return lambda value: type(value) in (int, float) and math.isfinite(value)
    if kind is int:
        return lambda value: type(value) is int and value >= 0
    if kind in (str, bool, bytes, NoneType) or issubclass(kind, Enum):
        return lambda value: type(value) is kind
    raise TypeError(f"{kind!r} is not of JSON.")
