from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.media_types import HTML
from indexing.blocks import LeftOut, LeftOutReason
from indexing.errors import NoText
from indexing.locators import Locator
from indexing.parsers.clean import clean
from indexing.parsers.html import parse
from indexing.splitters import split
from indexing.verification import claims_of, verify
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
    assert document.blocks[1].locator == Locator(span=(6, 36))  # browsers show no lines that one could count
    assert [block.depth for block in document.blocks if block.kind == "list_item"] == [0, 0, 1, 0]
    assert (document.left_out, document.language) == (
        (
            LeftOut(
                LeftOutReason.NAVIGATION,
                "By a person | Advert | Company Home | Menu | We use cookies | Subscribe | Imprint",
            ),
            LeftOut(LeftOutReason.HIDDEN, "secret | more | icon"),
            LeftOut(LeftOutReason.FALLBACK, "off"),
            LeftOut(LeftOutReason.CONTROL, "Send"),
        ),
        "en",
    )


def test_without_main_the_only_article_else_the_body() -> None:
    one = "<p>around</p><article><p>inside</p></article>"
    assert outline(parse(one.encode())) == [("paragraph", "inside")]
    two = "<article><p>a</p></article><article><p>b</p></article>"
    assert outline(parse(two.encode())) == [("paragraph", "a"), ("paragraph", "b")]
    empty_main = "<main><nav>x</nav></main><p>text</p>"
    assert outline(parse(empty_main.encode())) == [("paragraph", "text")]


@pytest.mark.parametrize("element", ["article", 'div class="post-content"'])
def test_a_small_article_on_a_page_is_not_the_page(element: str) -> None:
    teaser = f"<{element}><p>最新文章</p></{element.split()[0]}>"
    page = f"<h1>差旅标准</h1><p>一线城市每天不超过五百元，经批准的除外。</p>{teaser}"
    document = check(parse(page.encode()))
    assert outline(document) == [
        ("h1", "差旅标准"),
        ("paragraph", "一线城市每天不超过五百元，经批准的除外。"),
        ("paragraph", "最新文章"),
    ]
    assert document.left_out == ()


def test_a_sections_header_and_a_quotes_source_are_of_the_text() -> None:
    page = """<header><h1>Site</h1></header><section><header><h2>Fees</h2><p>by A. Author</p></header><p>Ten euros.</p>
        <footer>Share this</footer></section><blockquote>Never pay.<footer>— A. Judge</footer></blockquote>"""
    document = check(parse(page.encode()))
    assert outline(document) == [
        ("h2", "Fees"),
        ("paragraph", "Ten euros."),
        ("paragraph", "Never pay."),
        ("paragraph", "— A. Judge"),
    ]
    assert [part.text for part in document.left_out] == ["Site | by A. Author | Share this"]


def test_headings_by_their_role() -> None:
    page = "<div role=heading aria-level=1>总则</div><p>a</p><div role=heading><b>Scope</b></div><p>b</p>"
    assert outline(check(parse(page.encode()))) == [
        ("h1", "总则"),
        ("paragraph", "a"),
        ("h2", "Scope"),
        ("paragraph", "b"),
    ]


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("<ol><li>x<li value=9>x<li>x</ol>", ["1.", "9.", "10."]),
        ("<ol type=a start=26><li>x<li>x</ol>", ["z.", "aa."]),
        ("<ol type=A><li>x<ol type=i><li>x<li>x</ol><li>x</ol>", ["A.", "i.", "ii.", "B."]),
        ("<ol type=I start=' 4'><li>x</ol>", ["IV."]),
        ("<ol reversed><li>x<li>x</ol>", ["2.", "1."]),
        ("<ol start=-1 type=a><li>x<li>x<li value=many>x</ol>", ["-1.", "0.", "a."]),
        ("<ul><li value=3>x</ul>", ["x"]),
    ],
)
def test_items_have_the_numbers_that_browsers_show(source: str, numbers: list[str]) -> None:
    document = check(parse(source.encode()))
    assert [block.text.split()[0] for block in document.blocks] == numbers


