"""Every named statement fits the real schema, says what no row means, and is called from exactly one place."""

from __future__ import annotations

import ast
import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from django.db import connection, transaction

from indexing.models import Pipeline
from indexing.search import statement
from indexing.statements import FOLDER, statements

pytestmark = pytest.mark.django_db

ROOT = FOLDER.parent.parent
FILES = sorted(path.stem for path in FOLDER.glob("*.sql") if path.stem != "grants")
NAMED = [(file, name) for file in FILES for name in statements(file)]
WHOLE = [
    pair for pair in NAMED if not re.match(r"find$|find_.*_leg$|find_words_", pair[1])
]  # the rest are pieces of the search

# PostgreSQL types of the parameters, by name: a parameter means the same in every statement.
TYPES = {
    "bigint": "after past run past_tenant past_fair past_id tenant task actor user count content",
    "int": "past_priority version pipeline generation attempts max_failures priority done total depth limit cap dimensions "
    "charge start end size shard shards outages throttles openings requests texts serving candidate most default",
    "uuid": "document after_document",
    "uuid[]": "keep documents only_documents nearer_than",
    "timestamptz": "indexed_before",
    "int[]": "paused same",
    "bigint[]": "sets gone kept timed_out tenants",
    "float8": "seconds cited lease delay vector_weight lexical_weight longest_wait open_for cooldown overdue request_capacity "
    "requests_per_second text_capacity texts_per_second requests_kept texts_kept",
    "float8[]": "weights",
    "bool": "retired leases retries probe_over succeeded readers_requested has_readers failed rebuild complete",
    "unknown": (  # as psycopg sends a str: the server must be able to tell its type from every place
        "kind task_type pool worker exhausted stage state code message action digest media_type revision fingerprint sentence "
        "vector any_term provider token detail query reason actor_name outcome"
    ),
    "text[]": "fingerprints pools terms digests vectors media_types sources",
    "jsonb": "rows places gaps verification",
    "bytea": "parsed",
}
TYPE_OF = {name: kind for kind, names in TYPES.items() for name in names.split()}


def prepare(text: str) -> None:
    """Let the server parse, resolve and plan a statement without running it."""
    names: list[str] = []

    def numbered(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    text = re.sub(r"%\((\w+)\)s", numbered, text).replace("%%", "%")
    types = ", ".join(TYPE_OF[name] for name in names)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"PREPARE checked{f'({types})' if types else ''} AS {text}")
        cursor.execute("DEALLOCATE checked")


@pytest.mark.parametrize(("file", "name"), WHOLE)
def test_it_fits_the_schema(file: str, name: str) -> None:
    prepare(statements(file)[name])


def test_a_statement_that_does_not_fit_is_noticed() -> None:
    with pytest.raises(Exception, match="no_such_column"):
        prepare("SELECT no_such_column FROM index_task WHERE id = %(task)s")


@pytest.mark.parametrize(("near", "words"), list(product(["exact", "approximate", "no"], ["by_document", "by_index"])))
@pytest.mark.parametrize("dimensions", [384, 3072])
def test_the_search_fits_the_schema_with_every_leg(near: str, words: str, dimensions: int) -> None:
    """The legs stand in the frame only: prepared alone they would miss its names."""
    pipeline = Pipeline(id=1, dimensions=dimensions)
    text = statement(pipeline, near=near, words=words)
    assert not re.search(r"\{\w+\}", text), "a place that was not filled"
    prepare(text)


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_it_says_what_it_does_and_what_no_row_means(file: str, name: str) -> None:
    head = []
    for line in statements(file)[name].splitlines():
        if not line.startswith("--"):
            break
        head.append(line.removeprefix("--").strip())
    sentence = " ".join(head)
    assert re.match(r"(\()?[A-Z]", sentence), sentence
    if (file, name) in WHOLE:
        assert re.search(r"[Nn]o row|[Oo]ne row", sentence), sentence


def test_names_are_unique_and_no_statement_is_lost() -> None:
    for file in FILES:
        text = (FOLDER / f"{file}.sql").read_text()
        names = re.findall(r"^-- name: (.*)$", text, flags=re.MULTILINE)
        assert len(set(names)) == len(names) == len(statements(file))


def test_each_is_called_from_exactly_one_place() -> None:
    """A statement that nobody calls rots; one that two call has no single door."""
    calls: Counter[tuple[str, str]] = Counter()
    for path in sorted(Path(ROOT).glob("*/**/*.py")):
        if path.relative_to(ROOT).parts[0] not in ("documents", "indexing", "kbsite"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("row", "rows"):
                if not all(isinstance(argument, ast.Constant) for argument in node.args):
                    continue
                file, name = (argument.value for argument in node.args if isinstance(argument, ast.Constant))
                calls[str(file), str(name)] += 1
    assert set(calls) == set(WHOLE), "called but not there, or there but not called"
    assert not [pair for pair, count in calls.items() if count > 1]


def test_values_are_bound_and_never_pasted() -> None:
    """Only the search has places to fill, with integers and with its own legs."""
    for file, name in NAMED:
        places = set(re.findall(r"\{(\w+)\}", statements(file)[name]))
        assert places <= (set() if (file, name) in WHOLE else {"near", "words", "pipeline", "vector", "type"})
