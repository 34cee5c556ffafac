"""JSON as a person would write it down: keys as headings, records as tables, lists and lines of “key: value”."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from documents.media_types import JSON
from indexing.blocks import BlockKind, ParsedDocument
from indexing.locators import Locator
from indexing.parsers import limits
from indexing.parsers.assemble import Piece, assemble
from indexing.parsers.clean import one_line
from indexing.parsers.encoded import told, without_encoded
from indexing.parsers.encoding import decode_text
from indexing.parsers.json_values import Array, Object, Scalar, Value, read_values

_LONGEST_CELL = 200  # characters; longer texts are read as paragraphs
_MOST_COLUMNS = 40
_LONGEST_RECORD = 1_000  # characters of an item that is one paragraph, whatever is nested in it
_LONGEST_LIST = 200  # characters of a list of words that stands on one line
_DEEPEST_HEADING = 5  # levels of headings; what is nested deeper has its path in its lines
Path = tuple[str, ...]  # the keys and names that lead to a value

_NAMES = ("title", "name", "label", "标题", "名称", "題名", "名前")
_QUESTIONS = ("question", "q", "问题", "问", "問題", "質問")
_ANSWERS = ("answer", "a", "答案", "答", "回答")


def parse(content: bytes) -> ParsedDocument:
    """JSON and JSON Lines. Raises `NoText`, `DocumentCorrupt` with the line that is not JSON, or `DocumentTooLarge`. The
    title is what the outermost object is called."""
    encoded: list[str] = []
    # Here and not when it is written down: how long a value is decides how it is shown.
    values = read_values(decode_text(content), shortened=partial(without_encoded, found=encoded))
    whole = values[0] if len(values) == 1 else Array((1, 1), values)
    title = _named(whole, _NAMES)
    return assemble(JSON, _blocks(whole, ()), title=title.text if title else None, left_out=told(encoded))


def _blocks(value: Value, path: Path) -> Iterator[Piece]:
    if isinstance(value, Object):
        yield from _members(value, path)
    elif isinstance(value, Array):
        yield from _items(value, path)
    else:
        yield Piece(BlockKind.PARAGRAPH, value.text, lines=value.lines, path=path)


def _members(value: Object, path: Path) -> Iterator[Piece]:
    """Neighbouring members of few words together; each other one below its key."""
    for is_line, members in groupby(value.members, key=lambda member: _is_line(member[1])):
        if is_line:
            yield from _facts(list(members), path)
            continue
        for key, member in members:
            if len(path) >= _DEEPEST_HEADING:
                yield from _facts(list(_flat(key, member)), path)
            else:
                yield _heading(key, (member.lines[0], member.lines[0]), path)
                yield from _blocks(member, (*path, key))


def _items(value: Array, path: Path) -> Iterator[Piece]:
    if table := _table(value.items, path):
        yield table
        return
    for item in value.items:
        if isinstance(item, Scalar):
            yield Piece(BlockKind.LIST_ITEM, item.text, lines=item.lines, path=path)
        else:
            yield from _record(item, path)


def _record(item: Array | Object, path: Path) -> Iterator[Piece]:
    """One of a list: a question with its answer, a paragraph where it is short, else its blocks below its name."""
    if pair := _question_and_answer(item, path):
        yield pair
        return
    facts = list(_flat("", item))
    if len(path) >= _DEEPEST_HEADING or _characters(facts) <= _LONGEST_RECORD:
        yield from _facts(facts, path)
        return
    if name := _named(item, _NAMES):
        yield _heading(name.text, name.lines, path)
    yield from _blocks(item, (*path, name.text if name else ""))


def _heading(text: str, lines: tuple[int, int], path: Path) -> Piece:
    return Piece(BlockKind.HEADING, text, level=len(path) + 1, lines=lines, path=path)


def _facts(members: Sequence[tuple[str, Value]], path: Path) -> Iterator[Piece]:
    """Lines of “key: value”; a long text is a paragraph of its own."""
    for is_long, group in groupby(members, key=lambda member: len(_shown(member[1])) > _LONGEST_CELL):
        lines = [(_line(key, value), value.lines) for key, value in group]
        for part in [[line] for line in lines] if is_long else [lines]:
            text = "\n".join(line for line, _ in part)
            yield Piece(BlockKind.PARAGRAPH, text, lines=(part[0][1][0], part[-1][1][1]), path=path)


def _characters(facts: Sequence[tuple[str, Value]]) -> int:
    return sum(len(text) for _, value in facts for text in _texts(value))


def _flat(path: str, value: Value) -> Iterator[tuple[str, Value]]:
    """What is nested in `value`, each with the keys that lead to it. Raises `DocumentTooLarge`: these repeat."""
    waiting, characters = [(path, value)], 0
    while waiting:
        path, value = waiting.pop()
        characters += len(path)
        limits.CHARACTERS.check(characters)
        if isinstance(value, Object) and value.members:
            waiting += [(f"{path}.{key}" if path else key, member) for key, member in reversed(value.members)]
        elif isinstance(value, Array) and not _is_line(value):
            waiting += [(path, item) for item in reversed(value.items)]
        else:
            yield path, value


def _table(items: Sequence[Value], path: Path) -> Piece | None:
    """Records of the same few words each, or rows of them."""
    if len(items) < 2 or any(isinstance(item, Scalar) for item in items):
        return None
    if all(isinstance(item, Array) for item in items):
        rows = [(item.items, item.lines) for item in items if isinstance(item, Array)]
        if not all(1 < len(row) <= _MOST_COLUMNS and all(map(_is_cell, row)) for row, _ in rows):
            return None
        return _rows([], [(tuple(map(_shown, row)), lines) for row, lines in rows], path)
    records = [item for item in items if isinstance(item, Object)]
    keys = list(dict.fromkeys(key for record in records for key, _ in record.members))
    named = sum(len(record.members) for record in records)
    if len(records) < len(items) or not 1 < len(keys) <= _MOST_COLUMNS or named * 2 < len(keys) * len(records):
        return None
    for record in records:
        found = [key for key, _ in record.members]
        if len(set(found)) < len(found) or not all(_is_cell(member) for _, member in record.members):
            return None
    if any(_question_and_answer(record, path) for record in records):
        return None
    cells = [({key: _shown(member) for key, member in record.members}, record.lines) for record in records]
    return _rows(keys, [(tuple(row.get(key, "") for key in keys), lines) for row, lines in cells], path)


def _rows(header: list[str], body: list[tuple[tuple[str, ...], tuple[int, int]]], path: Path) -> Piece:
    first, last = body[0][1][0], body[-1][1][1]
    rows = [(tuple(header), (first, last)), *body] if header else body
    return Piece(
        BlockKind.TABLE,
        rows=tuple(row for row, _ in rows),
        header_rows=1 if header else 0,
        lines=(first, last),
        path=path,
        parts=[Locator((number, number + 1), lines=lines) for number, (_, lines) in enumerate(rows)],
    )


def _question_and_answer(value: Value, path: Path) -> Piece | None:
    question, answer = _named(value, _QUESTIONS), _named(value, _ANSWERS)
    if question is None or answer is None or not isinstance(value, Object):
        return None
    others = [(key, member) for key, member in value.members if member is not question and member is not answer]
    lines = [
        one_line(question.text),
        answer.text,
        *(_line(*fact) for key, member in others for fact in _flat(key, member)),
    ]
    return Piece(BlockKind.FAQ, "\n".join(lines), lines=value.lines, path=path)


def _named(value: Value, names: Sequence[str]) -> Scalar | None:
    """The first text of an object under one of `names`, in their order."""
    if not isinstance(value, Object):
        return None
    found = {key.lower(): member for key, member in reversed(value.members) if isinstance(member, Scalar)}
    return next((found[name] for name in names if name in found and found[name].text.strip()), None)


def _is_line(value: Value) -> bool:
    """Whether a value is shown on the line of its key: a scalar, nothing at all, or a few words."""
    if isinstance(value, Array):
        texts = [item.text for item in value.items if isinstance(item, Scalar)]
        return len(texts) == len(value.items) and sum(map(len, texts)) <= _LONGEST_LIST
    return isinstance(value, Scalar) or not value.members


def _is_cell(value: Value) -> bool:
    return _is_line(value) and len(_shown(value)) <= _LONGEST_CELL


def _shown(value: Value) -> str:
    return ", ".join(_texts(value))


def _texts(value: Value) -> list[str]:
    if isinstance(value, Scalar):
        return [value.text]
    return [item.text for item in value.items if isinstance(item, Scalar)] if isinstance(value, Array) else []


def _line(key: str, value: Value) -> str:
    return f"{key}: {_shown(value)}" if key else _shown(value)
