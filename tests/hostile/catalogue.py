"""The register of hostile and broken files: what each is called, what must become of it, and why it is there.

Every file is made by code here. `make` gets the address that the file's links point to, where a test listens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

REFUSED = "refused at upload"  # with a sentence, nothing kept
HARMLESS = "searchable"  # the hostile part does nothing

Make = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class HostileFile:
    name: str
    make: Make
    ends: frozenset[str]  # the codes that are right for it, or REFUSED or HARMLESS
    why: str


FILES: dict[str, HostileFile] = {}


def hostile(name: str, ends: str, why: str) -> Callable[[Make], Make]:
    """Register what the decorated function makes. `ends`: codes with `|` between them."""

    def register(make: Make) -> Make:
        add(name, make, ends, why)
        return make

    return register


def add(name: str, make: Make, ends: str, why: str) -> None:
    assert name not in FILES, name
    FILES[name] = HostileFile(name, make, frozenset(part.strip() for part in ends.split("|")), why)


def add_all(files: Iterable[tuple[str, str, str, bytes | str]]) -> None:
    """Files whose content needs no function: (name, ends, why, content)."""
    for name, ends, why, content in files:
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        add(name, lambda _, data=data: data, ends, why)


def every_file() -> dict[str, HostileFile]:
    """By name, all of them."""
    from tests.hostile import data, packages, pages, pdfs, pictures, sheets, slides, texts  # noqa: F401 (they register theirs)

    return FILES
