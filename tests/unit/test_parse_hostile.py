"""Files made to be slow: work in proportion to the file, a limit to nesting, a sentence an editor understands.

No test measures time: those of patterns would take hours with the faults they are about, and end by pytest's limit.
"""

from __future__ import annotations

import io
import zipfile

import pytest

from documents.content import clean_file_name, clean_title
from documents.errors import InvalidInput
from documents.media_types import HTML, MARKDOWN, PDF, TEXT, UnsupportedFile, detect
from indexing.blocks import Block, BlockKind
from indexing.errors import DocumentTooLarge
from indexing.parsers import docx, docx_text, html, html_tables, html_walker, markdown
from indexing.parsers.assemble import LONGEST_HEADING, Piece, assemble
from indexing.parsers.html_depth import refuse_deep
from indexing.parsers.limits import HTML_DEPTH
from tests.unit.blocks_asserts import check, outline
from tests.unit.test_parse_docx import repacked, small

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
PARAGRAPH = "<w:p><w:r><w:t>x</w:t></w:r></w:p>"
TOO_DEEP = "It is nested too deeply"


def word(body: str, notes: str = "") -> bytes:
    """A DOCX of this body and these footnotes."""
    source = f"<w:document {W}><w:body>{body}</w:body></w:document>".encode()
    content = repacked(small(), lambda name, part: source if name == "word/document.xml" else part)
    if not notes:
        return content
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    relation = f'<Relationship Id="rIdN" Type="{kind}" Target="footnotes.xml"/></Relationships>'.encode()
    content = repacked(
        content,
        lambda name, part: (
            part.replace(b"</Relationships>", relation) if name == "word/_rels/document.xml.rels" else part
        ),
    )
    stream = io.BytesIO(content)
    with zipfile.ZipFile(stream, "a") as package:
        package.writestr("word/footnotes.xml", f"<w:footnotes {W}>{notes}</w:footnotes>")
    return stream.getvalue()


def nested_tables(depth: int, cells: str = "") -> str:
    return f"<w:tbl><w:tr>{cells}<w:tc>" * depth + PARAGRAPH + "</w:tc></w:tr></w:tbl>" * depth


@pytest.mark.parametrize("cells", ["", f"<w:tc>{PARAGRAPH}</w:tc>"], ids=["frames", "tables"])
def test_every_paragraph_of_nested_tables_is_read_once(cells: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counting(paragraph: object) -> str:
        nonlocal read
        read += 1
        return docx_text.paragraph_text(paragraph)

    monkeypatch.setattr(docx, "paragraph_text", counting)
    check(docx.parse(word(nested_tables(20, cells))))
    assert read == (21 if cells else 1)


def test_numbers_in_a_frame_are_counted_once() -> None:
    document = docx.parse(word(nested_tables(1).replace("<w:p>", '<w:p><w:pPr><w:pStyle w:val="ListNumber"/></w:pPr>')))
    assert [block.text for block in document.blocks] == ["1. x"]


@pytest.mark.parametrize("depth", [60, 300])
def test_tables_nested_too_deeply(depth: int) -> None:
    with pytest.raises(DocumentTooLarge, match=TOO_DEEP):
        docx.parse(word(nested_tables(depth)))


def test_notes_that_refer_to_each_other() -> None:
    def note(own: int, *others: int) -> str:
        references = "".join(f'<w:r><w:footnoteReference w:id="{other}"/></w:r>' for other in others)
        return f'<w:footnote w:id="{own}"><w:p><w:r><w:t>note {own}</w:t></w:r>{references}</w:p></w:footnote>'

    body = '<w:p><w:r><w:t>text</w:t><w:footnoteReference w:id="1"/></w:r></w:p>'
    doubling = "".join(note(n, n + 1, n + 1, 1) for n in range(1, 30)) + note(30)
    assert len(docx.parse(word(body, doubling)).blocks) == 31
    chain = "".join(note(n, n + 1) for n in range(1, 500))
    with pytest.raises(DocumentTooLarge, match=TOO_DEEP):
        docx.parse(word(body, chain))


def test_merged_cells_do_not_make_a_row_endless() -> None:
    cell = f'<w:tc><w:tcPr><w:gridSpan w:val="99"/></w:tcPr>{PARAGRAPH}</w:tc>'
    document = docx.parse(word(f"<w:tbl><w:tr>{cell * 500}</w:tr></w:tbl>"))
    assert len(document.blocks[0].rows[0]) == 1_500


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 3_000 + "x" + "</div>" * 3_000,
        "<ul><li>" * 3_000 + "x",
        "<div></b></span></p>" * 3_000 + "x",
        "<!--> " + "<div>" * 3_000 + "x -->",
        "<main>" + "<header>" * 3_000 + "<h1>x</h1>",
    ],
)
def test_pages_nested_too_deeply_are_refused_before_they_are_parsed(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "LexborHTMLParser", None)
    with pytest.raises(DocumentTooLarge, match=TOO_DEEP):
        html.parse(source.encode())
    with pytest.raises(DocumentTooLarge, match=TOO_DEEP):
        html.pieces_of(source, lambda *_: None)


