"""Scanned pages as data: round trip, read once, a limit of number; and where their text lies on the page as displayed."""

from __future__ import annotations

import json

import pytest

from indexing.blocks import BlockKind, GapReason
from indexing.locators import Region
from indexing.parsers import limits
from indexing.parsers.assemble import Piece
from indexing.parsers.scan_pieces import pieces_of
from indexing.parsers.scans import ScannedLine, ScannedPage, Scans

LINE = ScannedLine("一行 text", 0.87, (10.0, 20.0, 110.0, 40.0), is_row=True)


def read(pages: list[ScannedPage]) -> list[Piece]:
    return pieces_of(pages)[0]


def page(number: int, *texts: str, **options: object) -> ScannedPage:
    lines = [ScannedLine(text, 0.9, (50.0, 100.0 + 30 * at, 400.0, 120.0 + 30 * at)) for at, text in enumerate(texts)]
    return ScannedPage(number, (600.0, 800.0), lines=tuple(lines), **options)  # type: ignore[arg-type]


def test_json_round_trip() -> None:
    for given in (
        ScannedPage(3, (595.0, 842.0), 1, -1.5, (LINE,), GapReason.NOT_RECOGNISED),
        ScannedPage(4),
    ):
        assert ScannedPage.from_json(json.loads(json.dumps(given.to_json()))) == given


def test_a_page_is_read_once_and_told() -> None:
    told: list[ScannedPage] = []
    scans = Scans({1: page(1, "known")}, told.append)
    assert scans.read(1, lambda: pytest.fail("it was known")) == page(1, "known")
    assert scans.read(2, lambda: page(2, "new")) == page(2, "new")
    assert told == [page(2, "new")]


def test_pages_beyond_the_limit_are_gaps_whatever_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SCANNED_PAGES", 2)
    for known in ({}, {5: page(5)}, {9: page(9)}):
        scans = Scans(known)
        read = [scans.read(number, lambda number=number: page(number)) for number in (5, 7, 9)]  # type: ignore[misc]
        assert [(found.number, found.gap) for found in read] == [(5, None), (7, None), (9, GapReason.OVER_LIMIT)]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (0, (10.0, 20.0, 110.0, 40.0)),
        # A page of 600 × 800 upright was displayed turned: the line's place there.
        (1, (760.0, 10.0, 780.0, 110.0)),
        (2, (490.0, 760.0, 590.0, 780.0)),
        (3, (20.0, 490.0, 40.0, 590.0)),
    ],
)
def test_regions_are_on_the_page_as_displayed(turn: int, expected: Region) -> None:
    (piece,) = read([ScannedPage(1, (600.0, 800.0), turn, lines=(LINE,))])
    assert piece.region == expected
    assert piece.parts[0].region == expected
    assert (piece.kind, piece.text, piece.confidence) == (BlockKind.IMAGE_TEXT, "一行 text", 0.87)


def test_a_line_that_was_laid_askew_lies_within_its_region() -> None:
    (piece,) = read([ScannedPage(1, (600.0, 800.0), skew=2.0, lines=(LINE,))])
    left, top, right, bottom = piece.region or pytest.fail("it has none")
    assert 8.5 < left < 10.0
    assert 108.0 < right < 110.0
    assert 20.0 < top < 21.0
    assert 43.0 < bottom < 45.0, "its right end lies lower by its length times the sine"


def test_lines_become_paragraphs_with_the_place_of_each_line() -> None:
    (piece,) = read([page(1, "The days are granted on the first of Janu-", "ary and may be taken", "in one piece.")])
    assert piece.text == "The days are granted on the first of January and may be taken in one piece."
    assert [piece.text[slice(*part.span)] for part in piece.parts] == [
        "The days are granted on the first of Janu",
        "ary and may be taken",
        "in one piece.",
    ]
    assert [part.region for part in piece.parts] == [line.region for line in page(1, "", "", "").lines]
    assert piece.region == (50.0, 100.0, 400.0, 180.0)


def test_a_paragraph_over_two_pages_has_a_region_on_each() -> None:
    first, second = page(3, "This sentence is not at its end and goes on"), page(4, "on the next page.")
    (piece,) = read([first, second])
    assert (piece.page, piece.page_end) == (3, 4)
    assert (piece.region, piece.region_end) == (first.lines[0].region, second.lines[0].region)


@pytest.mark.parametrize("between", [[], [ScannedPage(4, gap=GapReason.UNREADABLE)]], ids=["with text", "a gap"])
def test_a_paragraph_does_not_go_on_over_another_page(between: list[ScannedPage]) -> None:
    pages = [page(3, "This sentence is not at its end and goes on"), *between, page(5, "on the page after the next.")]
    assert [(piece.page, piece.page_end) for piece in read(pages)] == [(3, None), (5, None)]


def test_headings_by_number_and_by_size() -> None:
    title = ScannedLine("员工休假办法", 0.99, (200.0, 40.0, 400.0, 80.0))
    chapter = ScannedLine("第一章总则", 0.9, (50.0, 100.0, 150.0, 120.0))
    body = page(1, "", "为了规范员工休假，保障员工休息的权利，制定本办法。", "本办法适用于全体员工。").lines[1:]
    title_piece, chapter_piece, *rest = read([ScannedPage(1, (600.0, 800.0), lines=(title, chapter, *body))])
    assert (title_piece.kind, title_piece.level, title_piece.text) == (BlockKind.HEADING, 1, "员工休假办法")
    assert (chapter_piece.kind, chapter_piece.level, chapter_piece.text) == (BlockKind.HEADING, 2, "第一章总则")
    assert chapter_piece.confidence == 0.9, "it was read from a picture, too"
    assert {piece.kind for piece in rest} == {BlockKind.IMAGE_TEXT}


def test_rows_of_a_form_stay_apart() -> None:
    rows = [
        ScannedLine(f"姓名 张三{at}", 0.9, (50.0, 100.0 + 30 * at, 400.0, 120.0 + 30 * at), True) for at in range(3)
    ]
    assert [piece.text for piece in read([ScannedPage(1, (600.0, 800.0), lines=tuple(rows))])] == [
        "姓名 张三0",
        "姓名 张三1",
        "姓名 张三2",
    ]


def test_running_heads_of_scanned_pages_are_left_out() -> None:
    head = ScannedLine("员工手册", 0.99, (250.0, 20.0, 350.0, 36.0))
    pages = [
        ScannedPage(number, (600.0, 800.0), lines=(head, *page(number, f"Only page {number} says this.").lines))
        for number in range(1, 5)
    ]
    assert [piece.text for piece in read(pages)] == [f"Only page {number} says this." for number in range(1, 5)]
