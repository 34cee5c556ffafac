"""Hostile JSON and source code."""

from __future__ import annotations

from tests.hostile.catalogue import HARMLESS, REFUSED, add, add_all

LARGE, CORRUPT = "DOCUMENT_TOO_LARGE", "DOCUMENT_CORRUPT"

add("deep.json", lambda _: b"[" * 5_000_000, LARGE, "five million arrays in each other")
add("deep-objects.json", lambda _: b'{"a":' * 1_000_000 + b"1", LARGE, "a million objects in each other")
add("values.json", lambda _: b"[" + b"1," * 4_000_000 + b"1]", LARGE, "four million numbers")
add("keys.json", lambda _: b"{" + b'"a":{},' * 200_000 + b'"a":1}', HARMLESS, "one key two hundred thousand times")
add(
    "long-key.json",
    lambda _: b'[{"' + b"k" * 1_000_000 + b'":[' + b'{"a":1},' * 999 + b"1]}]",
    HARMLESS,
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
