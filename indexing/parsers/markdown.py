"""Markdown (CommonMark with tables, footnotes, definitions and formulas): the blocks, with the lines of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from documents.media_types import MARKDOWN
from indexing.blocks import BlockKind, ParsedDocument
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.clean import clean, join_lines
from indexing.parsers.encoding import decode_text
from indexing.parsers.faq import pair_questions
from indexing.parsers.front_matter import read_front_matter
from indexing.parsers.html_furniture import Aside
from indexing.parsers.limits import MARKDOWN_BRACKETS, MARKDOWN_DEPTH
from indexing.parsers.markdown_html import RawHtml

_LINE_END = re.compile("\r\n|\r|\n")
_BLANK_LINES = re.compile(r"\n(?=\n)")
_WORDS = ("text", "code_inline", "image", "text_special", "math_inline", "math_inline_double")
_HARD_BREAK = "\u2028"  # cannot come from the file: cleaning has turned it into a line feed


def parse(content: bytes) -> ParsedDocument:
    """Raises `NoText` or `DocumentTooLarge`. The title is the front matter's, or the first heading if of level 1."""
    # Line by line, so that nothing inside a line (a form feed) changes the count.
    source = "\n".join(clean(line).replace("\n", " ") for line in _LINE_END.split(decode_text(content)))
    front = read_front_matter(source)
    source = "\n" * front.lines + source.split("\n", front.lines)[-1] if front.lines else source  # line numbers stay
    for paragraph in _BLANK_LINES.split(source):
        MARKDOWN_BRACKETS.check(paragraph.count("["))
    tokens = _parser().parse(source)
    if any(token.level >= MARKDOWN_DEPTH.value - 1 for token in tokens):  # what is inside of it was left out
        raise MARKDOWN_DEPTH.exceeded()
    aside = Aside()
    pieces = [*front.pieces, *(_joined(piece) for piece in pair_questions(_pieces(tokens, RawHtml(aside))))]
    left_out = [*front.left_out, *aside.left_out()]
    return assemble(MARKDOWN, pieces, title=front.title or _first_heading(pieces), left_out=left_out)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MARKDOWN_DEPTH.value}).enable(["table", "strikethrough"])
    parser.use(deflist_plugin).use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    parser.use(footnote_plugin, inline=False, move_to_end=False)
    return parser


def _first_heading(pieces: Sequence[Piece]) -> str | None:
    first = next((piece for piece in pieces if piece.kind is BlockKind.HEADING), None)
    return first.text if first is not None and first.level == 1 else None


def _pieces(tokens: Sequence[Token], raw: RawHtml) -> Iterator[Piece]:
    """Walk the flat token stream; `markers` holds, per open list, the number or mark its next paragraph starts with."""
    markers: list[str] = []
    counters: list[int | None] = []  # per open list: the next number, None for bullets
    note = ""  # the label of the footnote whose text comes next
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.nesting == -1:
            raw.leave(token.level)
        if token.type == "table_open":
            end = _closing(tokens, position)
            yield from raw.shown(_table(tokens[position : end + 1], raw.aside))
            position = end
        elif token.type in ("ordered_list_open", "bullet_list_open"):
            counters.append(int(token.attrGet("start") or 1) if token.type == "ordered_list_open" else None)
            markers.append("")
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            counters.pop()
            markers.pop()
        elif token.type == "list_item_open":
            number = counters[-1]
            markers[-1] = "-" if number is None else f"{number}. "
            counters[-1] = None if number is None else number + 1
        elif token.type == "dd_open":
            markers.append("-")
        elif token.type == "dd_close":
            markers.pop()
        elif token.type == "footnote_reference_open":
            note = f"[{token.meta['label']}] "
        elif token.type == "inline":
            yield from raw.shown(_prose(tokens[position - 1], token, markers, note, raw.aside))
            note = ""
        elif token.type in ("fence", "code_block"):
            yield from raw.shown(_code(token))
        elif token.type in ("math_block", "math_block_label"):
            yield from raw.shown(Piece(BlockKind.FORMULA, token.content.strip(), lines=_lines(token)))
        elif token.type == "html_block":
            yield from _from_html(token, raw)
        position += 1


