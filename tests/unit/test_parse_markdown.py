from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexing.blocks import LeftOut, LeftOutReason
from indexing.errors import NoText
from indexing.parsers.clean import clean
from indexing.parsers.markdown import parse
from tests.unit.blocks_asserts import check, outline, squeezed

DOCUMENT = """\
---
title: "Leave policy"
author: nobody
---

# 休假制度

员工每年享有
十五天年假，以及 **带薪**
sick leave
days.

## Lists

1. Apply
2. Wait
   for an answer

   Patiently.
- bullet
  - nested `code`

| Kind | Days |
|------|-----:|
| Annual | 15 |
| 病假 | a \\| b |

```python
def leave():

    return 15
```

Setext
------

> quoted [link](http://example.com) ![a picture](x.png)
"""


def test_structure_with_the_lines_of_the_file() -> None:
    document = check(parse(DOCUMENT.encode()))
    assert document.title == "Leave policy"
    assert outline(document) == [
        ("h1", "休假制度"),
        ("paragraph", "员工每年享有十五天年假，以及 带薪 sick leave days."),
        ("h2", "Lists"),
        ("list_item", "1. Apply"),
        ("list_item", "2. Wait for an answer"),
        ("paragraph", "Patiently."),
        ("list_item", "bullet"),
        ("list_item", "nested code"),
        ("table", "Kind | Days\nAnnual | 15\n病假 | a | b"),
        ("code", "def leave():\n\n    return 15"),
        ("h2", "Setext"),
        ("paragraph", "quoted link a picture"),
    ]
    lines = [block.locator.lines for block in document.blocks]
    assert lines == [
        *((6, 6), (8, 11), (13, 13), (15, 15), (16, 17), (19, 19), (20, 20), (21, 21)),
        *((23, 26), (28, 32), (34, 35), (37, 37)),
    ]
    table = document.blocks[8]
    assert table.rows == (("Kind", "Days"), ("Annual", "15"), ("病假", "a | b"))
    assert table.header_rows == 1
    assert table.heading_path == ("休假制度", "Lists")


def test_the_title_is_the_first_heading_if_it_is_the_highest() -> None:
    assert parse(b"text\n\n# One\n\n# Two\n").title == "One"
    assert parse(b"## Two\n\n# One\n").title is None


def test_front_matter_ends_where_it_says() -> None:
    assert parse(b"---\ntitle: A\n").title is None  # never closed: a rule and a paragraph
    assert parse(b"---\ntitle: A\n...\nBody").title == "A"
    assert outline(parse(b"Body\n\n---\ntitle: A\n---\n"))[0] == ("paragraph", "Body")


@pytest.mark.parametrize(
    "front",
    [
        'title: 休假\ndescription: "About leave"\ntags: [hr, 休假]\ndraft: false\nby: {x: 1}',
        "title: '休假'\ndescription: About leave\ntags:\n  - hr\n  - 休假\ndraft: false\nby: {x: 1}",
        "title : 休假\ndescription: >-\n  About\n  leave\ntags: hr, 休假\ndraft: false\nby: {x: 1}",
    ],
)
def test_front_matter_in_yaml(front: str) -> None:
    source = f"---\n{front}\n---\n\n# Body\n"
    document = check(parse(source.encode()))
    body = source.split("\n").index("# Body") + 1
    assert document.title == "休假"
    assert outline(document) == [("paragraph", "About leave"), ("paragraph", "tags: hr, 休假"), ("h1", "Body")]
    assert document.left_out == (LeftOut(LeftOutReason.HIDDEN, "draft: false | by: {x: 1}"),)
    assert document.blocks[2].locator.lines == (body, body)
    assert document.blocks[0].locator.lines == (3, 5 if ">-" in front else 3)


def test_front_matter_in_toml() -> None:
    document = check(parse(b'+++\ntitle = "Leave"\nsummary = \'Short\'\ntags = ["a", "b"]\n+++\nBody'))
    assert document.title == "Leave"
    assert outline(document) == [("paragraph", "Short"), ("paragraph", "tags: a, b"), ("paragraph", "Body")]
    assert [block.locator.lines for block in document.blocks] == [(3, 3), (4, 4), (6, 6)]


