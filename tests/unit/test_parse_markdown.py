from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
