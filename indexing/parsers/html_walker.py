"""The elements of a page in document order, made into pieces. Without recursion: files nest deeper than Python's stack."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from indexing.blocks import BlockKind, LeftOutReason
from indexing.parsers.assemble import Piece
from indexing.parsers.clean import join_lines, one_line
from indexing.parsers.html_drawings import words_of
from indexing.parsers.html_furniture import Aside, Fate, fate
from indexing.parsers.html_lists import ListNumbers
from indexing.parsers.html_math import formula, is_displayed
from indexing.parsers.html_tables import is_layout, read_table

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    "address", "article", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "li", "main", "ol", "p",
    "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
}  # fmt: skip
_CONTENT = {"main", "article"}
_ASKS = ("summary", "dt", "button")  # what may hold a question whose answer follows
_HARD_BREAK = "\u2028"  # cannot come from the file: cleaning has turned it into a line feed
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|brush:?)[-_ ]?([a-z0-9+#-]{1,20})", re.IGNORECASE)
_FORMULA = re.compile(r"\s*(?:\$\$(.+)\$\$|\\\[(.+)\\\])\s*", re.DOTALL)
_QUESTION = re.compile(r".{2,300}[?？]", re.DOTALL)


class Walker:
    """Collects pieces in document order.

    Text gathers in `_buffer` until a block begins or ends. A header inside the content keeps only its headings: the
    rest of it is dates, authors and buttons. A header belongs to the text, rather than to the page around it, inside a
    `<main>`, `<article>` or `<section>`; `content` says how many of the first two are around what is walked.
    """

    def __init__(self, aside: Aside, content: int = 0) -> None:
        self._aside = aside
        self._content = content
        self._pieces: list[Piece] = []
        self._buffer: list[str] = []
        self._level: int | None = None  # of the open heading
        self._lists: list[ListNumbers] = []  # the open ones
        self._marker: str | None = None  # what the open list item's first text starts with
        self._sections = 0
        self._headers = 0
        self._captions = 0
        self._readings: list[str] = []  # of the open ruby

    def walk(self, root: LexborNode) -> list[Piece]:
        open_nodes: list[tuple[LexborNode, bool]] = [(child, False) for child in reversed(children(root))]
        while open_nodes:
            node, leaving = open_nodes.pop()
            if leaving:
                self._leave(node, str(node.tag))
            elif self._enter(node):
                open_nodes.append((node, True))
                open_nodes.extend((child, False) for child in reversed(children(node)))
        self._flush()
        return list(_with_answers(self._pieces))

    def _enter(self, node: LexborNode) -> bool:
        """Take in `node`; whether its children are to be walked."""
        tag = str(node.tag)
        if node.is_text_node:
            self._buffer.append(node.text_content or "")
        elif tag == "br":
            self._buffer.append(_HARD_BREAK)
        elif tag == "img":
            self._buffer.append(node.attributes.get("alt") or "")
        elif (source := formula(node)) is not None:
            self._take_formula(node, source)
        elif (what := fate(node, inside_content=self._is_of_text(tag))) is not Fate.KEPT:
            self._aside.add(what, node)
        elif tag == "svg":
            self._take_drawing(node)
        elif tag == "rt":
            self._readings.append(node.text())
        elif tag == "rp":
            pass
        elif tag == "pre":
            self._flush()
            self._pieces.append(Piece(BlockKind.CODE, self._preformatted(node), language=_code_language(node)))
        elif tag == "textarea":
            self._flush()
            self._pieces.append(Piece(BlockKind.PARAGRAPH, node.text()))
        elif tag == "table" and not is_layout(node):
            self._flush()
            self._pieces.extend(read_table(node, cell_text=self._cell_text, aside=self._aside))
        else:
            self._open(node, tag)
            return True
        return False

    def _is_of_text(self, tag: str) -> bool:
        """Whether a header or a remark belongs to the text. A section's header does, wherever the section stands."""
        return self._content > 0 or (tag == "header" and self._sections > 0)

    def _take_formula(self, node: LexborNode, source: str) -> None:
        if is_displayed(node) and self._level is None:
            self._flush()
            self._pieces.append(Piece(BlockKind.FORMULA, source))
        else:
            self._buffer.append(f" {source} ")

    def _take_drawing(self, node: LexborNode) -> None:
        lines, name = words_of(node, self._aside)
        if lines and self._level is None:
            self._flush()
            self._buffer.append(_HARD_BREAK.join([name, *lines]))
            self._flush()
        else:
            self._buffer.append(" ".join([name, *lines]))

    def _open(self, node: LexborNode, tag: str) -> None:
        if self._is_block(node, tag):
            self._flush()
        if level := _level(node, tag):
            self._level = level
        elif tag in _CONTENT:
            self._content += 1
        elif tag == "section":
            self._sections += 1
        elif tag == "header":
            self._headers += 1
        elif tag == "figcaption":
            self._captions += 1
        elif tag in ("ol", "ul"):
            self._lists.append(ListNumbers(node))
        elif tag == "li":
            self._marker = self._lists[-1].marker(node) if self._lists else ""
        elif tag == "dd":
            self._marker = ""

    def _is_block(self, node: LexborNode, tag: str) -> bool:
        if tag == "button":  # as a word of a sentence or of a heading it is none
            return "aria-expanded" in node.attributes and self._level is None
        return tag in _BLOCKS or _level(node, tag) is not None

    def _leave(self, node: LexborNode, tag: str) -> None:
        if self._is_block(node, tag):
            self._flush(asks=tag in _ASKS)
        if _level(node, tag):
            self._level = None
        elif tag in _CONTENT:
            self._content -= 1
        elif tag == "section":
            self._sections -= 1
        elif tag == "header":
            self._headers -= 1
        elif tag == "figcaption":
            self._captions -= 1
        elif tag in ("ol", "ul"):
            self._lists.pop()
        elif tag in ("li", "dd"):
            self._marker = None
        elif tag == "ruby" and self._readings:
            self._buffer.append(f"({''.join(self._readings)})")
            self._readings.clear()

    def _flush(self, *, asks: bool = False) -> None:
        text = _running_text("".join(self._buffer))
        self._buffer.clear()
        if self._headers and self._level is None:
            self._aside.add_text(LeftOutReason.NAVIGATION, text)
            return
        if not text:
            return
        if self._level is not None:
            self._pieces.append(Piece(BlockKind.HEADING, text, level=self._level))
        elif self._captions:
            self._pieces.append(Piece(BlockKind.CAPTION, text))
        elif match := _FORMULA.fullmatch(text):
            self._pieces.append(Piece(BlockKind.FORMULA, (match[1] or match[2]).strip()))
        elif self._marker is not None:
            depth = max(len(self._lists) - 1, 0)
            self._pieces.append(Piece(BlockKind.LIST_ITEM, self._marker + text, depth=depth))
            self._marker = None
        elif asks and _QUESTION.fullmatch(text):
            self._pieces.append(Piece(BlockKind.FAQ, text))
        else:
            self._pieces.append(Piece(BlockKind.PARAGRAPH, text))

    def _cell_text(self, cell: LexborNode) -> str:
        """With the cells of a table in it."""
        pieces = Walker(self._aside, self._content).walk(cell)
        words = [
            piece.text if not piece.rows else " ".join(word for row in piece.rows for word in row) for piece in pieces
        ]
        return " ".join(filter(None, words))

    def _preformatted(self, root: LexborNode) -> str:
        """As it is written, without the buttons and line numbers that pages put into it."""
        texts: list[str] = []
        waiting = list(reversed(children(root)))
        while waiting:
            node = waiting.pop()
            if node.is_text_node:
                texts.append(node.text_content or "")
            elif node.tag == "br":
                texts.append("\n")
            elif (what := fate(node, inside_content=True)) is Fate.KEPT:
                waiting += reversed(children(node))
            else:
                self._aside.add(what, node)
        return "".join(texts)