def test_code_has_its_language_and_lists_their_depth() -> None:
    source = (
        "```Python title=x\na\n```\n\n~~~{.yaml}\nb: 1\n~~~\n\n    plain\n\n- one\n  1. two\n     - three\n\n- four\n"
    )
    blocks = check(parse(source.encode())).blocks
    assert [(b.text, b.language) for b in blocks if b.kind == "code"] == [
        ("a", "python"),
        ("b: 1", "yaml"),
        ("plain", None),
    ]
    assert [(b.text, b.depth) for b in blocks if b.kind == "list_item"] == [
        *(("one", 0), ("1. two", 1), ("three", 2), ("four", 0)),
    ]


def test_formulas() -> None:
    source = "Cost $a^2$ and $5 or $10.\n\n$$\n\\sum x\n$$\n\n$$ y $$\n\n```math\nz\n```\n\n$$inline$$ in text\n"
    document = check(parse(source.encode()))
    assert outline(document) == [
        ("paragraph", "Cost a^2 and $5 or $10."),
        *(("formula", "\\sum x"), ("formula", "y"), ("formula", "z")),
        ("paragraph", "inline in text"),
    ]
    assert [b.locator.lines for b in document.blocks] == [(1, 1), (3, 5), (7, 7), (9, 11), (13, 13)]


def test_footnotes_stay_where_they_are() -> None:
    source = "Text[^1] and[^no].\n\n[^1]: The note\n    goes on.\n\n[^2]: word\n\nAfter.\n"
    document = check(parse(source.encode()))
    assert outline(document) == [
        ("paragraph", "Text[1] and[^no]."),
        ("paragraph", "[1] The note goes on."),
        *(("paragraph", "[2] word"), ("paragraph", "After.")),
    ]
    assert [b.locator.lines for b in document.blocks] == [(1, 1), (3, 4), (6, 6), (8, 8)]


def test_definitions() -> None:
    source = "差旅费\n: 出差的费用\n\nTerm\n: Meaning\n  goes on\n"
    document = check(parse(source.encode()))
    assert outline(document) == [
        *(("paragraph", "差旅费"), ("list_item", "出差的费用")),
        *(("paragraph", "Term"), ("list_item", "Meaning goes on")),
    ]
    assert [b.locator.lines for b in document.blocks] == [(1, 1), (2, 2), (4, 4), (5, 6)]


def test_tables_and_questions_of_html_inside() -> None:
    source = "<table><tr><th>城市<th>Max<tr><td>北京<td>600</table>\n\n"
    source += "<details>\n<summary>Who pays?</summary>\nWe.\n</details>\n"
    document = check(parse(source.encode()))
    assert outline(document) == [("table", "城市 | Max\n北京 | 600"), ("faq", "Who pays?\nWe.")]
    assert [b.locator.lines for b in document.blocks] == [(1, 1), (3, 6)]


def test_questions_in_paragraphs_and_in_headings() -> None:
    source = "**Q:** Why?\n**A:** Because\nof that.\n\n### 问：怎么请假？\n\n答：在系统中申请。\n\n### Q: Open?\n\nNo answer.\n"
    document = check(parse(source.encode()))
    assert outline(document) == [
        ("faq", "Q: Why?\nA: Because\nof that."),
        ("faq", "问：怎么请假？\n答：在系统中申请。"),
        ("h3", "Q: Open?"),
        ("paragraph", "No answer."),
    ]
    assert [block.locator.lines for block in document.blocks] == [(1, 3), (5, 7), (9, 9), (11, 11)]


def test_hard_breaks_stay() -> None:
    assert outline(parse("街道一号  \n北京<br>中国\\\n结束\n软".encode())) == [
        ("paragraph", "街道一号\n北京\n中国\n结束软")
    ]