@pytest.mark.parametrize(
    "source",
    [
        "<p>one" * 9_000,
        "<ul>" + "<li>one" * 9_000,
        "<table>" + "<tr><td>one<td>two" * 9_000,
        "<div><img><br>one</div>" * 9_000,
        "<script>" + 'x = "<div>";' * 9_000 + "</script><p>one",
        "<!-- " + "<div>" * 9_000 + " --><p>one",
        "<div>" * (HTML_DEPTH.value - 10) + "one",
    ],
)
def test_long_pages_are_not_deep(source: str) -> None:
    refuse_deep(source)
    assert "one" in check(html.parse(source.encode())).text


def test_tags_without_an_end_are_scanned_once() -> None:
    refuse_deep("<!--" * 300_000)
    refuse_deep("<script " * 300_000)
    refuse_deep("<" * 1_000_000)


def test_of_nested_tables_each_is_looked_through_up_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    real = html_tables.is_layout

    def recording(table: object) -> bool:
        asked.append(real(table))  # type: ignore[arg-type]
        return asked[-1]

    monkeypatch.setattr(html_walker, "is_layout", recording)
    document = html.parse(b"<table><tr><td>a<td>" * 300 + b"x")
    assert asked == [True] * 299 + [False]
    assert len(document.blocks) == 300


def test_a_header_is_part_of_the_content_around_it() -> None:
    page = "<header><h1>site</h1></header><article><div><header><h1>own</h1>by</header></div></article>"
    inside = "<article><header><h2>second</h2></header>text</article><header><h2>out</h2></header>"
    cell = "<article><table><tr><td>a<td><header><h3>cell</h3></header></table></article>"
    assert outline(html.parse((page + inside + cell).encode())) == [
        ("h1", "own"),
        ("h2", "second"),
        ("paragraph", "text"),
        ("table", "a | cell"),
    ]


def test_spans_of_millions_do_not_fill_the_memory() -> None:
    rows = "<tr><td rowspan=9999999 colspan=9999999>a</td><td rowspan=5>b</td></tr>" + "<tr><td>c</td></tr>" * 200
    table = html.parse(f"<table>{rows}</table>".encode()).blocks[0]
    assert sum(len(row) for row in table.rows) < 1_500


@pytest.mark.parametrize("source", [">" * 20_000 + " x", "".join("  " * n + "- x\n" for n in range(80))])
def test_markdown_nested_too_deeply_is_refused_rather_than_cut(source: str) -> None:
    with pytest.raises(DocumentTooLarge, match=TOO_DEEP):
        markdown.parse(source.encode())


def test_markdown_of_a_depth_that_people_write() -> None:
    source = "".join("  " * n + "- x\n" for n in range(45))
    assert len(markdown.parse(source.encode()).blocks) == 45


def test_spaces_inside_a_title_or_code_are_looked_at_once() -> None:
    spaces = " " * 300_000
    assert (markdown.parse(f"---\ntitle: a{spaces}b\n---\ntext".encode()).title or "").endswith("b")
    assert assemble(TEXT, [Piece(BlockKind.CODE, f"\n \n  a{spaces}b \n ")]).text == f"  a{spaces}b"


def test_a_heading_as_long_as_a_paragraph_is_one() -> None:
    pieces = [Piece(BlockKind.HEADING, "x" * n, level=1) for n in (LONGEST_HEADING + 1, LONGEST_HEADING)]
    blocks: tuple[Block, ...] = assemble(TEXT, [*pieces, Piece(BlockKind.PARAGRAPH, "text")]).blocks
    assert [block.kind.value for block in blocks] == ["paragraph", "heading", "paragraph"]
    assert blocks[2].heading_path == ("x" * LONGEST_HEADING,)


@pytest.mark.parametrize(("name", "media_type"), [("a.md", MARKDOWN), ("a.txt", TEXT), ("a.html", HTML)])
def test_a_text_may_speak_of_pdf(name: str, media_type: str) -> None:
    assert detect(b"# How PDFs begin\n\nWith %PDF-1.7, always.", name) == media_type
    for content in (b"%PDF-1.7\n", b"\xef\xbb\xbf%PDF-1.7", b"\n  %PDF-1.4"):
        with pytest.raises(UnsupportedFile, match="another type"):
            detect(content, name)
    assert detect(b"junk before the mark %PDF-1.7", "a.pdf") == PDF


def test_titles_and_names_are_normalised_at_a_length_that_is_soon_done() -> None:
    marks = "a" + "\u0301\u0316" * 500_000  # sorting them would take an hour
    with pytest.raises(InvalidInput):
        clean_title(marks)
    assert clean_file_name(marks + ".md").endswith(".md")
    assert clean_title("  a\u0308 " + " " * 5_000 + "b ") == "\u00e4 b"
