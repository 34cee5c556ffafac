"""HTML: the main content as blocks. Nothing is fetched, no script runs; hidden and surrounding parts are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from documents.media_types import HTML
from indexing.blocks import BlockKind, ParsedDocument
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.clean import clean, join_lines, one_line
from indexing.parsers.encoding import decode
from indexing.parsers.faq import pair_questions
from indexing.parsers.html_depth import refuse_deep
from indexing.parsers.html_furniture import is_furniture
from indexing.parsers.html_tables import is_layout, read_table

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,30})", re.IGNORECASE)
# Browsers read these names as their supersets, and files count on it.
_READ_AS = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    "address", "article", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "form", "header", "hr", "legend", "li", "main", "ol", "p",
    "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
}  # fmt: skip
_CONTENT = {"main", "article"}
_HARD_BREAK = "\u2028"  # cannot come from the file: cleaning has turned it into a line feed


def parse(content: bytes) -> ParsedDocument:
    """Raises `NoText` or `DocumentTooLarge`. The title is `<title>`, else the first `<h1>`; lines count in the extracted
    text.
    """
    tree = _tree(clean(decode(content, declared=declared_encoding(content))))
    pieces = _main_pieces(tree)
    title = tree.css_first("head > title")
    return assemble(HTML, pair_questions(pieces), title=(title.text() if title else "") or _first_h1(pieces))


def pieces_of(source: str) -> list[Piece]:
    """The pieces of a fragment of HTML (as Markdown may hold). Raises `DocumentTooLarge`."""
    body = _tree(source).body
    return _Walker().walk(body) if body is not None else []


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


def _main_pieces(tree: LexborHTMLParser) -> list[Piece]:
    for root in _roots(tree):
        if pieces := _Walker(_content_around(root)).walk(root):
            return pieces
    return []


def _roots(tree: LexborHTMLParser) -> Iterator[LexborNode]:
    """Where the content may be, best first."""
    yield from tree.css("main, [role=main]")[:1]
    articles = tree.css("article")
    if len(articles) == 1:  # several are a list of texts, each as much the content as the others
        yield articles[0]
    if tree.body is not None:
        yield tree.body


def _first_h1(pieces: list[Piece]) -> str | None:
    return next((piece.text for piece in pieces if piece.kind is BlockKind.HEADING and piece.level == 1), None)


class _Walker:
    """Collects pieces in document order, without recursion: files nest deeper than Python's stack.

    Text gathers in `_buffer` until a block begins or ends. A header inside the content keeps only its headings: the
    rest of it is dates, authors and buttons. A header belongs to the text, rather than to the page around it, inside a
    `<main>` or `<article>`; `content` says how many of these are around what is walked.
    """

    def __init__(self, content: int = 0) -> None:
        self._content = content
        self._pieces: list[Piece] = []
        self._buffer: list[str] = []
        self._level: int | None = None  # of the open heading
        self._counters: list[int | None] = []  # per open list: the next number, None for bullets
        self._marker: str | None = None  # what the open list item's first text starts with
        self._headers = 0

    def walk(self, root: LexborNode) -> list[Piece]:
        open_nodes: list[tuple[LexborNode, bool]] = [(child, False) for child in reversed(_children(root))]
        while open_nodes:
            node, leaving = open_nodes.pop()
            if leaving:
                self._leave(str(node.tag))
            elif self._enter(node):
                open_nodes.append((node, True))
                open_nodes.extend((child, False) for child in reversed(_children(node)))
        self._flush()
        return self._pieces

    def _enter(self, node: LexborNode) -> bool:
        """Take in `node`; whether its children are to be walked."""
        tag = str(node.tag)
        if node.is_text_node:
            self._buffer.append(node.text_content or "")
            return False
        if tag == "br":
            self._buffer.append(_HARD_BREAK)
        elif tag == "img":
            self._buffer.append(node.attributes.get("alt") or "")
        elif is_furniture(node, inside_content=self._content > 0):
            return False
        elif tag == "pre":
            self._flush()
            self._pieces.append(Piece(BlockKind.CODE, _preformatted(node)))
            return False
        elif tag == "table" and not is_layout(node):
            self._flush()
            self._pieces.extend(read_table(node, cell_text=self._cell_text))
            return False
        else:
            self._open(node, tag)
            return True
        return False

    def _open(self, node: LexborNode, tag: str) -> None:
        if tag in _BLOCKS or tag in _HEADINGS:
            self._flush()
        if tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag in _CONTENT:
            self._content += 1
        elif tag == "header":
            self._headers += 1
        elif tag == "ol":
            start = node.attributes.get("start") or "1"
            self._counters.append(int(start) if re.fullmatch(r"-?\d{1,6}", start) else 1)
        elif tag == "ul":
            self._counters.append(None)
        elif tag == "li":
            number = self._counters[-1] if self._counters else None
            self._marker = "" if number is None else f"{number}. "
            if number is not None:
                self._counters[-1] = number + 1
        elif tag == "dd":
            self._marker = ""

    def _leave(self, tag: str) -> None:
        if tag in _BLOCKS or tag in _HEADINGS:
            self._flush()
        if tag in _HEADINGS:
            self._level = None
        elif tag in _CONTENT:
            self._content -= 1
        elif tag == "header":
            self._headers -= 1
        elif tag in ("ol", "ul"):
            self._counters.pop()
        elif tag in ("li", "dd"):
            self._marker = None

    def _flush(self) -> None:
        text = _running_text("".join(self._buffer))
        self._buffer.clear()
        if not text or (self._headers and self._level is None):
            return
        if self._level is not None:
            self._pieces.append(Piece(BlockKind.HEADING, text, level=self._level))
        elif self._marker is not None:
            depth = max(len(self._counters) - 1, 0)
            self._pieces.append(Piece(BlockKind.LIST_ITEM, self._marker + text, depth=depth))
            self._marker = None
        else:
            self._pieces.append(Piece(BlockKind.PARAGRAPH, text))

    def _cell_text(self, cell: LexborNode) -> str:
        return " ".join(piece.text for piece in _Walker(self._content).walk(cell))


def _children(node: LexborNode) -> list[LexborNode]:
    children = []
    child = node.first_child
    while child is not None:
        children.append(child)
        child = child.next
    return children


def _content_around(root: LexborNode) -> int:
    """How many elements of content `root` is inside of; itself is one of them."""
    count = 0
    node: LexborNode | None = root
    while node is not None:
        count += node.tag in _CONTENT
        node = node.parent
    return count


def _running_text(source: str) -> str:
    """Source line breaks give way to a running line, `<br>` becomes a line feed."""
    parts = (join_lines([one_line(line) for line in part.split("\n")]) for part in source.split(_HARD_BREAK))
    return "\n".join(part for part in parts if part)


def _preformatted(node: LexborNode) -> str:
    for line_break in node.css("br"):
        line_break.replace_with("\n")
    return node.text()
