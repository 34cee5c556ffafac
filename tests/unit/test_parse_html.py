from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexing.errors import NoText
from indexing.parsers.clean import clean
from indexing.parsers.html import parse
from tests.unit.blocks_asserts import check, outline, squeezed

PAGE = """<!doctype html><html><head><meta charset="utf-8"><title> Safety
rules </title><style>p{}</style></head><body>
<header><h1>Company</h1><a href="/">Home</a></header><nav><ul><li>Menu</li></ul></nav>
<div class="cookie-banner">We use cookies</div><div role="dialog">Subscribe</div>
<main><header><h1>安全须知</h1><p>By a person</p></header>
<p>First <b>bold</b> word,
then<br>a break. <span hidden>secret</span><span style="display: none">more</span></p>
<div>Loose text<p>中文段落
继续</p>tail</div>
<h2>Steps</h2><ol start="3"><li>Call</li><li><p>Wait</p><p>there</p><ul><li>quietly</li></ul></li></ol>
<dl><dt>Exit</dt><dd>The way out</dd></dl>
<pre>a  b
  c</pre>
<aside>Advert</aside><script>x()</script><noscript>off</noscript><p aria-hidden="true">icon</p>
<form><label>Name</label><input value="v"><button>Send</button></form>
</main><footer>Imprint</footer></body></html>"""


def test_only_the_main_content_remains() -> None:
    document = check(parse(PAGE.encode()))
    assert document.title == "Safety rules"
    assert outline(document) == [
        ("h1", "安全须知"),
        ("paragraph", "First bold word, then\na break."),
        ("paragraph", "Loose text"),
        ("paragraph", "中文段落继续"),
        ("paragraph", "tail"),
        ("h2", "Steps"),
        ("list_item", "3. Call"),
        ("list_item", "4. Wait"),
        ("paragraph", "there"),
        ("list_item", "quietly"),
        ("paragraph", "Exit"),
        ("list_item", "The way out"),
        ("code", "a  b\n  c"),
        ("paragraph", "Name"),
    ]
    assert document.blocks[6].heading_path == ("安全须知", "Steps")
    assert document.blocks[1].locator.lines == (3, 4)  # of the extracted text


def test_without_main_the_only_article_else_the_body() -> None:
    one = "<p>around</p><article><p>inside</p></article>"
    assert outline(parse(one.encode())) == [("paragraph", "inside")]
    two = "<article><p>a</p></article><article><p>b</p></article>"
    assert outline(parse(two.encode())) == [("paragraph", "a"), ("paragraph", "b")]
    empty_main = "<main><nav>x</nav></main><p>text</p>"
    assert outline(parse(empty_main.encode())) == [("paragraph", "text")]


def test_a_recipe_for_cookies_is_no_banner() -> None:
    assert outline(parse(b'<div class="cookie-recipe">Butter</div><div id="onetrust-x">Accept</div>')) == [
        ("paragraph", "Butter")
    ]


def test_tables_with_headers_and_merged_cells() -> None:
    source = """<table><caption>Leave</caption><tr><th>Kind</th><th colspan=2>Days</th></tr>
    <tr><td rowspan="2">Annual</td><td>5</td><td><ul><li>a</li><li>b</li></ul></td></tr><tr><td>10</td><td>c</td></tr>
    <tr hidden><td>x</td><td>y</td></tr></table>"""
    document = check(parse(source.encode()))
    assert [block.kind for block in document.blocks] == ["paragraph", "table"]
    table = document.blocks[1]
    assert table.rows == (("Kind", "Days", ""), ("Annual", "5", "a b"), ("", "10", "c"))
    assert table.header_rows == 1


def test_layout_tables_are_read_as_blocks() -> None:
    nested = "<table><tr><td><h2>Head</h2></td><td><table><tr><td>1</td><td>2</td></tr></table></td></tr></table>"
    assert outline(parse(nested.encode())) == [("h2", "Head"), ("table", "1 | 2")]
    single = "<table><tr><td><p>one</p></td></tr><tr><td>two</td></tr></table>"
    assert outline(parse(single.encode())) == [("paragraph", "one"), ("paragraph", "two")]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('<meta charset="gb2312"><p>制度</p>'.encode("gb18030"), "制度"),
        (
            '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><p>“Größe”</p>'.encode("cp1252"),
            "“Größe”",
        ),
        ("<p>没有声明的编码，按内容判断。</p>".encode("gb18030"), "没有声明的编码，按内容判断。"),
        (b'<meta charset="utf-16"><p>wrong</p>', "wrong"),
        ("\ufeff<meta charset='gbk'><p>标记</p>".encode(), "标记"),
        (b"<p>&#0;nul &#xD800; &nbsp; &amp;</p>", "\ufffdnul \ufffd &"),
    ],
)
def test_encodings(content: bytes, text: str) -> None:
    assert parse(content).text == text


def test_the_title_falls_back_to_the_first_h1() -> None:
    assert parse(b"<h2>a</h2><h1>b</h1><h1>c</h1>").title == "b"
    assert parse(b"<p>a</p>").title is None


def test_a_question_and_its_answer() -> None:
    assert outline(parse("<p>问：几点？</p><p>答：九点。</p>".encode())) == [("faq", "问：几点？\n答：九点。")]


def test_nesting_deeper_than_the_stack() -> None:
    assert outline(parse(b"<div>" * 1_900 + b"deep" + b"</div>" * 1_900)) == [("paragraph", "deep")]


@pytest.mark.parametrize("content", [b"", b"<p> </p>", b"<nav>menu</nav>", b"<script>x</script>", b"<!-- c -->"])
def test_no_text(content: bytes) -> None:
    with pytest.raises(NoText):
        parse(content)


TEXTS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["p", "div", "h2", "li", "td", "pre", "span"]), TEXTS), min_size=1))
def test_no_visible_text_is_lost_or_invented(elements: list[tuple[str, str]]) -> None:
    source = "".join(f"<{tag}>{text}</{tag}>" for tag, text in elements)
    document = check(parse(f"<body>{source}</body>".encode()))
    assert squeezed(document.text) == squeezed(clean("".join(text for _, text in elements)))