def test_html_inside() -> None:
    source = (
        "Before\n\n<div>\n<p>Inside <b>bold</b></p>\n<script>evil()</script>\n</div>\n\nAfter <span>inline</span>\n"
    )
    document = check(parse(source.encode()))
    assert outline(document) == [("paragraph", "Before"), ("paragraph", "Inside bold"), ("paragraph", "After inline")]
    assert document.blocks[1].locator.lines == (3, 6)


@pytest.mark.parametrize(
    ("source", "kept", "hidden"),
    [
        ("说明\n\n<div hidden>\n密码\n</div>\n\nAfter\n", ["说明", "After"], "密码"),
        (
            "A\n\n<div hidden>\n\n**密码**\n\n| a | b |\n|---|---|\n| c | d |\n\n</div>\n\n之后\n",
            ["A", "之后"],
            "密码 | a b c d",
        ),
        ("A\n\n<div hidden>\n\nx <div>y</div> z\n\n<div>\n\nu\n\n</div>\n\nv\n</div> B\n", ["A", "B"], None),
        ("公开<span hidden>密码</span>文字 `x` <b>y</b>\n", ["公开文字 x y"], "密码"),
        ("| a <i hidden>s</i> | b |\n|---|---|\n| c | d |\n", ["a | b\nc | d"], "s"),
        ("- a\n\n  <div hidden>\n\n  s\n\n- b\n\nc\n", ["a", "b", "c"], "s"),
        ("Press <button>OK</button> now <script>evil()</script>\n", ["Press OK now"], None),
        ("<details>\n\n更多\n\n</details>\n", ["更多"], None),
        ("<!-- <div hidden> -->\n\nText\n", ["Text"], None),
        ("A\n\n<p hidden>\n\nto the end\n", ["A"], "to the end"),
    ],
)
def test_what_raw_html_hides(source: str, kept: list[str], hidden: str | None) -> None:
    document = check(parse(source.encode()))
    assert [text for _, text in outline(document)] == kept
    if hidden is not None:
        assert document.left_out == (LeftOut(LeftOutReason.HIDDEN, hidden),)


@pytest.mark.parametrize("address", ["data:application/pdf;base64,", "data:image/svg+xml;charset=utf-8;base64,"])
def test_files_in_addresses_are_kept_out_by_name(address: str) -> None:
    source = f"见 [附件]({address}{'QUJD' * 50}) 之后\n\n```css\na {{ src: url({address}{'QUJD' * 50}) }}\n```\n"
    document = check(parse(source.encode()))
    assert document.text == f"见 [附件]({address}…) 之后\n\na {{ src: url({address}…) }}"
    assert [(part.reason, part.text.count(address[:20])) for part in document.left_out] == [(LeftOutReason.ENCODED, 2)]


def test_choices_in_raw_html_are_named() -> None:
    document = check(parse("城市 <select><option>北京</option></select>\n\n<noscript>\noff\n</noscript>\n".encode()))
    assert document.text == "城市"
    assert [(part.reason, part.text) for part in document.left_out] == [
        (LeftOutReason.CONTROL, "北京"),
        (LeftOutReason.FALLBACK, "off"),
    ]


def test_deep_nesting_loses_nothing() -> None:
    source = "".join(f"{'  ' * depth}- level {depth}\n" for depth in range(40))
    assert [text for _, text in outline(parse(source.encode()))] == [f"level {depth}" for depth in range(40)]


@pytest.mark.parametrize("content", [b"", b"---\ntitle: only\n---\n", b"<!-- nothing -->\n", b"```\n```\n"])
def test_no_text(content: bytes) -> None:
    with pytest.raises(NoText):
        parse(content)


WORDS = st.lists(st.text(st.characters(categories=["Ll", "Lo"]), min_size=1, max_size=8), min_size=1, max_size=12)


@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_no_word_is_lost_or_invented(paragraphs: list[list[str]], end: str) -> None:
    source = (end * 2).join(end.join(words) for words in paragraphs)
    document = check(parse(source.encode()))
    assert squeezed(document.text) == squeezed(clean(source))
    position = 1
    for block, words in zip(document.blocks, paragraphs, strict=True):
        assert block.locator.lines == (position, position + len(words) - 1)
        position += len(words) + 1
