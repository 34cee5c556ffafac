"""Hostile HTML and Markdown: depth, repetition, floods of marks, encodings that lie, scripts and addresses."""

from __future__ import annotations

from tests.hostile.catalogue import HARMLESS, REFUSED, add, add_all, hostile

LARGE, NONE, TIME, CRASH = "DOCUMENT_TOO_LARGE", "NO_TEXT", "PARSE_TIMEOUT", "PARSE_CRASHED"
SAID = "<p>What it says.</p>"


def fonts(count: int) -> str:
    return "".join(f"<font color={n}>" for n in range(count))


add_all(
    [
        ("divs.html", LARGE, "a hundred thousand levels", "<div>" * 100_000 + SAID),
        ("divs-closed-wrongly.html", LARGE, "levels that nobody closes", "<div></b></i></p>" * 30_000 + SAID),
        ("fonts-open.html", f"{LARGE} | {HARMLESS}", "formatting repeated in every paragraph",
         "<p>" + fonts(1_900) + "<p>x" * 20_000),
        ("fonts-tables.html", f"{LARGE} | {HARMLESS}", "formatting around tables", (fonts(50) + "<table><p>x<td>y") * 300),
        ("anchors.html", f"{LARGE} | {HARMLESS}", "links in links", "<a href=x><div>" * 50_000 + SAID),
        ("tables-nested.html", f"{LARGE} | {HARMLESS}", "tables in tables", "<table><tr><td>x<td>" * 30_000),
        ("foster.html", HARMLESS, "text that belongs before its table", "<table>" + "x<b>y" * 1_000 + SAID),
        ("attributes.html", LARGE, "an element of 200,000 attributes",
         f"<p {' '.join(f'a{n}=x' for n in range(200_000))}>{SAID}"),
        ("comments-open.html", f"{NONE} | {HARMLESS}", "comments without end", "<!--" * 500_000),
        ("less-than.html", f"{HARMLESS} | {NONE}", "200,000 open brackets", "<" * 200_000 + SAID),
        ("entities.html", HARMLESS, "eighty thousand character references", "&#x202e;&amp;&#0;&#xD800;" * 20_000 + SAID),
        ("entity-long.html", HARMLESS, "a reference without end", "&#" + "9" * 2_000_000 + ";" + SAID),
        ("plaintext.html", HARMLESS, "an element that nothing ends", "<plaintext>" * 1_900 + SAID),
        ("templates.html", f"{LARGE} | {NONE} | {HARMLESS}", "templates in templates", "<template>" * 50_000 + SAID),
        ("selects.html", f"{NONE} | {HARMLESS} | {LARGE}", "options in options", "<select><optgroup><option>" * 50_000 + SAID),
        ("frames.html", f"{NONE} | {HARMLESS}", "a page of frames", "<frameset>" * 1_500 + "<frame src=/>"),
        ("svg.html", f"{LARGE} | {HARMLESS} | {NONE}", "drawings in drawings", "<svg><foreignObject>" * 50_000 + SAID),
        ("spans.html", HARMLESS, "cells over millions of rows", "<table>" + "<tr><td rowspan=65534 colspan=1000>x<td>y" * 60),
        ("cells.html", LARGE, "600,000 cells", "<table>" + ("<tr>" + "<td>x" * 600) * 1_000),
        ("lists.html", LARGE, "200,000 items", "<ul>" + "<li>x" * 200_000),
        ("title-long.html", HARMLESS, "a title of two megabytes", f"<title>{'t ' * 1_000_000}</title>{SAID}"),
        ("start-long.html", HARMLESS, "a list that starts anywhere", f"<ol start={'9' * 99_999}><li>x</ol>{SAID}"),
        ("hidden-all.html", NONE, "everything is hidden", "<p hidden>x</p><nav>y</nav><p style='display:none'>z</p>"),
        ("scripts.html", HARMLESS, "scripts where a title, a heading and a text are",
         "<title><script>alert(1)</script></title><h1><img src=x onerror=alert(2)>H</h1>"
         "<p>&lt;script&gt;alert(3)&lt;/script&gt;"),
        ("utf-7.html", f"{HARMLESS}", "markup hidden in UTF-7",
         b"<meta charset=utf-7>+ADw-script+AD4-alert(1)+ADw-/script+AD4- text"),
        ("nul.html", f"{HARMLESS} | {REFUSED}", "NULs inside of tags",
         f"<p\0>Wh\0at it says<scr\0ipt>alert(1)</scr\0ipt>{SAID}"),
        ("xml.html", HARMLESS, "entities of XML in a page",
         '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><html><p>&e; What it says.</p></html>'),
    ]
)  # fmt: skip
for charset in (
    "punycode",
    "idna",
    "unicode_escape",
    "undefined",
    "zlib",
    "rot13",
    "mbcs",
    "utf-16",
    "x" * 30,
    "utf_32",
):
    add(
        f"charset-{charset[:14]}.html",
        lambda _, charset=charset: f"<meta charset={charset}><p>What it says".encode() + b" a-b9" * 5_000,
        HARMLESS,
        f"says to be in {charset[:14]}",
    )


