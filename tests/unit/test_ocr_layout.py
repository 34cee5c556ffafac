"""Order of lines on a page, without reading any: pure arithmetic on where they are."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from indexing.parsers.ocr_layout import in_reading_order
from indexing.parsers.scans import ScannedLine

HEIGHT = 20.0


def line(text: str, left: float, top: float, width: float = 300.0, confidence: float = 1.0) -> ScannedLine:
    return ScannedLine(text, confidence, (left, top, left + width, top + HEIGHT))


def column(name: str, left: float, top: float, count: int, width: float = 300.0) -> list[ScannedLine]:
    return [line(f"{name}{number}", left, top + number * 30, width) for number in range(count)]


def read(lines: list[ScannedLine]) -> list[str]:
    random.Random(1).shuffle(lines)
    return [found.text for found in in_reading_order(lines)]


def test_one_column_from_top_to_bottom() -> None:
    assert read(column("a", 50, 50, 4)) == ["a0", "a1", "a2", "a3"]


def test_columns_one_after_the_other_between_lines_across() -> None:
    title, middle, end = line("title", 50, 10, 700), line("middle", 50, 200, 700), line("end", 60, 400, 690)
    lines = [
        *(title, middle, end),
        *(*column("a", 50, 50, 4), *column("b", 420, 50, 4), *column("c", 50, 240, 4), *column("d", 420, 245, 4)),
    ]
    expected = "title a0 a1 a2 a3 b0 b1 b2 b3 middle c0 c1 c2 c3 d0 d1 d2 d3 end"
    assert read(lines) == expected.split()


def test_three_columns() -> None:
    lines = column("a", 0, 0, 5, 200) + column("b", 230, 8, 5, 200) + column("c", 460, 0, 5, 200)
    assert read(lines) == [f"{name}{number}" for name in "abc" for number in range(5)]


def test_short_cells_side_by_side_are_rows() -> None:
    cells = [line(f"{row}{name}", left, row * 30, 80) for row in range(4) for name, left in (("x", 0), ("y", 300))]
    assert read(cells) == ["0x 0y", "1x 1y", "2x 2y", "3x 3y"]
    assert all(found.is_row for found in in_reading_order(cells))


def test_pieces_of_a_line_are_joined() -> None:
    near, far = line("时间", 0, 0, 40), line("地点", 41, 2, 40)
    assert read([near, far]) == ["时间地点"]
    assert read([near, line("地点", 70, 2, 40)]) == ["时间 地点"]
    (joined,) = in_reading_order([line("sure", 0, 0, 40, 1.0), line("and less so", 45, 1, 90, 0.7)])
    assert joined == ScannedLine("sure and less so", 0.78, (0, 0, 135, HEIGHT + 1))


@given(
    st.lists(
        st.tuples(st.integers(0, 800), st.integers(0, 1000), st.integers(5, 600), st.integers(5, 60)), max_size=40
    ),
    st.randoms(),
)
def test_nothing_is_lost_and_the_order_of_finding_does_not_matter(
    boxes: list[tuple[int, int, int, int]], chance: random.Random
) -> None:
    lines = [
        ScannedLine(f"<{number}>", 1.0, (left, top, left + width, top + height))
        for number, (left, top, width, height) in enumerate(dict.fromkeys(boxes))
    ]
    ordered = in_reading_order(lines)
    text = " ".join(found.text for found in ordered)
    assert all(text.count(found.text) == 1 for found in lines)
    assert len("".join(text.split())) == sum(len(found.text) for found in lines)