def children(node: LexborNode) -> list[LexborNode]:
    found = []
    child = node.first_child
    while child is not None:
        found.append(child)
        child = child.next
    return found


def _level(node: LexborNode, tag: str) -> int | None:
    """Of a heading, also of one that only its role makes one."""
    if tag not in _HEADINGS and node.attributes.get("role") == "heading":
        level = node.attributes.get("aria-level") or ""
        return int(level) if re.fullmatch("[1-6]", level) else 2
    return _HEADINGS.get(tag)


def _with_answers(pieces: list[Piece]) -> Iterator[Piece]:
    """A question that was opened up or defined, with the text right after it; alone it is a paragraph."""
    question: Piece | None = None
    for piece in pieces:
        if question is not None and piece.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
            yield Piece(BlockKind.FAQ, f"{question.text}\n{piece.text}")
            question = None
            continue
        if question is not None:
            yield Piece(BlockKind.PARAGRAPH, question.text)
        question = piece if piece.kind is BlockKind.FAQ else None
        if question is None:
            yield piece
    if question is not None:
        yield Piece(BlockKind.PARAGRAPH, question.text)


def _running_text(source: str) -> str:
    """Source line breaks give way to a running line, `<br>` becomes a line feed."""
    parts = (join_lines([one_line(line) for line in part.split("\n")]) for part in source.split(_HARD_BREAK))
    return "\n".join(part for part in parts if part)


def _code_language(node: LexborNode) -> str | None:
    """As pages for programmers name it: on the element, on the `<code>` in it, or on what is around it."""
    code = node.css_first("code")
    for element in (node, code, node.parent, node.parent.parent if node.parent is not None else None):
        if element is None or not element.attributes:
            continue
        for name in ("data-lang", "data-language"):
            if value := element.attributes.get(name):
                return value.lower()[:20]
        if match := _LANGUAGE.search(element.attributes.get("class") or ""):
            return match[1].lower()
    return None
