"""Cells read as they are shown: what a person sees in the spreadsheet is what they search for."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexing.parsers.number_formats import is_number, show

MORNING = datetime(2024, 3, 5, 9, 7, 8)
EVENING = datetime(2024, 12, 25, 21, 30, 0)


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (1234567.891, "General", "1234567.891"),
        (0.1 + 0.2, "General", "0.3"),
        (3.0, "General", "3"),
        (12345678901234, "General", "12345678901234"),
        (3, "@", "3"),
        (1234.5, "0", "1235"),
        (2.5, "0", "3"),
        (1234.5, "#,##0.00", "1,234.50"),
        (-1234.5, "#,##0.00", "-1,234.50"),
        (-1234.5, "#,##0.00;(#,##0.00)", "(1,234.50)"),
        (-1234.5, "#,##0.00_);[Red](#,##0.00)", "(1,234.50)"),
        (0, '#,##0;-#,##0;"-"', "-"),
        (0.1234, "0%", "12%"),
        (0.1234, "0.00%", "12.34%"),
        (1234.5, '"¥"#,##0.00', "¥1,234.50"),
        (1234.5, "[$¥-804]#,##0.00", "¥1,234.50"),
        (99.5, "[$€-407] 0.00", "€ 99.50"),
        (1234.5, '#,##0.00"元"', "1,234.50元"),
        (1234567, '0.0,,"M"', "1.2M"),
        (1234567, "#,##0,", "1,235"),
        (7, "000", "007"),
        (5551234, "000-0000", "555-1234"),
        (0.5, "#.##", ".5"),
        (5, "#.##", "5."[:-1]),
        (5, "0.0#", "5.0"),
        (12345, "0.00E+00", "1.23E+04"),
        (0.00012, "0.0E+00", "1.2E-04"),
        (1.5, "# ?/?", "1 1/2"),
        (0.333, "# ?/?", "1/3"),
        (5.25, "# ?/4", "5 1/4"),
        (150, '[>100]"high";[<=100]"low"', "high"),
        (50, '[>100]"high";[<=100]"low"', "low"),
        (-0.001, "0.00", "0.00"),
        (True, "General", "TRUE"),
        (None, "0.00", ""),
        ("文字", "0.00", "文字"),
        (3, 'General" 台"', "3 台"),
        (5, '0 "unclosed', "5 unclosed"),
        (MORNING, "yyyy-mm-dd", "2024-03-05"),
        (MORNING, "mm-dd-yy", "2024-03-05 09:07:08"),
        (datetime(2024, 3, 5), "mm-dd-yy", "2024-03-05"),
        (MORNING, 'yyyy"年"m"月"d"日"', "2024年3月5日"),
        (MORNING, '[$-804]yyyy"年"m"月"d"日"', "2024年3月5日"),
        (MORNING, "d mmm yyyy", "5 Mar 2024"),
        (MORNING, "dddd, mmmm d", "Tuesday, March 5"),
        (MORNING, "yyyy/m/d h:mm", "2024/3/5 9:07"),
        (EVENING, "h:mm AM/PM", "9:30 PM"),
        (EVENING, "上午/下午h:mm", "下午9:30"),
        (MORNING, "hh:mm:ss", "09:07:08"),
        (MORNING, "mm:ss", "07:08"),
        (date(2024, 3, 5), "yyyy.mm.dd", "2024.03.05"),
        (time(9, 7), "h:mm", "9:07"),
        (timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
        (timedelta(hours=30, minutes=5), "General", "30:05:00"),
    ],
)
def test_shown_as_in_the_spreadsheet(value: object, number_format: str, shown: str) -> None:
    assert show(value, number_format) == shown  # type: ignore[arg-type]


@given(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas(),
    st.text(alphabet='0#?,.%E+-/;[]<>="\\_*ymdhsAPM/$¥年 @', max_size=20) | st.text(max_size=20),
)
def test_no_value_and_no_format_fails(value: object, number_format: str) -> None:
    assert isinstance(show(value, number_format), str)  # type: ignore[arg-type]


def test_numbers_are_told_from_words() -> None:
    assert all(map(is_number, ["1", "-1.5", "1,234.50", "¥1,234", "12%", "(3)", "5元"]))
    assert not any(map(is_number, ["", "a", "1a", "2024-01-05", "1.2.3", "-", "NaN", "元"]))
