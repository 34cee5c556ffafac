"""Tables of PDFs whose cells have no rules around them, or some; and what only looks like one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from reportlab.lib import colors
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, Table, TableStyle

from indexing.blocks import Block, BlockKind
from tests.unit.blocks_asserts import outline
from tests.unit.pdf_making import BODY, CHINESE, LONG, drawn, parsed, typeset

Cells = Sequence[tuple[float, str]]  # left edge, text

PLAIN = TableStyle([("FONT", (0, 0), (-1, -1), CHINESE, 10), ("ALIGN", (1, 0), (-1, -1), "RIGHT")])


def rows_drawn(rows: Sequence[Cells], rules: Sequence[tuple[float, float, float]] = (), pitch: float = 16) -> bytes:
    """`rules`: (left, right, number of the row above it)."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont(CHINESE, 10)
        for number, cells in enumerate(rows):
            for left, text in cells:
                canvas.drawString(left, 700 - pitch * number, text)
        for left, right, above in rules:
            canvas.line(left, 700 - pitch * above - 4, right, 700 - pitch * above - 4)

    return drawn(draw)


def table_of(content: bytes) -> Block:
    (table,) = [block for block in parsed(content).blocks if block.kind is BlockKind.TABLE]
    return table


@pytest.mark.parametrize(
    "rows",
    [
        [
            ["Country", "Cases", "Share"],
            ["Austria", "1,234", "12.5 %"],
            ["Belgium", "56", "0.6 %"],
            ["Chile", "–", "n/a"],
        ],
        [["地区", "数量", "占比"], ["华北", "1,234", "12.5%"], ["华东", "56", "0.6%"], ["西南", "—", "3.0%"]],
    ],
)
def test_columns_of_numbers_without_rules(rows: list[list[str]]) -> None:
    document = parsed(typeset([Paragraph(LONG, BODY), Table(rows, style=PLAIN), Paragraph(LONG, BODY)]))
    assert [kind for kind, _ in outline(document)] == ["paragraph", "table", "paragraph"]
    table = document.blocks[1]
    assert table.rows == tuple(map(tuple, rows))
    assert table.header_rows == 1
    tops = [part.region[1] for part in table.parts if part.region]
    assert len(tops) == 4
    assert tops == sorted(tops)


def test_labels_over_groups_of_columns_are_in_each_of_them() -> None:
    rows: list[Cells] = [
        [(200, "Men"), (330, "Women")],
        [(72, "Year"), (170, "Number"), (230, "Share"), (300, "Number"), (360, "Share")],
        *(
            [(72, str(2000 + n)), (170, f"{n}10"), (230, f"{n}.5"), (300, f"{n}20"), (360, f"{n}.7")]
            for n in range(1, 6)
        ),
    ]
    table = table_of(rows_drawn(rows, [(165, 260, 0), (295, 390, 0), (72, 390, 1)]))
    assert table.header_rows == 2
    assert table.rows[:3] == (
        ("", "Men", "Men", "Women", "Women"),
        ("Year", "Number", "Share", "Number", "Share"),
        ("2001", "110", "1.5", "120", "1.7"),
    )


def test_a_cell_of_several_lines_is_one_cell() -> None:
    rows: list[Cells] = [
        [(72, "岗位"), (200, "职责"), (420, "人数")],
        [(72, "安全员"), (200, "每天检查消防设施并"), (420, "12")],
        [(200, "登记结果")],
        [(72, "保洁员"), (200, "清扫公共区域"), (420, "8")],
        [(72, "电工"), (200, "维修线路"), (420, "3")],
    ]
    table = table_of(rows_drawn(rows, [(72, 450, -1), (72, 450, 0), (72, 450, 4)], pitch=12))
    assert table.rows == (
        ("岗位", "职责", "人数"),
        ("安全员", "每天检查消防设施并登记结果", "12"),
        ("保洁员", "清扫公共区域", "8"),
        ("电工", "维修线路", "3"),
    )


def test_rows_that_no_rule_parts_are_rows() -> None:
    """As many reports draw them: a box around all, rules between columns and below the header alone."""
    style = TableStyle(
        [
            *[("BOX", (0, 0), (-1, 0), 0.5, colors.black), ("BOX", (0, 1), (-1, -1), 0.5, colors.black)],
            *[("LINEAFTER", (0, 0), (0, -1), 0.5, colors.black), ("LINEAFTER", (1, 0), (1, -1), 0.5, colors.black)],
        ]
    )
    rows = [
        ["Cohort", "Head start", "Control"],
        ["Three", "1,530", "1,029"],
        ["Four", "1,253", "855"],
        ["All", "2,783", "1,884"],
    ]
    assert table_of(typeset([Table(rows, style=style)])).rows == tuple(map(tuple, rows))


