"""Source code: each function and class at its lines, under the names it stands in, with the comments above it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.media_types import BY_EXTENSION, CODE_LANGUAGES, UnsupportedFile, detect
from indexing.errors import NoText
from indexing.parsers import code
from indexing.parsers import parse as parse_any
from indexing.parsers.code import parse
from indexing.parsers.grammars import GRAMMARS
from tests.unit.blocks_asserts import check

LONG = "long " * 120

PYTHON = '''\
"""报销规则。"""
import os

LIMIT = 600


# How much a night may cost.
# 单位：元
@cache
def limit(city):
    """Looks it up."""

    return LIMIT


class Report:
    """A travel report."""

    fields = ("city", "nights")  # %s

    def total(self):
        return 1

    # 审批
    @property
    async def approved(self):
        def inner():
            return 2
        return inner()

    class Meta:
        ordering = 1


if os.name == "posix":
    def only_here():
        pass
print(limit("x"))
'''.replace("%s", LONG)

JAVASCRIPT = """\
import x from "x";
/** Adds. */
export const add = (a, b) => {
  return a + b;
};

export default function () { return 1; }
class Cart extends Base {
  total = 0;

  /* Sums up. */
  sum() {
    return this.items.reduce((a, b) => a + b, 0); // %s
  }
}
function* ids() { yield 1; }
""".replace("%s", LONG)

TYPESCRIPT = """\
export interface Trip {
  city: string;
}
type Id = number;
export abstract class Store<T> {
  abstract load(): T;
  save(item: T): void { /* %s */ }
}
namespace Inner { export function f(): void {} }
enum Kind { A, B }
""".replace("%s", LONG)

JAVA = """\
package a.b;

/** 差旅单 */
public class Trip {
    private int nights; // %s

    public Trip(int nights) {
        this.nights = nights;
    }

    /** Counts. */
    @Override
    public int nights() {
        return nights;
    }
}

record Point(int x, int y) {}
""".replace("%s", LONG)

GO = """\
package main

// Server answers.
type Server struct {
	name string
}

// Serve waits.
func (s *Server) Serve(port int) error {
	return nil
}

func main() {
}
"""

RUST = """\
use std::fmt;

/// A trip.
#[derive(Debug)]
pub struct Trip {
    nights: u32,
}

impl Trip {
    /// Counts. %s
    pub fn nights(&self) -> u32 {
        self.nights
    }
}

mod inner {
    pub fn f() {} // %s
}
""".replace("%s", LONG)

C = """\
#ifndef TRIP_H
#define TRIP_H
#include <stdio.h>

typedef struct { int nights; } trip_t;

struct hotel {
    int stars;
};

/* Counts. */
static char *(*name(int a))(void)
{
    return 0;
}

int prototype(int a);

#endif
"""

CPP = """\
namespace travel {

template <typename T>
class Box {
 public:
  // Gets. %s
  T get() const { return value_; }
 private:
  T value_;
};

int Box<int>::count() { return 1; }
}  // namespace travel

void travel::free_all(int n) {
}
""".replace("%s", LONG)

C_SHARP = """\
using System;
namespace Travel
{
    /// <summary>A trip. %s</summary>
    public class Trip
    {
        public int Nights { get; set; }

        // Counts. %s
        public int Count() { return Nights; }
    }
}
""".replace("%s", LONG)

RUBY = """\
module Travel
  # A trip. %s
  class Trip
    attr_reader :nights

    def initialize(nights)
      @nights = nights
    end

    # Builds. %s
    def self.build
      new(1)
    end
  end
end
""".replace("%s", LONG)

PHP = """\
<?php
namespace App;

/** A trip. */
class Trip
{
    private $nights; // %s

    public function nights() {
        return $this->nights;
    }
}

function helper() {
}
""".replace("%s", LONG)

SHELL = """\
#!/bin/bash
set -e

# Deploys.
deploy() {
  echo "部署"
}

