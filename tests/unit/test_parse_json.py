"""JSON and JSON Lines: keys as headings, records as tables, lists and lines, each at its lines of the file."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.media_types import JSON, UnsupportedFile, detect
from indexing.blocks import LeftOut, LeftOutReason
from indexing.errors import DocumentCorrupt, DocumentTooLarge, NoText
from indexing.messages import error_sentence
from indexing.parsers import limits
from indexing.parsers.clean import clean
from indexing.parsers.json_file import parse
from indexing.splitters import split
from indexing.verification import claims_of, verify
from tests.unit.blocks_asserts import check, outline

DOCUMENT = """\
{
  "name": "差旅系统", "version": 2.50,
  "owner": {
    "team": "财务部",
    "tags": ["报销", "travel"]
  },
  "limits": [
    {"city": "北京", "max": 600},
    {"city": "Shanghai", "max": 650, "note": "incl. \\u00e9t\\u00e9"}
  ],
  "faq": [
    {"question": "怎么报销？", "answer": "在系统中提交。", "topic": "费用"}
  ],
  "rules": ["%s", "Keep receipts."],
  "checked": true
}
""" % ("Book early. " * 20)


def test_keys_are_headings_and_records_tables() -> None:
    document = check(parse(DOCUMENT.encode()))
    assert (document.title, document.media_type) == ("差旅系统", JSON)
    assert outline(document) == [
        ("paragraph", "name: 差旅系统\nversion: 2.50"),
        ("h1", "owner"),
        ("paragraph", "team: 财务部\ntags: 报销, travel"),
        ("h1", "limits"),
        ("table", "city | max | note\n北京 | 600 | \nShanghai | 650 | incl. été"),
        ("h1", "faq"),
        ("faq", "怎么报销？\n在系统中提交。\ntopic: 费用"),
        ("h1", "rules"),
        ("list_item", ("Book early. " * 20).strip()),
        ("list_item", "Keep receipts."),
        ("paragraph", "checked: true"),
    ]
    assert [block.locator.lines for block in document.blocks] == [
        *((2, 2), (3, 3), (4, 5), (7, 7), (8, 9), (11, 11), (12, 12), (14, 14), (14, 14), (14, 14), (15, 15)),
    ]
    assert [block.heading_path for block in document.blocks if block.text.startswith(("team", "checked"))] == [
        ("owner",),
        (),
    ]
    table = document.blocks[4]
    assert (table.header_rows, [part.lines for part in table.parts]) == (1, [(8, 9), (8, 8), (9, 9)])


def test_one_value_on_each_line() -> None:
    source = '{"id": 1, "text": "one"}\r\n\r\n{"id": 2, "text": "zwei"}\r\n'
    document = check(parse(source.encode()))
    assert outline(document) == [("table", "id | text\n1 | one\n2 | zwei")]
    assert [part.lines for part in document.blocks[0].parts] == [(1, 3), (1, 1), (3, 3)]


def test_records_that_are_no_rows_are_paragraphs_or_sections() -> None:
    long = "A text of many words. " * 60
    source = json.dumps([{"title": "First", "by": {"name": "A"}, "text": long}, {"by": {"name": "B"}, "n": [1, [2]]}])
    assert outline(parse(source.encode())) == [
        ("h1", "First"),
        ("paragraph", "title: First"),
        ("h2", "by"),
        ("paragraph", "name: A"),
        ("paragraph", f"text: {long.strip()}"),
        ("paragraph", "by.name: B\nn: 1\nn: 2"),
    ]


def test_rows_of_values() -> None:
    document = parse(b'[["a", 1],\n ["b", 2]]')
    assert (outline(document), document.blocks[0].header_rows) == ([("table", "a | 1\nb | 2")], 0)


def test_what_the_standard_forbids_and_files_hold() -> None:
    document = parse(b'{"a": NaN, "b": -Infinity, "a": 2, "c": "tab\there", "d": 1e400, "e": 12345678901234567890123}')
    assert document.text == ("a: NaN\nb: -Infinity\na: 2\nc: tab here\nd: 1e400\ne: 12345678901234567890123")


def test_deep_keys_stand_in_their_lines() -> None:
    source = '{"a":' * 8 + '"x"' + "}" * 8
    assert outline(parse(source.encode()))[-1] == ("paragraph", "a.a.a: x")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('{\n "a": 1,\n}', 3),
        ('{\n "a" 1}', 2),
        ('["a",\n "b"', 2),
        ('{"a": 1}\n]', 2),
        ('\n\n{"a": 01}', 3),
        ('"no end\n\n', 1),
        ('"\\u12"', 1),
        ("[1 2]", 1),
        ("{1: 2}", 1),
        ("[,]", 1),
        ("[1}", 1),
        ('{"a": 1} // a comment', 1),
        ("name: value", 1),
    ],
)
def test_what_is_not_json_is_named_by_its_line(source: str, line: int) -> None:
    with pytest.raises(DocumentCorrupt, match=f"Line {line} is not JSON") as caught:
        parse(source.encode())
    assert f"Line {line} is not JSON." in error_sentence(DocumentCorrupt.code, str(caught.value))


@pytest.mark.parametrize("source", ["", " \n", "{}", "[]", '""', '[[], {}, ""]'])
def test_no_text(source: str) -> None:
    with pytest.raises(NoText):
        parse(source.encode())


def test_nested_deeper_than_anybody_writes() -> None:
    depth = limits.JSON_DEPTH.value
    assert parse(b"[" * depth + b"1" + b"]" * depth).text == "1"
    with pytest.raises(DocumentTooLarge):
        parse(b"[" * (depth + 1))


def test_keys_that_repeat_are_counted() -> None:
    """A key of a megabyte above many values is written down with each."""
    with pytest.raises(DocumentTooLarge):
        parse(json.dumps([{"k" * 1_000_000: [{"a": 1}] * 100}]).encode())


def test_a_number_of_values_that_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JSON_VALUES", limits.Limit(100, limits.JSON_VALUES.sentence))
    with pytest.raises(DocumentTooLarge):
        parse(b"[" + b"1," * 100 + b"1]")


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ndjson"])
def test_files_by_name_and_content(name: str) -> None:
    assert detect(b'{"a": 1}', name) == JSON
    with pytest.raises(UnsupportedFile):
        detect(b"\x89PNG\r\n\x1a\n", name)


VALUES = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.none(), st.text(max_size=300)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=20,
)


def scalars(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for member in value.values() for text in scalars(member)]
    if isinstance(value, list):
        return [text for member in value for text in scalars(member)]
    return [value if isinstance(value, str) else json.dumps(value)]


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_no_value_is_lost(value: object, indent: int | None, escaped: bool) -> None:
    source = json.dumps(value, indent=indent, ensure_ascii=escaped)
    try:
        document = check(parse(source.encode("utf-8", "surrogatepass")))
    except NoText:
        assert not "".join(map(clean, scalars(value))).strip()
        return
    words = document.text.replace("|", " ").split()
    for text in scalars(value):
        assert set(clean(text).replace("|", " ").split()) <= {
            part for word in words for part in (word, word.rstrip(","))
        }
    last = source.count("\n") + 1
    assert all(
        block.locator.lines and 1 <= block.locator.lines[0] <= block.locator.lines[1] <= last
        for block in document.blocks
    )


def keys(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for member in value.values() for key in keys(member))]
    return [key for item in value for key in keys(item)] if isinstance(value, list) else []


NESTED = st.recursive(
    st.sampled_from(["text", 1, {}, [], "长" * 250]),
    lambda values: (
        st.lists(values, max_size=2) | st.dictionaries(st.sampled_from(["a", "键", "c d"]), values, max_size=2)
    ),
    max_leaves=12,
)


@given(NESTED, st.integers(0, 8))
def test_no_key_is_lost_however_deep(value: object, depth: int) -> None:
    for level in range(depth):
        value = {f"level{level}": value}
    try:
        text = parse(json.dumps(value).encode()).text
    except NoText:
        text = ""
    assert all(key in text for key in keys(value))


@pytest.mark.parametrize("empty", ["{}", "[]", "[[], {}]", '{"inner": {}}'])
def test_a_key_of_nothing_is_a_key(empty: str) -> None:
    source = '{"a": ' * 7 + f'{{"未定": {empty}, "b": 1}}' + "}" * 7
    assert "未定" in check(parse(source.encode())).text


def test_files_in_values_are_kept_out_by_name() -> None:
    letters = base64.b64encode(bytes(range(256)) * 20).decode()
    records = [{"城市": name, "图": f"data:image/png;base64,{letters}"} for name in ("北京", "上海")]
    source = json.dumps({"cities": records, "raw": letters}).replace("/", "\\/")  # as some programs write it
    document = check(parse(source.encode()))
    assert outline(document) == [
        ("h1", "cities"),
        ("table", "城市 | 图\n北京 | data:image/png;base64,…\n上海 | data:image/png;base64,…"),
        ("paragraph", "raw: AAECAwQFBgcICQoL…"),
    ]
    address = f"data:image/png;base64,{letters}"[:60]
    assert document.left_out == (LeftOut(LeftOutReason.ENCODED, f"{address}… | {address}… | {letters[:60]}…"),)
    claims = claims_of(document, split(document, title="", count_tokens=len, budget=400))
    assert verify(source.encode(), JSON, claims).failed == ()


@pytest.mark.parametrize("text", ["data:,Hello", "x" * 999, "2026" * 99, "a-b/" * 99, "元数据:" + "表" * 400])
def test_what_can_be_read_stays(text: str) -> None:
    document = parse(json.dumps([text]).encode())
    assert (document.text, document.left_out) == (text, ())
