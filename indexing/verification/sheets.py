"""Spreadsheets: the claimed cells, read by calamine, and what lies on them. Calamine knows values and not how they are shown,
so numbers and dates are compared as such: what is shown is the cell's value, rounded or written another way."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any

from lxml import etree
from python_calamine import CalamineError, CalamineWorkbook

from indexing.locators import Cells, cells_from_name
from indexing.verification.claims import Claim, Outcome
from indexing.verification.measure import ENOUGH, Place, units
from indexing.verification.sheet_asides import Beside, values_beside

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+")
_STRETCH = 1_000  # rows
_Merged = tuple[tuple[int, int], tuple[int, int]]
_MOST_PLACES = 5_000_000  # of a sheet
_SHEETS = re.compile(r"xl/worksheets/[^/]+\.xml")
_PLACE = re.compile(rb'<(?:\w+:)?c r="([A-Z]{1,3})(\d{1,7})"')
_EPOCH = datetime(1899, 12, 30)  # day 0 of a sheet, where days are not told from numbers
_LAST_DAY = 2_958_465  # 9999-12-31
_SCALES = (1.0, 100.0, 1e-3, 1e-6, 1e-9)  # as written, in per cent, in thousands, millions, billions


def outcomes(content: bytes, claims: Sequence[Claim]) -> Iterator[Outcome]:
    if _is_too_wide(content, claims):
        yield from [Outcome.NOT_CHECKABLE] * len(claims)
        return
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    except CalamineError:  # damaged: our parser gets along with more than calamine does
        yield from [Outcome.NOT_CHECKABLE] * len(claims)
        return
    beside = lru_cache(maxsize=2)(lambda name: _beside_cells(content, name))
    sheet = lru_cache(maxsize=2)(lambda name: _Sheet(book.get_sheet_by_name(name)))
    for claim in claims:
        name, cells = claim.locator.sheet, claim.locator.cells
        if name not in book.sheet_names:
            yield Outcome.ELSEWHERE
        elif not claim.texts:
            yield Outcome.NOT_CHECKABLE
        else:
            try:
                values = sheet(name).values(cells) if cells is not None else []
            except CalamineError:
                yield Outcome.NOT_CHECKABLE
                continue
            found = _holds(values, claim.texts) or _holds([*values, *_lying_on(beside(name), cells)], claim.texts)
            yield Outcome.FOUND if found else Outcome.ELSEWHERE


def _is_too_wide(content: bytes, claims: Sequence[Claim]) -> bool:
    """Whether calamine, which makes a place for every empty cell up to the last filled one, would end the process."""
    reach = [cells[2] * cells[3] for claim in claims if (cells := claim.locator.cells)]
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            for name in filter(_SHEETS.match, package.namelist()):
                columns, rows = set[bytes](), 0
                for place in _PLACE.finditer(package.read(name)):
                    columns.add(place[1])
                    rows = max(rows, int(place[2]))
                reach.append(rows * max(map(_number_of, columns), default=0))
    return max(reach, default=0) > _MOST_PLACES


def _number_of(column: bytes) -> int:
    return cells_from_name(f"{column.decode()}1:{column.decode()}1")[0]


def _beside_cells(content: bytes, sheet: str) -> Beside:
    """Of an XLSX; what cannot be read again says nothing."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return []
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        try:
            return values_beside(package, sheet)
        except (etree.XMLSyntaxError, KeyError, ValueError):
            return []


def _lying_on(beside: Beside, cells: Cells | None) -> list[str | float]:
    """What lies on some of `cells`, or nowhere in particular."""
    return [value for place, values in beside if _touch(place, cells) for value in values]


def _touch(one: Cells | None, other: Cells | None) -> bool:
    if one is None or other is None:
        return one is None
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