def test_a_recipe_for_cookies_is_no_banner() -> None:
    assert outline(parse(b'<div class="cookie-recipe">Butter</div><div id="onetrust-x">Accept</div>')) == [
        ("paragraph", "Butter")
    ]


def test_tables_with_headers_and_merged_cells() -> None:
    source = """<table><caption>Leave</caption><tr><th>Kind</th><th colspan=2>Days</th></tr>
    <tr><td rowspan="2">Annual</td><td>5</td><td><ul><li>a</li><li>b</li></ul></td></tr><tr><td>10</td><td>c</td></tr>
    <tr hidden><td>x</td><td>y</td></tr></table>"""
    document = check(parse(source.encode()))
    assert [block.kind for block in document.blocks] == ["caption", "table"]
    table = document.blocks[1]
    assert table.rows == (("Kind", "Days", "Days"), ("Annual", "5", "a b"), ("Annual", "10", "c"))
    assert table.header_rows == 1


def test_a_header_of_two_rows_can_be_read_in_each_column() -> None:
    source = """<table><thead><tr><th rowspan=2>城市</th><th colspan=2>Limit</th></tr><tr><th>Hotel</th><th>Meals</th></tr>
    </thead><tr><td>北京</td><td>600</td><td>100</td></tr><tr><td colspan=2>Other</td><td>80</td></tr></table>"""
    table = check(parse(source.encode())).blocks[0]
    assert (table.header_rows, table.rows) == (
        2,
        (("城市", "Limit", "Limit"), ("城市", "Hotel", "Meals"), ("北京", "600", "100"), ("Other", "", "80")),
    )


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


def test_the_title_counts_where_the_head_ended_early() -> None:
    assert parse(b"<head><noscript><img src=x></noscript><title>Rules</title></head><h1>One</h1>").title == "Rules"


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


@pytest.mark.parametrize(
    ("source", "kept", "navigation"),
    [
        ('<div class="sidebar"><a href=x>One</a> <a href=y>Two</a></div><p>Text</p>', "Text", "One Two"),
        ('<ul class="breadcrumb"><li><a href=x>Home</a></ul><p>Text</p>', "Text", "Home"),
        ('<div class="menu"><p>Soup of the day, with bread</p></div>', "Soup of the day, with bread", None),
        ('<main><div class="menu"><a href=x>Link</a></div></main>', "Link", None),
        ("<main><aside class='note'>Mind the gap.</aside><aside>Advert</aside></main>", "Mind the gap.", "Advert"),
        ('<div id="content"><p>The text of the page.</p></div><p>Beside</p>', "The text of the page.", "Beside"),
        ('<div id="content">x</div><p>Nearly all of the text</p>', "x\n\nNearly all of the text", None),
    ],
)
def test_what_surrounds_the_text(source: str, kept: str, navigation: str | None) -> None:
    document = check(parse(source.encode()))
    assert document.text == kept
    assert [part.text for part in document.left_out] == ([navigation] if navigation else [])


@pytest.mark.parametrize(
    "attribute",
    [
        *("hidden", 'aria-hidden="true"', 'style="DISPLAY :none"', 'style="visibility:hidden"', 'style="opacity:0"'),
        *('style="font-size: 0px;"', 'class="sr-only"', 'class="a visually-hidden"'),
    ],
)
def test_hidden_text_is_not_searched(attribute: str) -> None:
    document = check(parse(f"<main><p>shown</p><p {attribute}>密码</p></main>".encode()))
    assert document.text == "shown"
    assert document.left_out == (LeftOut(LeftOutReason.HIDDEN, "密码"),)


CONTROL, FALLBACK, HIDDEN = LeftOutReason.CONTROL, LeftOutReason.FALLBACK, LeftOutReason.HIDDEN


