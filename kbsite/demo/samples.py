"""What `samples/manifest.json` says: the documents of the demo in the order of publishing, and the searches to try.

Pure: no Django. The demo command does what is written there, and the tests hold the files to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

DIRECTORY = Path(__file__).parent / "samples"

Language = Literal["zh", "en", "both"]


@dataclass(frozen=True)
class Person:
    """Somebody who logs in to the demo; every person is a member of the demo's tenant."""

    name: str  # "editor", "reader" or "outsider"
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """One READ rule of a document, as the publish call takes it."""

    type: Literal["everyone", "group", "user"]
    name: str | None  # of the group or the user; None for everyone


@dataclass(frozen=True)
class SampleDocument:
    """One file to publish."""

    key: str  # unique; what `version_of` of another entry refers to
    file: str  # its name in `samples/`
    title: str
    language: Language  # of the text
    readers: tuple[Reader, ...]
    expect: Literal["SEARCHABLE", "FAILED"]  # the index state once the worker has dealt with it
    expect_code: str | None  # the error code that goes with FAILED
    version_of: str | None  # key of an earlier entry: publish as its next version, once that one is searchable

    @property
    def path(self) -> Path:
        return DIRECTORY / self.file

    def content(self) -> bytes:
        return self.path.read_bytes()


@dataclass(frozen=True)
class SampleSearch:
    """One query to run after everything has been published, and what its hits must and must not have."""

    query: str
    language: Language
    as_person: str  # name of a Person
    expect_file: str | None  # the hits include one from this file
    expect_nothing_from: str | None  # no hit is from this file
    forbidden_text: str | None  # no hit contains this text


@dataclass(frozen=True)
class Manifest:
    tenant: str
    people: tuple[Person, ...]
    documents: tuple[SampleDocument, ...]
    searches: tuple[SampleSearch, ...]


def load() -> Manifest:
    """Reads the manifest. A missing field is a KeyError: the manifest is part of the program."""
    raw = json.loads((DIRECTORY / "manifest.json").read_text(encoding="utf-8"))
    return Manifest(
        tenant=raw["tenant"],
        people=tuple(Person(name=person["name"], groups=tuple(person["groups"])) for person in raw["people"]),
        documents=tuple(_document(document) for document in raw["documents"]),
        searches=tuple(_search(search) for search in raw["searches"]),
    )


def _document(raw: dict[str, Any]) -> SampleDocument:
    return SampleDocument(
        key=raw["key"],
        file=raw["file"],
        title=raw["title"],
        language=raw["language"],
        readers=tuple(Reader(type=reader["type"], name=reader.get("name")) for reader in raw["readers"]),
        expect=raw["expect"],
        expect_code=raw["expectCode"],
        version_of=raw["versionOf"],
    )


def _search(raw: dict[str, Any]) -> SampleSearch:
    return SampleSearch(
        query=raw["query"],
        language=raw["language"],
        as_person=raw["as"],
        expect_file=raw["expectFile"],
        expect_nothing_from=raw["expectNothingFrom"],
        forbidden_text=raw["forbiddenText"],
    )
