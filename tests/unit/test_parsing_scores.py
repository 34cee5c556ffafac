"""The measures of `bench_parsing`: small cases whose values can be worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.parsing_scores import (
    Cell,
    Merged,
    Reading,
    Table,
    inversions,
    key,
    overlap,
    plain,
    reading_order,
    scores,
    table_scores,
    text_similarity,
    words_of,
    written,
)

GRID = [["Year", "Ducks"], ["2019", "120"], ["2020", "135"]]
MERGED = Table(  # Region (two rows) | Sales (two columns); North, South below Sales
    (
        Cell(0, 0, "Region", 1, 0),
        Cell(0, 1, "Sales", 0, 2),
        Cell(1, 1, "North", 1, 1),
        Cell(1, 2, "South", 1, 2),
        Cell(2, 0, "Total", 2, 0),
        Cell(2, 1, "5", 2, 2),
    )
)


def test_text_is_one_minus_edits_by_the_longer_length() -> None:
    assert text_similarity("abcdefghij", "abcdefghij") == 1
    assert text_similarity("abcdefghij", "abcdXfghij") == pytest.approx(0.9)
    assert text_similarity("abcdefghij", "abcde") == pytest.approx(0.5)
    assert text_similarity("abc", "") == 0


def test_kinds_of_spaces_dashes_quotes_and_width_are_no_edits() -> None:
    assert plain("第 一 条\n“A–B”\xa0 ﬁne １２") == '第一条"A-B" fine 12'
    assert key(" A  B ") == key("AB") == "AB"


def test_words_are_lower_cased_and_each_chinese_character_is_one() -> None:
    assert words_of("Travel budget: 差旅费 300") == ["travel", "budget", "差", "旅", "费", "300"]


def test_overlap_counts_how_often_each_occurs() -> None:
    both = overlap("aab", "abbc")
    assert (both.common, both.true, both.found) == (2, 3, 4)
    assert both.f1 == pytest.approx(4 / 7)
    assert (both.recall, both.precision) == (pytest.approx(2 / 3), pytest.approx(1 / 2))


def test_a_table_read_right_has_all_cells_and_relations() -> None:
    assert table_scores([Table.of(GRID)], [Table.of(GRID)]) == (1, 1)


def test_rows_in_two_tables_lose_the_relations_between_them_alone() -> None:
    cells, relations = table_scores([Table.of(GRID)], [Table.of(GRID[:2]), Table.of(GRID[2:])])
    # Of seven pairs (three to the right, four below) the two between the tables are lost.
    assert (cells, relations) == (1, pytest.approx(2 * 5 / (7 + 5)))


def test_shifted_columns_keep_cells_and_lose_relations() -> None:
    shifted = [["Ducks", "Year"], *GRID[1:]]
    cells, relations = table_scores([Table.of(GRID)], [Table.of(shifted)])
    # Lost: Year → Ducks, Year above 2019, Ducks above 120; as many are found that are not true.
    assert (cells, relations) == (1, pytest.approx(4 / 7))


def test_no_table_found_is_nothing() -> None:
    assert table_scores([Table.of(GRID)], []) == (0, 0)


@pytest.mark.parametrize("merged", Merged)
def test_no_way_to_write_merged_cells_costs_anything(merged: Merged) -> None:
    assert table_scores([MERGED], [Table.of(MERGED.grid(merged))]) == (1, 1)


def test_ways_to_write_merged_cells() -> None:
    assert MERGED.grid(Merged.ONCE) == [["Region", "Sales", ""], ["", "North", "South"], ["Total", "5", ""]]
    assert MERGED.grid(Merged.DOWN)[1] == ["Region", "North", "South"]
    assert MERGED.grid(Merged.HEADER)[0] == ["Region", "Sales", "Sales"]
    assert MERGED.grid(Merged.HEADER)[2] == ["Total", "5", ""]
    assert MERGED.grid(Merged.EVERYWHERE)[2] == ["Total", "5", "5"]


def test_in_text_a_repeated_cell_is_written_once() -> None:
    ways = {written(MERGED.grid(merged)) for merged in Merged}
    assert ways == {"Region Sales\nNorth South\nTotal 5"}


def test_order_is_one_forward_and_nothing_backwards() -> None:
    parts = [f"{word}1 {word}2 {word}3 {word}4 {word}5" for word in "abcdefgh"]
    forward = " ".join(parts)
    assert reading_order(forward, forward) == 1
    alone = reading_order(" x y ".join(parts), " z ".join(reversed(parts)))
    assert alone == 0  # no run of five crosses from one part to the next in both
    assert reading_order(forward, "nothing of it") is None


def test_two_columns_read_across_are_out_of_order() -> None:
    left, right = (
        [f"{side}{n}a {side}{n}b {side}{n}c {side}{n}d {side}{n}e {side}{n}f" for n in range(9)] for side in "lr"
    )
    across = " ".join(f"{one} {other}" for one, other in zip(left, right, strict=True))
    order = reading_order(" ".join(left + right), across)
    assert order is not None
    assert 0.5 < order < 0.9


@given(st.lists(st.integers(0, 30), max_size=40))
def test_inversions_are_the_pairs_in_wrong_order(numbers: list[int]) -> None:
    assert inversions(numbers) == sum(a > b for at, a in enumerate(numbers) for b in numbers[at + 1 :])


def test_levels_count_by_their_rank() -> None:
    truth = Reading(headings=((1, "A"), (2, "B"), (2, "C")))
    same = scores(truth, Reading(headings=((2, "A"), (4, "B"), (4, "C"))))
    flat = scores(truth, Reading(headings=((1, "A"), (1, "B"), (1, "C"))))
    assert same == {"headings": 1, "headingLevels": 1}
    assert flat == {"headings": 1, "headingLevels": pytest.approx(1 / 3)}


def test_a_heading_too_many_costs() -> None:
    told = scores(Reading(headings=((1, "第一章"),)), Reading(headings=((1, "第一章"), (1, "not one"))))
    assert told["headings"] == pytest.approx(2 / 3)


def test_what_neither_has_is_not_scored() -> None:
    assert scores(Reading(headings=(), tables=()), Reading(headings=(), tables=())) == {}
    assert scores(Reading(headings=(), tables=()), Reading(headings=((1, "x"),), tables=())) == {
        "headings": 0,
        "headingLevels": 0,
    }


def test_what_was_lost_and_what_was_invented() -> None:
    told = scores(Reading(text="one two three four"), Reading(text="one two nine"))
    assert (told["wordRecall"], told["wordPrecision"]) == (0.5, pytest.approx(2 / 3))