@pytest.mark.parametrize(
    ("source", "kept", "left_out"),
    [
        ("<p>价格</p><button>立即购买</button>", "价格", [(CONTROL, "立即购买")]),
        ("<p>Text</p><a role=button href=x>Buy</a>", "Text", [(CONTROL, "Buy")]),
        ("<p>按<button>保存</button>结束。</p>", "按保存结束。", []),
        ("<h3><button>Refunds</button></h3><p>In a week.</p>", "Refunds\n\nIn a week.", []),
        ("<button aria-expanded=false>怎么退款？</button><div>七天内。</div>", "怎么退款？\n七天内。", []),
        ("<p>Text</p><button aria-expanded=false aria-haspopup=menu>Share</button>", "Text", [(CONTROL, "Share")]),
        ("<p>城市</p><select><optgroup><option>北京<option>上海</select>", "城市", [(CONTROL, "北京 上海")]),
        ("<p>Say</p><datalist><option>yes</datalist><textarea>draft</textarea>", "Say", [(CONTROL, "yes | draft")]),
        ("<p>Licence</p><textarea readonly>One\nTwo</textarea>", "Licence\n\nOne\nTwo", []),
        ("<p>Text</p><noscript>请启用脚本</noscript>", "Text", [(FALLBACK, "请启用脚本")]),
        ("<p>Text</p><object data=x><p>No plugin</p></object>", "Text", [(FALLBACK, "No plugin")]),
        (
            "<p>Text</p><iframe src=x>No frames</iframe><video>No film</video>",
            "Text",
            [(FALLBACK, "No frames | No film")],
        ),
        ("<table><tr><td>a<td>b<tr hidden><td>密<td>码</table>", "a | b", [(HIDDEN, "密 码")]),
        ("<table><tr><td>a<td>b<td hidden>x<tbody hidden><tr><td>y<td>z</table>", "a | b", [(HIDDEN, "x | y z")]),
        ("<p>Run</p><pre>make<button>Copy</button><br>test</pre>", "Run\n\nmake\ntest", [(CONTROL, "Copy")]),
        ("<map name=m><p>Legend</p></map>", "Legend", []),
    ],
)
def test_no_text_goes_without_a_name(source: str, kept: str, left_out: list[tuple[LeftOutReason, str]]) -> None:
    document = check(parse(f"<main>{source}</main>".encode()))
    assert document.text == kept
    assert [(part.reason, part.text) for part in document.left_out] == left_out


def test_files_in_the_text_are_kept_out_by_name() -> None:
    address = f"data:font/woff2;base64,{'d09GMgAB' * 600}"
    source = f"<p>Paste <code>{address}</code> into 样式表。</p><img src='{address}' alt=图标>".encode()
    document = check(parse(source))
    assert document.text == "Paste data:font/woff2;base64,… into 样式表。\n\n图标"
    assert document.left_out == (LeftOut(LeftOutReason.ENCODED, f"{address[:60]}…"),)
    assert (
        verify(source, HTML, claims_of(document, split(document, title="", count_tokens=len, budget=400))).failed == ()
    )


def test_words_in_drawings() -> None:
    source = """<p>Before</p><svg><title>流程</title><style>text{}</style><defs><text>unused</text></defs>
    <text x=1>申<tspan class=b>请</tspan></text><g><text><tspan x=0>Line</tspan><tspan x=0 dy=9>two</tspan></text></g>
    <g hidden><text>secret</text></g><foreignObject><div>批准</div></foreignObject></svg>
    <p><svg><title>Warning:</title><path d=x /></svg> hot</p>"""
    document = check(parse(source.encode()))
    assert outline(document) == [
        ("paragraph", "Before"),
        ("paragraph", "流程\n申请\nLine two\n批准"),
        ("paragraph", "Warning: hot"),
    ]
    assert document.left_out == (LeftOut(HIDDEN, "secret"),)


def test_what_is_not_hidden() -> None:
    source = '<p style="opacity:0.5">a</p><p hidden=until-found>b</p><p style="font-size:0.9em">c</p><p aria-hidden=false>d</p>'
    assert [text for _, text in outline(parse(source.encode()))] == ["a", "b", "c", "d"]


