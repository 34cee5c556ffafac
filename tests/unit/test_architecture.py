"""What may import what, where SQL may stand, and how long a file may be: read from the source, not from its documentation."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCT = ("documents", "indexing", "kbsite")

# Top may import lower. A new module must be given its place here.
LAYERS = (
    ("entrances", "management admin api pages apps urls checks schedules"),
    (
        "engine",
        "audit retention orphans freshness gate lifecycle revisions recompute recompute_list recompute_plan "
        "bulk_worker shared_embedding engines worker search provider_watch attempt embedding heartbeat contextual "
        "tasks pools timeline passages",
    ),
    ("stores", "sink queue cache canary provider_gate pauses port"),
    (
        "foundation",
        "models retention_models cache_models provider_models lifecycle_models recompute_models freshness_models "
        "statements providers pipelines messages remarks groups inspection inspection_page retrying",
    ),
    (
        "pure",
        "states lease turns backoff breaker errors typed blocks locators identity lexical ranking citations "
        "pipeline_config evaluation side_by_side rendering verification parsers splitters situating embedders "
        "shutdown supervisor",
    ),
)
LEVEL = {name: level for level, (_, names) in enumerate(LAYERS) for name in names.split()}

# Pure modules outside `indexing` that pure modules may use.
PURE_ELSEWHERE = {"documents.media_types", "documents.other_types"}

# Where SQL stands outside of .sql files, and why.
SQL_ELSEWHERE = {
    "documents/locks.py": "the advisory lock of a tenant: one function call, no table",
    "documents/roles.py": "runs documents/sql/grants.sql and indexing/sql/grants.sql",
    "indexing/statements.py": "runs the statements of the files",
    "indexing/pipelines.py": "an index per pipeline: DDL with numbers in its name, which takes no parameters",
    "indexing/search.py": "settings of one transaction that choose the plan of the next statement",
    "indexing/queue.py": "NOTIFY, a hint without rows",
    "indexing/worker.py": "LISTEN, its other end",
    "kbsite/embedded_postgres/__init__.py": "roles, extension and database of the development server",
}


@cache
def source(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules() -> dict[str, Path]:
    """Dotted names of the product's modules, migrations apart."""
    found = {}
    for top in PRODUCT:
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "migrations" not in parts:
                found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(name: str) -> Iterator[str]:
    """Every module that `name` imports, wherever in the file, except for type checkers alone."""
    tree = source(MODULES[name])
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative imports hide the direction"
            base = node.module or ""
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in MODULES else base


def internal(name: str) -> set[str]:
    return {module for module in imports(name) if module.split(".")[0] in PRODUCT and module in MODULES}


def part(name: str) -> str:
    """The second component: the unit that has a place in the layers."""
    return name.split(".")[1]


def test_documents_know_nothing_of_indexing() -> None:
    """The truth does not depend on what is derived from it."""
    wrong = {
        (name, found)
        for name in MODULES
        if name.startswith("documents")
        for found in imports(name)
        if found.split(".")[0] == "indexing"
    }
    assert not wrong


def test_nobody_imports_the_site() -> None:
    """Settings are reached through django.conf."""
    wrong = {
        (name, found)
        for name in MODULES
        if not name.startswith("kbsite")
        for found in imports(name)
        if found.split(".")[0] == "kbsite"
    }
    assert not wrong


def test_settings_read_the_environment_and_nobody_else_does() -> None:
    readers = {
        name
        for name in MODULES
        if name.split(".")[0] in ("documents", "indexing")
        and re.search(
            r"os\.environ(?!\.get\(\"OMP_NUM_THREADS\"\)| \| |,|\[PARENT)|os\.getenv", MODULES[name].read_text()
        )
    }
    passes_on = {"indexing.supervisor", "indexing.shutdown", "indexing.parsers.sandbox", "indexing.engines.actors"}
    assert readers <= passes_on, readers


def test_every_module_of_indexing_has_its_place() -> None:
    placed = {part(name) for name in MODULES if name.startswith("indexing.")}
    assert placed <= set(LEVEL), placed - set(LEVEL)


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("indexing.")])
def test_imports_go_down(name: str) -> None:
    own = LEVEL[part(name)]
    for found in internal(name):
        if found.startswith("indexing.") and part(found) != part(name):
            assert LEVEL[part(found)] >= own, (
                f"{name} ({LAYERS[own][0]}) imports {found} ({LAYERS[LEVEL[part(found)]][0]})"
            )


def test_imports_form_no_circle() -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join([*path[path.index(name) :], name])
        if name not in done:
            for found in internal(name) - {name}:
                # A package that imports its own modules is not a circle with them.
                if not name.startswith(f"{found}."):
                    visit(found, (*path, name))
            done.add(name)

    in_functions = {"documents.querysets"}  # looks models up when it is called, since models use it as their manager
    for name in MODULES:
        if name not in in_functions:
            done |= in_functions
            visit(name, ())


PURE = [name for name in MODULES if name.startswith("indexing.") and LAYERS[LEVEL[part(name)]][0] == "pure"]


def reached_from(name: str) -> set[str]:
    reached, waiting = set(), {name}
    while waiting:
        reached |= waiting
        waiting = {found for module in waiting for found in internal(module)} - reached
    return reached


@pytest.mark.parametrize("name", PURE)
def test_pure_modules_reach_no_django(name: str) -> None:
    """They can be tested, and run in a parser's child process, without settings or a database."""
    for module in reached_from(name):
        assert module.startswith("indexing.") or module in PURE_ELSEWHERE, f"{name} reaches {module}"
        for found in imports(module):
            assert found.split(".")[0] not in ("django", "psycopg", "pgvector"), (
                f"{name} reaches {module}, which imports {found}"
            )


def test_pure_modules_load_no_django() -> None:
    """The same at run time, third parties included."""
    names = [name for name in PURE if not name.endswith(("supervisor", "shutdown"))]
    program = f"import sys\nfor name in {names!r}: __import__(name)\nprint('django' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert result.stdout == "False\n", result.stderr


SQL = re.compile(
    r"^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|MERGE|CREATE|DROP|ALTER|GRANT|REVOKE|TRUNCATE|SET LOCAL|LISTEN|NOTIFY"
    r"|COPY)\s"
)


def sql_in(path: Path) -> Iterator[str]:
    tree = source(path)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and SQL.match(node.value)
        ):
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.value[:60]!r}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if called in ("execute", "executemany", "raw", "extra", "RawSQL"):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {called}()"


def test_sql_stands_in_sql_files() -> None:
    """Where it can be read in one place, is prepared by a test, and values can only be bound."""
    found = {path.relative_to(ROOT).as_posix(): list(sql_in(path)) for path in MODULES.values()}
    wrong = [line for file, lines in found.items() if file not in SQL_ELSEWHERE for line in lines]
    assert not wrong
    assert not [file for file in SQL_ELSEWHERE if not found.get(file)], "an exception that is needed no more"


@pytest.mark.parametrize("name", MODULES)
def test_files_stay_small(name: str) -> None:
    assert len(MODULES[name].read_text().splitlines()) < 350


def test_no_drawers_for_odds_and_ends() -> None:
    assert not [name for name in MODULES if name.rsplit(".", 1)[-1] in ("utils", "helpers", "common", "misc")]