class _Sheet:
    def __init__(self, found: Any) -> None:
        self._rows: list[list[Any]] = found.to_python(skip_empty_area=False)
        self._long: list[_Merged] = []
        self._short: dict[int, list[_Merged]] = {}  # by each `_STRETCH` of rows that they reach into
        for begin, end in found.merged_cell_ranges or ():
            if begin[0] >= len(self._rows) or begin[1] >= len(self._rows[begin[0]]):
                continue
            if end[0] - begin[0] > _STRETCH:
                self._long.append((begin, end))
                continue
            for stretch in {begin[0] // _STRETCH, end[0] // _STRETCH}:
                self._short.setdefault(stretch, []).append((begin, end))

    def values(self, cells: Cells) -> list[Any]:
        """What stands in a range, with the merged cells that reach into it."""
        left, top, right, bottom = (number - 1 for number in cells)
        found = [value for row in self._rows[top : bottom + 1] for value in row[left : right + 1] if value != ""]
        bottom = min(bottom, top + len(self._rows))
        stretches = range(top // _STRETCH, bottom // _STRETCH + 1)
        near = dict.fromkeys(merged for stretch in stretches for merged in self._short.get(stretch, ()))
        for (first_row, first_column), (last_row, last_column) in (*near, *self._long):
            if first_row <= bottom and last_row >= top and first_column <= right and last_column >= left:
                found.append(self._rows[first_row][first_column])
        return found


def _holds(values: Sequence[Any], texts: Sequence[str]) -> bool:
    place = Place("\n".join(value for value in values if isinstance(value, str)))
    others = [value for value in values if not isinstance(value, str)]
    found = whole = at = 0
    for text in texts:
        size = len(units(text))
        whole += size
        if place.holds([text]):
            found += size
            continue
        numbers = _NUMBER.findall(text)
        # Texts and values are in one order: the next one is most likely that text's.
        in_order = chain(range(at, len(others)), range(at))
        match = next((number for number in in_order if _is_shown_as(others[number], text, numbers)), None)
        if match is not None:
            found, at = found + size, match + 1
    return found >= ENOUGH * whole


def _is_shown_as(value: Any, text: str, numbers: Sequence[str]) -> bool:
    """`numbers` are those in `text`."""
    if isinstance(value, bool):
        return text.upper() == str(value).upper()
    if isinstance(value, int | float):
        return (len(numbers) == 1 and _is_rounded(float(value), numbers[0])) or (
            0 <= value <= _LAST_DAY and _is_moment(_EPOCH + timedelta(days=float(value)), numbers)
        )
    if isinstance(value, timedelta):
        return _is_duration(value, numbers) or _is_moment(_EPOCH + value, numbers)
    if isinstance(value, datetime | date | time):
        return _is_moment(value, numbers)
    return False


def _is_rounded(value: float, shown: str) -> bool:
    number = float(shown.replace(",", ""))
    mantissa, _, exponent = shown.lower().partition("e")
    step = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return any(abs(abs(value) * scale - number) <= 0.5000001 * step + 1e-9 * abs(number) for scale in _SCALES)


def _is_moment(value: datetime | date | time, shown: Sequence[str]) -> bool:
    """Whether all numbers that are shown are parts of the date or time. Names of months and days are not looked at."""
    parts: set[int] = set()
    if isinstance(value, date):  # a datetime, too
        parts |= {value.year, value.year % 100, value.month, value.day, 0, 12}  # midnight, which calamine leaves out
    if isinstance(value, datetime | time):
        parts |= {
            value.hour,
            value.hour % 12 or 12,
            value.minute,
            value.second,
            round(value.second + value.microsecond / 1e6),
        }
    return bool(shown) and all(number.isdigit() and int(number) in parts for number in shown)


def _is_duration(value: timedelta, shown: Sequence[str]) -> bool:
    seconds = round(value.total_seconds())
    parts = {seconds // 3600, seconds // 60, seconds, seconds // 60 % 60, seconds % 60}
    return bool(shown) and all(number.isdigit() and int(number) in parts for number in shown)