def test_code_with_its_language() -> None:
    source = """<pre><code class="hljs language-python">x = 1</code></pre>
    <div class="highlight-source-c++"><pre>int x;</pre></div>
    <pre class="brush: js">let x</pre><pre>plain</pre>"""
    assert [(b.text, b.language) for b in check(parse(source.encode())).blocks] == [
        *(("x = 1", "python"), ("int x;", "c++"), ("let x", "js"), ("plain", None)),
    ]


def test_formulas() -> None:
    source = r"""<p>Energy <math><mi>E</mi><mo>=</mo><mi>m</mi></math> and \(a^2\).</p><p>$$ \sum x $$</p><p>\[ y \]</p>
    <math display="block"><semantics><mi>a</mi><annotation encoding="application/x-tex">a^2</annotation></semantics></math>
    <script type="math/tex; mode=display">z^3</script><p>in <math alttext="q_1"></math> text</p>"""
    assert outline(parse(source.encode())) == [
        ("paragraph", "Energy E = m and \\(a^2\\)."),
        *(("formula", "\\sum x"), ("formula", "y"), ("formula", "a^2"), ("formula", "z^3")),
        ("paragraph", "in q_1 text"),
    ]


def test_questions_that_open_or_are_defined() -> None:
    source = """<details><summary>怎么报销？</summary><p>在系统中提交。</p><p>三天到账。</p></details>
    <details><summary>More</summary>Text</details>
    <dl><dt>Who pays?</dt><dd>The company.</dd><dt>Term</dt><dd>Meaning</dd><dt>Open?</dt></dl>"""
    assert outline(parse(source.encode())) == [
        ("faq", "怎么报销？\n在系统中提交。"),
        ("paragraph", "三天到账。"),
        *(("paragraph", "More"), ("paragraph", "Text")),
        ("faq", "Who pays?\nThe company."),
        *(("paragraph", "Term"), ("list_item", "Meaning"), ("paragraph", "Open?")),
    ]


def test_figures_and_readings() -> None:
    source = """<figure><img alt="A map" src=x><figcaption>图 1 总部</figcaption></figure>
    <p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>の本</p>"""
    assert outline(parse(source.encode())) == [
        ("paragraph", "A map"),
        ("caption", "图 1 总部"),
        ("paragraph", "漢字(かんじ)の本"),
    ]


def test_the_declared_language_counts_where_the_text_does_not_say() -> None:
    assert parse(b'<html lang="fr-CA"><p>Zut 12').language == "fr"
    assert parse('<html lang="en"><p>员工出差应当事先申请。'.encode()).language == "zh"
    assert parse(b'<html lang=""><p>Zut 12').language is None


TEXTS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["p", "div", "h2", "li", "td", "pre", "span"]), TEXTS), min_size=1))
def test_no_visible_text_is_lost_or_invented(elements: list[tuple[str, str]]) -> None:
    source = "".join(f"<{tag}>{text}</{tag}>" for tag, text in elements)
    document = check(parse(f"<body>{source}</body>".encode()))
    assert squeezed(document.text) == squeezed(clean("".join(text for _, text in elements)))


def test_a_table_in_a_cell_of_a_table_of_data_is_that_cells_text() -> None:
    inner = "<table><tr><td>甲</td><td>乙</td></tr><tr><td>C</td><td>D</td></tr></table>"
    (block,) = parse(f"<table><tr><td>A</td><td>B</td></tr><tr><td>{inner}</td><td>2</td></tr></table>".encode()).blocks
    assert block.rows == (("A", "B"), ("甲 乙 C D", "2"))
    frame = f"<table><tr><td>menu</td><td><h2>Heading</h2>{inner}</td></tr><tr><td>x</td><td>y</td></tr></table>"
    kinds = [block.kind.value for block in parse(frame.encode()).blocks]
    assert kinds == ["paragraph", "heading", "table", "paragraph", "paragraph"], "one that arranges a page"