@hostile("addresses.html", HARMLESS, "everything that a browser would fetch")
def addresses(url: str) -> bytes:
    tags = (
        f"<base href={url}><link rel=stylesheet href={url}><meta http-equiv=refresh content='0;url={url}'>"
        f"<script src={url}></script><img src={url} srcset='{url} 2x'><iframe src={url}></iframe><object data={url}></object>"
        f"<embed src={url}><video poster={url} src={url}></video><style>@import '{url}';</style><form action={url}></form>"
        f"<svg><image href={url} /><use href='{url}#x'/></svg><p style='background:url({url})'>What it says.</p>"
    )
    return tags.encode()


MARKDOWN = [
    ("brackets", "[" * 50_000),
    ("brackets-closed", "[" * 20_000 + "]" * 20_000),
    ("links-open", "[a](" * 30_000),
    ("links-angles", "[a](<b" * 20_000),
    ("images", "![" * 30_000 + "x"),
    ("stars", "*" * 100_000 + "x"),
    ("emphasis", "*a **b " * 20_000),
    ("emphasis-mixed", "*a_ " * 30_000),
    ("strikes", "~~a ~b " * 20_000),
    ("backticks", "".join("e" + "`" * n for n in range(500))),
    ("backticks-open", "`a " * 50_000),
    ("angles", "<" * 60_000),
    ("angles-open", "<a " * 40_000),
    ("comments-open", "<!-- a " * 30_000),
    ("declarations", "<!A " * 30_000 + "<?a " * 20_000 + "<![CDATA[ " * 20_000),
    ("autolinks", "<http://a" * 30_000),
    ("entities", "&#" * 50_000 + "&amp" * 50_000),
    ("escapes", "\\[" * 50_000),
    ("references", "".join(f"[r{n}]: /u\n" for n in range(20_000)) + "[r1] " * 20_000),
    ("reference-open", "[a]: <" * 20_000 + "\n" + "[a]: b '" * 20_000),
    ("quotes-lists", "> - " * 40 + "x\n\n" + "1. > " * 30 + "y\n"),
    ("tabs", "\t" * 100_000 + "x\n" + "-\t" * 40 + "y"),
    ("rules", "- - " * 50_000 + "x"),
    ("headings", "# " * 50_000 + "#" * 50_000),
    ("fences", "```\n~~~\n" * 20_000),
    ("html-blocks", "<div>\n\n" * 1_500 + "x"),
    ("front-matter", "---\n" + "a: b\n" * 20_000 + "title: x"),
    ("lines", "x\n" * 50_000),
    ("lines-indented", "".join(" " * (n % 200) + "x\n" for n in range(20_000))),
]  # fmt: skip
for name, source in MARKDOWN:
    add(
        f"{name}.md",
        lambda _, source=source: f"What it says.\n\n{source}\n".encode(),
        f"{HARMLESS} | {LARGE}",
        "a flood of marks",
    )
add("quotes-deep.md", lambda _: b">" * 20_000 + b" x", LARGE, "quotations in quotations")
add("lists-deep.md", lambda _: "".join("  " * n + "- x\n" for n in range(400)).encode(), LARGE, "lists in lists")
add(
    "table-wide.md",
    lambda _: b"|" + b"a|" * 1_000 + b"\n|" + b"-|" * 1_000 + b"\n" + b"|b\n" * 1_000,
    f"{LARGE} | {HARMLESS}",
    "a million cells that nobody wrote",
)
SCRIPTS = (
    "# <script>alert(1)</script>\n\n[x](javascript:alert(2)) <img src=x onerror=alert(3)>\n\n<svg onload=alert(4)>"
)
add("scripts.md", lambda _: SCRIPTS.encode(), HARMLESS, "scripts")
add(
    "page.md",
    lambda url: f"What it says. ![x]({url}) <img src={url}>\n\n<iframe src={url}></iframe>".encode(),
    HARMLESS,
    "addresses",
)
add("pdf.md", lambda _: b"%PDF-1.7\nx", REFUSED, "a PDF under another name")