def test_the_title_and_the_notes_in_a_table_are_no_rows() -> None:
    style = TableStyle(
        [("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("SPAN", (0, 0), (-1, 0)), ("SPAN", (0, -1), (-1, -1))]
    )
    rows = [
        ["Exhibit 3: Holidays of 2025", "", ""],
        ["Day", "Length", "Paid"],
        ["New Year", "1", "yes"],
        ["Spring", "8", "yes"],
    ]
    document = parsed(typeset([Table([*rows, ["Source: the board.", "", ""]], style=style)]))
    assert outline(document) == [
        ("caption", "Exhibit 3: Holidays of 2025"),
        ("table", "Day | Length | Paid\nNew Year | 1 | yes\nSpring | 8 | yes"),
        ("paragraph", "Source: the board."),
    ]


def test_two_columns_of_prose_are_no_table() -> None:
    left = [
        "The first column begins here and",
        "tells about the leave of the staff,",
        "which is granted every year on",
    ] * 4
    right = [
        "while the second one, beside it,",
        "is about travelling and about what",
        "is paid back after a journey that",
    ] * 4
    rows: list[Cells] = [[(72, one), (310, other)] for one, other in zip(left, right, strict=True)]
    assert {kind for kind, _ in outline(parsed(rows_drawn(rows, pitch=13)))} == {"paragraph"}


def test_a_table_in_one_of_two_columns_is_found() -> None:
    prose = [
        "The first column begins here and",
        "tells about the leave of the staff,",
        "which is granted every year on",
    ] * 4
    cells = [("Land", "Cases", "Dead"), *((f"Land {n}", f"{n}50", f"{n}7") for n in range(11))]
    rows: list[Cells] = [
        [(72, text), (320, a), (420, b), (480, c)] for text, (a, b, c) in zip(prose, cells, strict=True)
    ]
    assert table_of(rows_drawn(rows, pitch=13)).rows == tuple(cells)


def test_a_list_with_its_marks_apart_is_no_table() -> None:
    rows: list[Cells] = [[(72, f"{n}."), (110, f"Bring the form number {n} with you")] for n in range(1, 8)]
    assert not [kind for kind, _ in outline(parsed(rows_drawn(rows))) if kind == "table"]


def test_numbers_at_the_axes_of_a_chart_are_no_table() -> None:
    rows: list[Cells] = [[(72, str(100 - 10 * n)), (400, str(20 - 2 * n))] for n in range(8)]
    assert not [kind for kind, _ in outline(parsed(rows_drawn(rows))) if kind == "table"]


def test_lines_of_a_chart_that_run_through_its_words_make_no_table() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number in range(6):
            canvas.line(100, 500 + 30 * number, 400, 500 + 30 * number)
            canvas.line(100 + 60 * number, 500, 100 + 60 * number, 650)
        for number in range(5):
            canvas.drawString(140 + 50 * number, 510 + 30 * number, f"Enrolled{number}")
            canvas.drawString(105 + 50 * number, 522 + 30 * number, f"Incidents{number}")

    document = parsed(drawn(draw))
    assert not [block for block in document.blocks if block.kind is BlockKind.TABLE]
    assert "Enrolled3" in document.text


def test_borders_of_three_points_are_rules() -> None:
    """As word processors draw them: every piece between two cells filled, and closed twice."""
    rows = [("Item", "Meaning"), ("Sets", "what there is"), ("Cities", "of the north")]
    xs, ys = (72, 212, 312), (700, 660, 620, 580)

    def piece(canvas: Canvas, left: float, bottom: float, right: float, top: float) -> None:
        path = canvas.beginPath()
        path.moveTo(left, bottom)
        for x, y in ((right, bottom), (right, top), (left, top), (left, bottom)):
            path.lineTo(x, y)
        path.close()
        canvas.drawPath(path, stroke=0, fill=1)

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for left, right in pairwise(xs):
            for y in ys:
                piece(canvas, left, y - 1.52, right, y + 1.52)
        for bottom, top in pairwise(ys[::-1]):
            for x in xs:
                piece(canvas, x - 1.52, bottom, x + 1.52, top)
        for top, cells in zip(ys, rows, strict=False):
            for left, cell in zip(xs, cells, strict=False):
                canvas.drawString(left + 8, top - 15, cell)

    assert table_of(drawn(draw)).rows == tuple(rows)
