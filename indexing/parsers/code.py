"""Source code in units: functions and classes with the comments above them, each under the names it stands in.

A language without a grammar here comes apart at blank lines before lines that are not indented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from documents.media_types import CODE_LANGUAGES
from indexing.blocks import BlockKind, ParsedDocument
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.clean import clean
from indexing.parsers.encoding import decode_text

if TYPE_CHECKING:
    from tree_sitter import Node

    from indexing.parsers.grammars import Grammar

MOST_BYTES = 2_000_000  # that a grammar is asked about; larger files are data or made by programs
SMALL_CLASS = 600  # characters of a class that stays in one piece
SHORT_HEAD = 120  # characters of a class before its first member that are with that
DEEPEST = 6  # classes in namespaces in classes whose members are units

_LINE_END = re.compile("\r\n|\r|\n")
_IS_CPP = re.compile(r"^[^\S\n]*+(?:class|namespace|template|using)\b|\w::\w", re.MULTILINE)
_CLOSES = re.compile(r"\W*+(?:end\W*+)?|\s*+[)\]}][\s)\]};,]*+(?://|/\*).*")
_STARTS_BLOCK = re.compile(r"[^\s)\]}]")
_FUNCTIONS = ("arrow_function", "function_expression", "generator_function", "class")
_ABOVE = ("comment", "line_comment", "block_comment", "attribute_item", "attribute_list")


Path = tuple[str, ...]
_Range = tuple[int, int, Path]  # lines [first, end), 0-based, and the names they stand in


@dataclass(frozen=True, slots=True)
class _Unit:
    """Lines [first, end), 0-based, of a definition; `members` are those in its body."""

    names: Path
    first: int
    end: int
    members: tuple[_Unit, ...] = ()


def parse(content: bytes, media_type: str) -> ParsedDocument:
    """Raises `NoText` or `DocumentTooLarge`. Every line of the file that is not blank is in exactly one block."""
    language = CODE_LANGUAGES[media_type]
    # Line by line, so that nothing inside a line (a form feed) changes the count.
    lines = [clean(line).replace("\n", " ").rstrip() for line in _LINE_END.split(decode_text(content))]
    if language == "c" and _IS_CPP.search("\n".join(lines)):
        language = "cpp"  # headers of both are called .h
    return assemble(media_type, _pieces(lines, language))


def _pieces(lines: Sequence[str], language: str) -> Iterator[Piece]:
    units = _units("\n".join(lines), language)
    ranges = _paragraphs(lines) if units is None else _ranges(units, lines, 0, len(lines), ())
    for first, end, path in _joined(ranges, lines):
        text = "\n".join(lines[first:end])
        yield Piece(BlockKind.CODE, text, lines=(first + 1, end), language=language, path=path)


def _joined(ranges: Iterator[_Range], lines: Sequence[str]) -> Iterator[_Range]:
    """Without blank lines around; brackets are with what they close."""
    before: _Range | None = None
    for first, end, path in ranges:
        while first < end and not lines[first]:
            first += 1
        while end > first and not lines[end - 1]:
            end -= 1
        if first == end:
            continue
        if before is not None and all(map(_CLOSES.fullmatch, lines[first:end])):
            before = (before[0], end, before[2])
        else:
            if before is not None:
                yield before
            before = (first, end, path)
    if before is not None:
        yield before


def _paragraphs(lines: Sequence[str]) -> Iterator[_Range]:
    first = 0
    for number in range(1, len(lines)):
        if not lines[number - 1] and _STARTS_BLOCK.match(lines[number]):
            yield first, number, ()
            first = number
    yield first, len(lines), ()


def _ranges(units: Sequence[_Unit], lines: Sequence[str], first: int, end: int, path: Path) -> Iterator[_Range]:
    """The units of lines [first, end) and what is between them; classes that are not small, member by member."""
    for unit in units:
        if first < unit.first:
            yield first, unit.first, path
        inner = (*path, *unit.names)
        if unit.members and _characters(lines, unit.first, unit.end) > SMALL_CLASS:
            members = list(unit.members)
            if _characters(lines, unit.first, members[0].first) <= SHORT_HEAD:
                members[0] = replace(members[0], first=unit.first)
            yield from _ranges(members, lines, unit.first, unit.end, inner)
        else:
            yield unit.first, unit.end, inner
        first = unit.end
    if first < end:
        yield first, end, path


def _characters(lines: Sequence[str], first: int, end: int) -> int:
    return sum(map(len, lines[first:end]))


def _units(source: str, language: str) -> list[_Unit] | None:
    """The definitions of a file; None where there is no grammar."""
    from indexing.parsers.grammars import GRAMMARS  # only here: its library takes time to load

    grammar = GRAMMARS.get(language)
    content = source.encode()
    if grammar is None or len(content) > MOST_BYTES:
        return None
    return _definitions(grammar.parser().parse(content).root_node, grammar, 0, DEEPEST)


def _definitions(around: Node, grammar: Grammar, first: int, depth: int) -> list[_Unit]:
    """Those in `around`, in order, none of which shares a line with the one before; `first`: the first line for them."""
    found: list[_Unit] = []
    above: int | None = None  # where the comments begin that reach down to the next node
    reached = first
    for node in _flattened(around, grammar):
        begin, end = node.start_point[0], _end(node)
        if node.type in _ABOVE:
            if begin < reached:
                continue  # behind other code on its line
            above = begin if above is None or begin > reached else above
            reached = end
            continue
        names, definition = _named(node, grammar)
        if definition is not None:
            top = above if above is not None and begin <= reached else begin
            top, last = max(top, found[-1].end if found else first), max(end, begin + 1)
            if top <= begin:
                members = _members(definition, grammar, begin + 1, depth)
                found.append(_Unit(names, top, last, tuple(unit for unit in members if unit.end <= last)))
        above, reached = None, end
    return found


def _members(definition: Node, grammar: Grammar, first: int, depth: int) -> list[_Unit]:
    body = definition.child_by_field_name("body")
    if body is None or not depth or definition.type not in grammar.containers:
        return []
    return _definitions(body, grammar, max(first, body.start_point[0]), depth - 1)


def _flattened(around: Node, grammar: Grammar) -> Iterator[Node]:
    waiting = list(reversed(around.children))
    while waiting:
        node = waiting.pop()
        if node.type in grammar.transparent:
            waiting += reversed(node.children)
        else:
            yield node


def _end(node: Node) -> int:
    """The line after the last one of a node; line feeds at the end of some nodes are not theirs."""
    row, column = node.end_point
    return row + 1 if column or row == node.start_point[0] else row


def _named(node: Node, grammar: Grammar) -> tuple[Path, Node | None]:
    """The names of the unit that `node` is or wraps, and the unit; none where it is no unit."""
    for _ in range(DEEPEST):
        if node.type not in grammar.wrappers:
            break
        inner = next((child for child in node.named_children if child.type in grammar.units | grammar.wrappers), None)
        if inner is None:
            return (), None
        node = inner
    if node.type not in grammar.units:
        return (), None
    if node.type in grammar.containers and node.child_by_field_name("body") is None:
        return (), None  # named here, defined elsewhere
    names = _names(node)
    return names, node if names else None


def _names(node: Node) -> Path:
    if node.type == "lexical_declaration":  # const answer = () => 42
        declared = node.named_children[0] if node.named_children else None
        value = declared.child_by_field_name("value") if declared is not None else None
        return _names(declared) if declared is not None and value is not None and value.type in _FUNCTIONS else ()
    if node.type == "type_declaration":  # Go's, which may declare several
        return tuple(name for spec in node.named_children[:1] for name in _names(spec))
    named = (
        node.child_by_field_name("name") or node.child_by_field_name("type") or node.child_by_field_name("declarator")
    )
    if node.type in ("function_definition", "type_definition") and node.child_by_field_name("name") is None:
        named = _declared(node)
    if named is None:
        return ("default",) if node.type in ("class_declaration", "function_declaration") else ()
    receiver = node.child_by_field_name("receiver")
    owner = re.findall(r"\w+", _text(receiver))[-1:] if receiver is not None else []
    return (*owner, *(part for part in _text(named).split("::") if part))


def _declared(node: Node) -> Node | None:
    """The name in C's declarators: `char *(*name(int))[3]`."""
    for _ in range(DEEPEST * 2):
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type == "parenthesized_declarator":
            inner = next(iter(node.named_children), None)
        if inner is None:
            return None if node.type in ("function_definition", "type_definition") else node
        node = inner
    return None


def _text(node: Node) -> str:
    return " ".join((node.text or b"").decode("utf-8", "replace").split())
