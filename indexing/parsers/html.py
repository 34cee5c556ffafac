"""HTML: the main content as blocks. Nothing is fetched, no script runs; hidden and surrounding parts are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from selectolax.lexbor import LexborHTMLParser, LexborNode

from documents.media_types import HTML
from indexing.blocks import BlockKind, LeftOut, ParsedDocument
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.clean import clean
from indexing.parsers.encoding import decode
from indexing.parsers.faq import pair_questions
from indexing.parsers.html_depth import refuse_deep
from indexing.parsers.html_furniture import Aside, Fate, fate, shown_text
from indexing.parsers.html_walker import Walker, children

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,30})", re.IGNORECASE)
# Browsers read these names as their supersets, and files count on it.
_READ_AS = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}
_CONTENT = "main, [role=main]"
# Where pages without such an element have their text, where it is most of the page's.
_NAMED_CONTENT = (
    "#content, #main, #main-content, #bodyContent, .main-content, .article-body, .article-content, .post-content,"
    " .entry-content, .markdown-body, [itemprop=articleBody]"
)
_MOST = 0.5  # of the page's characters
_LANGUAGE = re.compile(r"[a-z]{2,3}(?=[-_]|\Z)", re.IGNORECASE)


def parse(content: bytes) -> ParsedDocument:
    """Raises `NoText` or `DocumentTooLarge`. The title is `<title>`, else the first `<h1>`."""
    tree = _tree(clean(decode(content, declared=declared_encoding(content))))
    pieces, left_out = _main_pieces(tree)
    named = tree.css_first("head > title, body > title")  # a pixel in a head's `<noscript>` ends it
    title = (named.text() if named else "") or _first_h1(pieces)
    document = assemble(HTML, pair_questions(pieces), title=title, left_out=left_out)
    return document if document.language else replace(document, language=_declared_language(tree))


def pieces_of(source: str, aside: Aside) -> list[Piece]:
    """The pieces of a fragment of HTML (as Markdown may hold); what is left out goes to `aside`. Raises `DocumentTooLarge`."""
    body = _fragment(source)
    return Walker(aside).walk(body) if body is not None else []


def fate_of_tag(tag: str) -> Fate:
    """Of the element that `tag` begins, without its `>`."""
    node = LexborHTMLParser(f"<body>{tag}>").css_first("body > *")
    return fate(node, inside_content=True) if node is not None else Fate.KEPT


def words_of(source: str) -> str:
    """All text of a fragment, on one line. Raises `DocumentTooLarge`."""
    body = _fragment(source)
    return shown_text(body) if body is not None else ""


def _fragment(source: str) -> LexborNode | None:
    return _tree(f"<body>{source}").body  # or what may stand in a head would be there


def _tree(source: str) -> LexborHTMLParser:
    refuse_deep(source)
    return LexborHTMLParser(source)


def declared_encoding(content: bytes) -> str | None:
    """The encoding that a page names, as browsers read the name."""
    match = _META_CHARSET.search(content[:4096])
    if match is None:
        return None
    name = match[1].decode("ascii").lower()
    # A file whose bytes could be read this far is not in UTF-16, whatever it says.
    return None if name.startswith("utf-16") else _READ_AS.get(name, name)


def _main_pieces(tree: LexborHTMLParser) -> tuple[list[Piece], list[LeftOut]]:
    """The pieces of the best place that has some, and what is left out around and inside of it."""
    for root in _roots(tree):
        aside = Aside()
        if pieces := Walker(aside, _content_around(root)).walk(root):
            _put_aside(root, aside)
            return pieces, aside.left_out()
    return [], []


def _roots(tree: LexborHTMLParser) -> Iterator[LexborNode]:
    """Where the content may be, best first."""
    yield from tree.css(_CONTENT)[:1]
    if tree.body is None:
        return
    articles = tree.css("article")
    named = tree.css(_NAMED_CONTENT)[:1]
    # Several articles are a list of texts, each as much the content as the others; a small one is a teaser or a remark.
    if alone := [*(articles if len(articles) == 1 else []), *named]:
        most = _characters(tree.body) * _MOST
        yield from (root for root in alone if _characters(root) >= most)
    yield tree.body


def _characters(root: LexborNode) -> int:
    return sum(len(piece.text) or sum(map(len, chain(*piece.rows))) for piece in Walker(Aside()).walk(root))


def _put_aside(root: LexborNode, aside: Aside) -> None:
    """What stands beside the chosen place is navigation, as far as a reader sees it."""
    node = root
    while node.tag != "body" and node.parent is not None:
        for sibling in children(node.parent):
            if sibling.mem_id == node.mem_id:
                continue
            what = fate(sibling, inside_content=False) if sibling.is_element_node else Fate.NAVIGATION
            aside.add(Fate.NAVIGATION if what is Fate.KEPT else what, sibling)
        node = node.parent


def _declared_language(tree: LexborHTMLParser) -> str | None:
    """Believed only where the text does not say: templates declare English whatever is written in them."""
    root = tree.css_first("html")
    match = _LANGUAGE.match(root.attributes.get("lang") or "") if root is not None else None
    return match[0].lower() if match else None


def _first_h1(pieces: list[Piece]) -> str | None:
    return next((piece.text for piece in pieces if piece.kind is BlockKind.HEADING and piece.level == 1), None)


def _content_around(root: LexborNode) -> int:
    """How many elements of content `root` is inside of; itself is one of them."""
    count = 0
    node: LexborNode | None = root
    while node is not None:
        count += node.tag in ("main", "article")
        node = node.parent
    return count
