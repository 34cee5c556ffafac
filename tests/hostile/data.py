"""Hostile JSON, source code, Markdown and tables in plain text."""

from __future__ import annotations

import random

from tests.hostile.catalogue import HARMLESS, REFUSED, add, add_all

LARGE, CORRUPT = "DOCUMENT_TOO_LARGE", "DOCUMENT_CORRUPT"

add("deep.json", lambda _: b"[" * 5_000_000, LARGE, "five million arrays in each other")
add("deep-objects.json", lambda _: b'{"a":' * 1_000_000 + b"1", LARGE, "a million objects in each other")
add("values.json", lambda _: b"[" + b"1," * 4_000_000 + b"1]", LARGE, "four million numbers")
add("keys.json", lambda _: b"{" + b'"a":{},' * 200_000 + b'"a":1}', HARMLESS, "one key two hundred thousand times")
add(
    "long-key.json",
    lambda _: b'[{"' + b"k" * 1_000_000 + b'":[' + b'{"a":1},' * 999 + b"1]}]",
    LARGE,
    "a key that repeats",
)
add("number.json", lambda _: b'{"pi": ' + b"3" * 1_000_000 + b"}", HARMLESS, "a number of a million digits")
add("escapes.json", lambda _: b'"' + b"\\" * 1_000_001 + b'"', CORRUPT, "a million backslashes and no end")
add("halves.json", lambda _: b'{"a": "' + b"\\ud800" * 50_000 + b' text"}', HARMLESS, "halves of characters")
add("minified.json", lambda _: b'{"a":"' + b"word " * 500_000 + b'"}', HARMLESS, "one string of megabytes on one line")
add(
    "columns.json",
    lambda _: b'[{"' + b'":1,"'.join(b"c%d" % n for n in range(50_000)) + b'":1}]',
    HARMLESS,
    "a record of fifty thousand keys",
)

add_all(
    [
        ("truncated.json", CORRUPT, "half a file", '{"a": [1, 2, {"b": "te'),
        ("trailing.json", CORRUPT, "a comma too many", '{"a": 1,\n}'),
        ("page.json", CORRUPT, "a page under another name", "<!doctype html><p>not found</p>"),
        ("prototype.json", HARMLESS, "names that JavaScript gives a meaning", '{"__proto__": {"admin": true}, "a": 1}'),
        ("half.jsonl", CORRUPT, "a log cut off in its last line", '{"a": "one"}\n{"a": "tw'),
        ("picture.json", REFUSED, "a picture", b"\x89PNG\r\n\x1a\n" + bytes(99)),
    ]
)  # fmt: skip

add("braces.c", lambda _: b"{" * 500_000, HARMLESS, "half a million blocks in each other")
add("parentheses.py", lambda _: b"x = " + b"(" * 200_000, HARMLESS, "brackets that nobody closes")
add(
    "classes.py",
    lambda _: "".join(f"{' ' * n}class A{n}:\n" for n in range(1_000)).encode(),
    HARMLESS,
    "a thousand classes in each other",
)
add(
    "functions.js",
    lambda _: b"function f(){" * 100_000 + b"}" * 100_000,
    HARMLESS,
    "functions in functions on one line",
)
add("functions.go", lambda _: b"package a\n" + b"func f() {}\n" * 60_000, HARMLESS, "sixty thousand functions")
add(
    "declarators.c",
    lambda _: b"int " + b"*" * 100_000 + b"f() {}\nint (" + b"(" * 5_000 + b"g" + b")" * 5_000 + b")() {}\n",
    HARMLESS,
    "pointers to pointers",
)
add("blank.c", lambda _: b"int x;\n" + b"\n" * 400_000 + b"int y;\n", HARMLESS, "four hundred thousand blank lines")
add("signs.c", lambda _: b"int x;\n\n" + b"(" * 400_000 + b"a\n", HARMLESS, "a line that closes nothing after all")
add("comments.rs", lambda _: b"// x\n" * 100_000 + b"fn f() {}\n", HARMLESS, "a comment of a hundred thousand lines")
add(
    "noise.cpp",
    lambda _: bytes(random.Random(7).choices(b"{}()<>;:,*&=#\"' abcxyz\n", k=1_000_000)),
    HARMLESS,
    "signs without a sense: repairing what nothing can",
)
add("lines.yaml", lambda _: b"a:\n\n" * 200_000, LARGE, "two hundred thousand blocks")
add(
    "entities.xml",
    lambda _: (
        b'<!DOCTYPE a [<!ENTITY x "'
        + b"y" * 999
        + b'"><!ENTITY z "'
        + b"&x;" * 999
        + b'">]><a>'
        + b"&z;" * 999
        + b"</a>"
    ),
    HARMLESS,
    "entities that would fill the memory; none is read",
)

add("dollars.md", lambda _: b"$" * 300_000 + b" x", HARMLESS, "signs of formulas that nobody closes")
add("dollar-words.md", lambda _: b"$a " * 100_000, HARMLESS, "a hundred thousand beginnings of formulas")
add(
    "footnotes.md",
    lambda _: b"".join(b"[^%d]: note [^%d]\n\n" % (n, n + 1) for n in range(20_000)),
    HARMLESS,
    "footnotes of footnotes",
)
add("footnote-nesting.md", lambda _: b"[^a]: " * 2_000 + b"x", f"{HARMLESS} | {LARGE}", "footnotes in each other")
add("definitions.md", lambda _: b"term\n: " * 20_000 + b"x", f"{HARMLESS} | {LARGE}", "definitions of definitions")
add(
    "definition-nesting.md",
    lambda _: b"term\n" + b": " * 20_000 + b"x",
    f"{HARMLESS} | {LARGE}",
    "definitions in each other",
)
add(
    "front-matter-references.md",
    lambda _: b"---\n" + b"a: &a [*a, *a]\n" * 50_000 + b"---\ntext",
    HARMLESS,
    "references that would fill the memory",
)
add("front-matter-open.md", lambda _: b"---\n" + b"a: b\n" * 200_000, LARGE, "front matter that never ends")

add(
    "bars.txt",
    lambda _: b"".join(b"a | b" + b" | c" * (n % 7) + b"\n" for n in range(150_000)),
    HARMLESS,
    "rows of a table that is none, each as the first",
)
add("tabs.txt", lambda _: b"a\tb\n" * 150_000, HARMLESS, "a table of a hundred and fifty thousand rows")
add("borders.txt", lambda _: b"-+-\n" * 150_000 + b"a | b\n", HARMLESS, "lines of a table without a cell")
add("columns.txt", lambda _: b"a  b\na   b\n" * 100_000, f"{HARMLESS} | {LARGE}", "columns that never agree")
add("border.txt", lambda _: b"-" * 1_900 + b"x\n" + b"- " * 900 + b"\n", HARMLESS, "a border that is nearly one")