deploy "$@"
"""

Found = list[tuple[tuple[str, ...], tuple[int, int] | None]]


def found(source: str, extension: str) -> Found:
    document = check(parse(source.encode(), BY_EXTENSION[extension]))
    assert {block.kind.value for block in document.blocks} == {"code"}
    return [(block.heading_path, block.locator.lines) for block in document.blocks]


@pytest.mark.parametrize(
    ("source", "extension", "units"),
    [
        (
            PYTHON,
            ".py",
            [
                ((), (1, 4)),
                (("limit",), (7, 13)),
                (("Report",), (16, 19)),
                (("Report", "total"), (21, 22)),
                (("Report", "approved"), (24, 29)),
                (("Report", "Meta"), (31, 32)),
                ((), (35, 35)),
                (("only_here",), (36, 37)),
                ((), (38, 38)),
            ],
        ),
        (
            JAVASCRIPT,
            ".js",
            [
                ((), (1, 1)),
                (("add",), (2, 5)),
                ((), (7, 7)),
                (("Cart", "sum"), (8, 15)),
                (("ids",), (16, 16)),
            ],
        ),
        (
            TYPESCRIPT,
            ".ts",
            [
                (("Trip",), (1, 3)),
                (("Id",), (4, 4)),
                (("Store", "save"), (5, 8)),
                (("Inner",), (9, 9)),
                (("Kind",), (10, 10)),
            ],
        ),
        (
            JAVA,
            ".java",
            [
                ((), (1, 1)),
                (("Trip",), (3, 5)),
                (("Trip", "Trip"), (7, 9)),
                (("Trip", "nights"), (11, 16)),
                (("Point",), (18, 18)),
            ],
        ),
        (GO, ".go", [((), (1, 1)), (("Server",), (3, 6)), (("Server", "Serve"), (8, 11)), (("main",), (13, 14))]),
        (
            RUST,
            ".rs",
            [((), (1, 1)), (("Trip",), (3, 7)), (("Trip", "nights"), (9, 14)), (("inner", "f"), (16, 18))],
        ),
        (
            C,
            ".h",
            [
                ((), (1, 3)),
                (("trip_t",), (5, 5)),
                (("hotel",), (7, 9)),
                (("name",), (11, 15)),
                ((), (17, 19)),
            ],
        ),
        (
            CPP,
            ".cpp",
            [
                (("travel", "Box", "get"), (1, 7)),
                (("travel", "Box"), (8, 10)),
                (("travel", "Box<int>", "count"), (12, 13)),
                (("travel", "free_all"), (15, 16)),
            ],
        ),
        (
            C_SHARP,
            ".cs",
            [((), (1, 1)), (("Travel", "Trip"), (2, 7)), (("Travel", "Trip", "Count"), (9, 12))],
        ),
        (
            RUBY,
            ".rb",
            [
                (("Travel",), (1, 2)),
                (("Travel", "Trip", "initialize"), (3, 8)),
                (("Travel", "Trip", "build"), (10, 15)),
            ],
        ),
        (
            PHP,
            ".php",
            [((), (1, 2)), (("Trip",), (4, 7)), (("Trip", "nights"), (9, 12)), (("helper",), (14, 15))],
        ),
        (SHELL, ".sh", [((), (1, 2)), (("deploy",), (4, 7)), ((), (9, 9))]),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith(".") else "",
)
def test_units_with_their_names_and_lines(source: str, extension: str, units: Found) -> None:
    assert found(source, extension) == units


def test_small_classes_stay_in_one_piece() -> None:
    source = "class A:\n    def f(self):\n        pass\n\n    def g(self):\n        pass\n"
    assert found(source, ".py") == [(("A",), (1, 6))]


def test_the_text_is_the_files_with_its_language() -> None:
    document = parse_any("\ufeff# 注释\r\ndef f():\r\n\treturn 'é\x00'\r\n".encode(), "text/x-python", "a.py")
    assert [(b.text, b.language) for b in check(document).blocks] == [("# 注释\ndef f():\n\treturn 'é'", "python")]


def test_without_a_grammar_blank_lines_divide() -> None:
    source = "server:\n  port: 80\n\n  host: x\n\n\n# 数据库\ndatabase:\n  name: y\n"
    document = check(parse(source.encode(), "text/x-yaml"))
    assert [(b.text, b.locator.lines) for b in document.blocks] == [
        ("server:\n  port: 80\n\n  host: x", (1, 4)),
        ("# 数据库\ndatabase:\n  name: y", (7, 9)),
    ]
    assert [b.locator.lines for b in parse(b"CREATE TABLE a (\n\n b int\n\n);\n\nSELECT 1;", "text/x-sql").blocks] == [
        (1, 5),
        (7, 7),
    ]


def test_a_file_too_large_for_a_grammar_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "MOST_BYTES", 20)
    assert found("def f():\n    pass\n\ndef g():\n    pass\n", ".py") == [((), (1, 2)), ((), (4, 5))]


@pytest.mark.parametrize("language", sorted(CODE_LANGUAGES.values()))
def test_nothing_is_no_text_in_any_language(language: str) -> None:
    with pytest.raises(NoText):
        parse(b" \n\t\n", f"text/x-{language}")


def test_every_grammar_is_of_an_accepted_language() -> None:
    assert set(GRAMMARS) <= set(CODE_LANGUAGES.values())


def test_files_by_name_and_content() -> None:
    assert detect(b"print(1)", "A.PY") == "text/x-python"
    with pytest.raises(UnsupportedFile):
        detect(b"\x7fELF" + bytes(99), "a.sh")


SOURCES = [PYTHON, JAVASCRIPT, TYPESCRIPT, JAVA, GO, RUST, C, CPP, C_SHARP, RUBY, PHP, SHELL]


@given(st.sampled_from(SOURCES), st.sampled_from(sorted(GRAMMARS)), st.data())
def test_no_line_is_lost_or_invented(source: str, language: str, data: st.DataObject) -> None:
    """In any grammar, and with any lines of the file gone."""
    lines = source.split("\n")
    kept = [line for line in lines if data.draw(st.integers(0, 3))]
    try:
        document = check(parse("\n".join(kept).encode(), f"text/x-{language}"))
    except NoText:
        assert not "".join(kept).strip()
        return
    last = 0
    for block in document.blocks:
        first, end = block.locator.lines or (0, 0)
        assert not "".join(kept[last : first - 1]).strip()
        assert block.text.split("\n") == [line.rstrip() for line in kept[first - 1 : end]]
        last = end
    assert not "".join(kept[last:]).strip()
