"""Hostile texts, and files of types that are not accepted."""

from __future__ import annotations

import random

from tests.hostile.catalogue import HARMLESS, REFUSED, add, add_all

LARGE, NONE, CORRUPT = "DOCUMENT_TOO_LARGE", "NO_TEXT", "DOCUMENT_CORRUPT"

add("line-of-50-megabytes.txt", lambda _: b"a line that does not end " * 2_000_000, LARGE, "one line of 50 MB")
add(
    "line-before-a-damaged-byte.txt",
    lambda _: b"an ASCII line that is long " * 40_000 + b"\n\xa8",
    HARMLESS,
    "a megabyte in a line, and one byte elsewhere whose encoding is to be told",
)
add("word-of-a-megabyte.txt", lambda _: b"x" * 1_000_000, HARMLESS, "one word of a million letters")
add("han-without-end.txt", lambda _: ("汉" * 200_000).encode(), HARMLESS, "200,000 characters without a stop")
add("line-feeds.txt", lambda _: b"\n" * 5_000_000 + b"text", LARGE, "five million empty lines")
add("paragraphs-million.txt", lambda _: b"x\n\n" * 1_000_000, LARGE, "a million paragraphs of one letter")
add(
    "marks.txt",
    lambda _: ("a" + "\u0301\u0316" * 500_000).encode(),
    HARMLESS,
    "a million marks on one letter: sorting them",
)
add(
    "marks-tibetan.txt",
    lambda _: ("ཀ" + "\u0f73" * 300_000).encode(),
    f"{HARMLESS} | {NONE}",
    "marks that are two each",
)
add("jamo.txt", lambda _: ("\u1100\u1161\u11a8" * 100_000).encode(), HARMLESS, "Korean taken apart")
add("joiners.txt", lambda _: ("👩" + "\u200d👩" * 100_000).encode(), HARMLESS, "a family of a hundred thousand")
add(
    "numbers.txt",
    lambda _: b"1.1" + b".1" * 100_000 + b" A\n" + b"1." * 100_000,
    HARMLESS,
    "a heading's number without end",
)
add("dots.txt", lambda _: b"Chapter 1 " + b"." * 1_000_000 + b" 1\n", HARMLESS, "a contents entry of a million dots")
add("closers.txt", lambda _: (".”’)" * 200_000 + "x").encode(), HARMLESS, "ends of sentences without end")
add("spaces.txt", lambda _: b"a" + b" " * 2_000_000 + b"b", HARMLESS, "two megabytes of spaces")
add("questions.txt", lambda _: ("Q: x?\nA: y\n问：x\n答：y\n" * 10_000).encode(), HARMLESS, "questions without end")
add("bullets.txt", lambda _: b"- " * 100_000 + b"x\n" + b"-\n" * 50_000, HARMLESS, "bullets of bullets")
add(
    "gb18030-noise.txt",
    lambda _: b"\x81\x30\x81\x30" * 50_000,
    f"{HARMLESS} | {NONE} | {REFUSED}",
    "legal in GB18030, no text",
)
add(
    "random.txt",
    lambda _: random.Random(7).randbytes(200_000),
    REFUSED,
    "noise",
)

add_all(
    [
        ("nul.txt", REFUSED, "a NUL between all words", "before\0after \0 the end\0" * 50),
        ("surrogates.txt", HARMLESS, "halves of pairs, as UTF-8 forbids them", "one \ud800 two \udfff three"),
        ("overrides.txt", HARMLESS, "text that is shown backwards", "pay \u202e001\u202c yuan \u2066x\u2069"),
        ("invisible.txt", NONE, "only characters without width", "\u200b\ufeff\u2060\u00ad\u202e\u200e" * 999),
        ("spaces-only.md", NONE, "only spaces", " \t\n\u3000\u00a0" * 999),
        (
            "utf-16-unmarked.txt",
            HARMLESS,
            "UTF-16 without its mark",
            "Some text in two bytes each.".encode("utf-16-le"),
        ),
        ("utf-16-odd.txt", HARMLESS, "UTF-16 with half a character", "\ufeffSome text".encode("utf-16-le") + b"x"),
        ("utf-32.txt", HARMLESS, "UTF-32", "\ufeffSome text".encode("utf-32-le")),
        ("mark-only.txt", NONE, "a mark and nothing", b"\xff\xfe"),
        (
            "marks-mixed.txt",
            f"{HARMLESS} | {REFUSED}",
            "marks of two encodings",
            b"\xef\xbb\xbf\xff\xfe" + b"text " * 99,
        ),
        (
            "mark-lies.txt",
            f"{HARMLESS} | {NONE}",
            "UTF-8 behind the mark of UTF-16",
            b"\xff\xfe" + "正文。".encode() * 99,
        ),
        ("nul-only.txt", REFUSED, "only NULs", b"\0" * 9_999),
        ("empty.txt", REFUSED, "nothing at all", b""),
        ("markup.txt", HARMLESS, "a script in a text", "<script>alert(1)</script><img src=x onerror=alert(2)>"),
        ("program.txt", REFUSED, "a program", b"\x7fELF\x02\x01\x01" + bytes(99)),
        ("rtf.txt", REFUSED, "another format in letters", r"{\rtf1\ansi {\object\objdata 0105}}"),
        ("postscript.txt", REFUSED, "a program in letters", "%!PS\n(/etc/passwd) (r) file"),
        ("image.md", REFUSED, "an image", b"\x89PNG\r\n\x1a\n" + bytes(99)),
        ("archive.txt", REFUSED, "an archive", b"\x1f\x8b\x08\0" + bytes(99)),
        ("picture.svg", REFUSED, "not accepted", '<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'),
        ("table.csv", HARMLESS, "a formula that calls a program", "=cmd|'/c calc'!A1,2\n"),
        ("quote.csv", HARMLESS, "a quote that is never closed", 'a,"b\n' + "c,d\n" * 9_999),
        ("wide.csv", "DOCUMENT_TOO_LARGE", "a million cells in a row", "," * 1_000_000 + "x"),
        ("commas.csv", NONE, "only separators", ",,,\n" * 9_999),
        ("mail.eml", REFUSED, "not accepted", "From: a\nContent-Type: text/html\n\n<b>x"),
        ("program.exe", REFUSED, "not accepted", b"MZ\x90\0"),
        ("no-extension", REFUSED, "not accepted", "text"),
        ("text.pdf.exe", REFUSED, "two extensions", b"%PDF-1.7"),
        ("macros.docm", "DOCUMENT_CORRUPT", "four bytes", b"PK\x03\x04"),
        ("text.pdf", REFUSED, "a text under another name", "Only text."),
        ("\u202efdp.txt", HARMLESS, "a name that is shown backwards", "The text of a file with a strange name."),
        (
            "a\r\nSet-Cookie: b.txt",
            HARMLESS,
            "a name that would end a header",
            "The text of a file with a name of two lines.",
        ),
        ("<img src=x onerror=alert(1)>.md", HARMLESS, "a name of markup", "# <script>alert(1)</script>\n\nText."),
    ]
)
