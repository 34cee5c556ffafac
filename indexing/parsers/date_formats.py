"""Dates, times and durations of a spreadsheet as it shows them. Pure.

Source: ECMA-376 part 1, 18.8.30 and 18.8.31. The short date (format 14), which each reader sees in the order of their country,
is written in full as ISO 8601.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from indexing.parsers.format_tokens import Token, sections_of

SHORT_DATE = "mm-dd-yy"  # what libraries call format 14
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


Moment = datetime | date | time | timedelta

_LAST_DAY = 2_958_465  # 9999-12-31
_LEAP_DAY = 60  # 29 February 1900, which Excel believes in: days before it are one later than they count


def moment_of(serial: float, *, since_1904: bool) -> datetime | None:
    """The moment that a number stands for: days since the end of 1899, or since 1904 where the file says so. None where it
    stands for none. To the second.

    Source: ECMA-376 part 1, 18.17.4.1.
    """
    if not 0 <= serial <= _LAST_DAY:
        return None
    first = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 31 if serial < _LEAP_DAY else 30)
    try:
        return first + timedelta(seconds=round(serial * 86_400))
    except OverflowError:
        return None


def show_moment(value: Moment, number_format: str) -> str:
    """`value` in its format; in full where the format says nothing about time."""
    tokens = sections_of(number_format)[0]
    kinds = {kind for kind, _ in tokens}
    if number_format == SHORT_DATE or not kinds & {"letters", "elapsed"}:
        return _iso(value)
    if isinstance(value, timedelta):
        return _elapsed(value, tokens)
    moment = value if isinstance(value, datetime) else _whole_moment(value)
    half_day = "ampm" in kinds
    shown = ""
    letters = [text.lower() for kind, text in tokens if kind in ("letters", "elapsed")]
    at = -1
    seconds_shown = False
    for kind, text in tokens:
        if kind in ("letters", "elapsed"):
            at += 1
            minutes = _is_minute(letters, at)
            shown += _part(moment, text.lower(), minutes=minutes, half_day=half_day)
            seconds_shown = text.lower().startswith("s")
        elif kind == "ampm":
            first, second = text.split("/")
            shown += first if moment.hour < 12 else second
        elif kind == "point":
            shown += "" if seconds_shown else text
        elif kind == "literal" or kind == "comma":
            shown += text
    return shown.strip()


def _is_minute(letters: list[str], at: int) -> bool:
    """m is a minute beside hours or seconds, a month otherwise."""
    return letters[at][0] == "m" and (
        (at > 0 and letters[at - 1][0] == "h") or (at + 1 < len(letters) and letters[at + 1][0] == "s")
    )


def _part(moment: datetime, letters: str, *, minutes: bool, half_day: bool) -> str:
    letter, width = letters[0], len(letters)
    if minutes:
        return f"{moment.minute:0{min(width, 2)}d}"
    if letter in "ye":
        return f"{moment.year:04d}" if width > 2 or letter == "e" else f"{moment.year % 100:02d}"
    if letter == "m":
        name = _MONTHS[moment.month - 1]
        return {1: str(moment.month), 2: f"{moment.month:02d}", 3: name[:3], 4: name}.get(width, name[:1])
    if letter == "d":
        name = _DAYS[moment.weekday()]
        return {1: str(moment.day), 2: f"{moment.day:02d}", 3: name[:3]}.get(width, name)
    if letter == "h":
        hour = (moment.hour % 12 or 12) if half_day else moment.hour
        return f"{hour:0{min(width, 2)}d}"
    return f"{moment.second:0{min(width, 2)}d}"


def _elapsed(value: timedelta, tokens: list[Token]) -> str:
    """Hours, minutes or seconds that go on beyond 24 or 60; the unit in brackets takes all of the time."""
    seconds = round(abs(value.total_seconds()))
    units = {"h": 3600, "m": 60, "s": 1}
    shown = ""
    for kind, text in tokens:
        if kind in ("letters", "elapsed") and text[0].lower() in units:
            count, seconds = divmod(seconds, units[text[0].lower()])
            shown += f"{count:0{len(text)}d}"
        elif kind in ("literal", "comma"):
            shown += text
    return ("-" if value < timedelta(0) else "") + shown.strip()


def _iso(value: Moment) -> str:
    if isinstance(value, datetime):
        day = value.date().isoformat()
        return day if value.time() == time(0) else f"{day} {value.time().isoformat(timespec='seconds')}"
    if isinstance(value, timedelta):
        return _elapsed(
            value, [("elapsed", "h"), ("literal", ":"), ("letters", "mm"), ("literal", ":"), ("letters", "ss")]
        )
    return value.isoformat()


def _whole_moment(value: date | time) -> datetime:
    return datetime.combine(value, time(0)) if isinstance(value, date) else datetime.combine(date(1900, 1, 1), value)