def _from_html(token: Token, raw: RawHtml) -> Iterator[Piece]:
    from indexing.parsers.html import pieces_of  # only here: most files hold none, and its library takes time to load

    return (replace(piece, lines=_lines(token)) for piece in pieces_of(raw.read(token.content, token.level), raw.aside))


def _code(token: Token) -> Piece:
    language = token.info.split()[0].strip("{}.").lower() if token.info.strip() else None
    if language == "math":
        return Piece(BlockKind.FORMULA, token.content.strip(), lines=_lines(token))
    return Piece(BlockKind.CODE, token.content, lines=_lines(token), language=language or None)


def _prose(opening: Token, inline: Token, markers: list[str], note: str, aside: Aside) -> Piece:
    """A heading, a list item (the first paragraph in it) or a paragraph; a footnote with its label."""
    text, lines = note + _inline_text(inline, aside), _lines(opening) or _lines(inline)
    if opening.type == "heading_open":
        return Piece(BlockKind.HEADING, text, level=int(opening.tag[1]), lines=lines)
    if formula := _only_formula(inline):
        return Piece(BlockKind.FORMULA, formula, lines=lines)
    if markers and markers[-1] and opening.type != "dt_open":
        number, markers[-1] = markers[-1].removeprefix("-"), ""
        return Piece(BlockKind.LIST_ITEM, number + text, lines=lines, depth=len(markers) - 1)
    return Piece(BlockKind.PARAGRAPH, text, lines=lines)


def _only_formula(inline: Token) -> str | None:
    """Of a paragraph that is one formula."""
    children = inline.children or []
    return children[0].content.strip() if len(children) == 1 and children[0].type.startswith("math_inline") else None


def _inline_text(inline: Token, aside: Aside) -> str:
    """What a reader sees of a paragraph: no marks and addresses, the description in place of an image."""
    parts, raw = [], RawHtml(aside)
    for child in inline.children or ():
        if child.type == "softbreak":
            parts.append("\n")
        elif child.type == "hardbreak":
            parts.append(_HARD_BREAK + "\n")  # the line feed keeps one line here for each line of the file
        elif child.type == "html_inline" and child.content.lower().startswith("<br"):
            parts.append(_HARD_BREAK)
        elif child.type == "html_inline":
            raw.read(child.content)
        elif child.type == "footnote_ref" and raw.passes(child.meta["label"]):
            parts.append(f"[{child.meta['label']}]")
        elif child.type in _WORDS and raw.passes(child.content):
            parts.append(child.content)
    return "".join(parts)


def _joined(piece: Piece) -> Piece:
    """The source's own line breaks give way to one running line; the author's hard breaks stay."""
    if piece.kind not in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
        return piece
    parts = piece.text.replace(_HARD_BREAK + "\n", _HARD_BREAK).split(_HARD_BREAK)
    return replace(piece, text="\n".join(join_lines([line.strip() for line in part.split("\n")]) for part in parts))


def _table(tokens: Sequence[Token], aside: Aside) -> Piece:
    rows: list[list[str]] = []
    header_rows = 0
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline_text(token, aside))
        elif token.type == "thead_close":
            header_rows = len(rows)
    cells = tuple(tuple(row) for row in rows)
    return Piece(BlockKind.TABLE, rows=cells, header_rows=header_rows, lines=_lines(tokens[0]))


def _closing(tokens: Sequence[Token], position: int) -> int:
    """The position of the token that closes the one at `position`."""
    level = tokens[position].level
    return next(i for i in range(position + 1, len(tokens)) if tokens[i].nesting == -1 and tokens[i].level == level)


def _lines(token: Token) -> tuple[int, int] | None:
    # A term that is defined says that it ends where it begins.
    return (token.map[0] + 1, max(token.map[0] + 1, token.map[1])) if token.map else None
