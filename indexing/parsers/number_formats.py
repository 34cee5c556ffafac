"""Numbers, dates and times of a spreadsheet as it shows them, from a value and its number format. Pure.

Source: ECMA-376 part 1, 18.8.30 and 18.8.31. The width of a column, which Excel rounds to, is not imitated.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction

from indexing.parsers.date_formats import Moment, moment_of, show_moment
from indexing.parsers.format_tokens import CONDITION, LONGEST, Token, sections_of

_DATE = re.compile(
    r"\d{4}[-/.年]\d{1,2}(?:[-/.月]\d{1,2}日?|月)?(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?Z?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
)
_MOST_DAYS = 999_999_999  # of a duration

Value = str | bool | int | float | Moment | None


def show(value: Value, number_format: str = "General") -> str:
    """What a reader sees of a cell. Never fails: a format that is not understood shows the plain value."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Moment):
        return show_moment(value, number_format[:LONGEST])
    try:
        return _number(value, number_format[:LONGEST])
    except (ValueError, ArithmeticError, IndexError):
        return plain(value)


def show_serial(value: float, number_format: str, *, since_1904: bool = False) -> str:
    """What a reader sees of a number in a file that keeps dates as numbers, too: the format tells which is meant."""
    kinds = {kind for kind, _ in _section(value, number_format[:LONGEST])[0]}
    if "elapsed" in kinds and abs(value) < _MOST_DAYS:
        return show(timedelta(days=value), number_format)
    moment = moment_of(value, since_1904=since_1904) if "letters" in kinds else None
    return show(value if moment is None else moment, number_format)


def plain(value: float) -> str:
    """As the format “General” shows it in a wide column: at most eleven digits of a fraction."""
    if isinstance(value, int) or (value == int(value) if abs(value) < 1e15 else False):
        return str(int(value))
    return format(value, ".11g").replace("e", "E")


def _number(value: float, number_format: str) -> str:
    tokens, negated = _section(value, number_format)
    tokens = [token for token in tokens if token[0] != "condition"]
    kinds = [kind for kind, _ in tokens]
    if "general" in kinds or not ({"digit", "percent"} & set(kinds)):
        if kinds and "general" not in kinds and all(kind == "literal" for kind in kinds):
            return "".join(text for _, text in tokens).strip()  # such as a dash for zero
        before = "".join(text for kind, text in tokens[: _first(kinds, "general")] if kind == "literal")
        after = "".join(text for kind, text in tokens[_first(kinds, "general") + 1 :] if kind == "literal")
        return f"{before}{plain(abs(value) if negated else value)}{after}".strip()
    number = Decimal(repr(value))
    sign = "-" if number < 0 and not negated else ""
    number = abs(number)
    if ("literal", "/") in tokens:
        return (sign + _fraction(number, tokens)).strip()
    number = number.scaleb(2 * kinds.count("percent"))
    text = _scientific(number, tokens) if "power" in kinds else _digits(number, tokens)
    # Rounded to nothing, a number has no sign either.
    return (sign + text if re.search(r"[1-9]", text) else text).strip()


def _section(value: float, number_format: str) -> tuple[list[Token], bool]:
    """The tokens of the part of a format that is for this value, and whether the part itself says that it is negative."""
    sections = sections_of(number_format)
    conditions = [_condition(tokens) for tokens in sections]
    if any(conditions):
        for tokens, condition in zip(sections, conditions, strict=True):
            if condition is None or _holds(value, condition):
                return tokens, False
        return [("general", "")], False
    if value < 0 and len(sections) > 1:
        return sections[1], True
    if value == 0 and len(sections) > 2:
        return sections[2], False
    return sections[0], False


def _condition(tokens: list[Token]) -> str | None:
    return next((text for kind, text in tokens if kind == "condition"), None)


def _holds(value: float, condition: str) -> bool:
    match = CONDITION.fullmatch(condition)
    assert match is not None
    limit = float(match[2])
    answers = {"<": value < limit, ">": value > limit, "=": value == limit}
    return any(answers[sign] for sign in match[1]) if match[1] != "<>" else value != limit


def _digits(number: Decimal, tokens: list[Token]) -> str:
    """Fill the places of a format with the digits of a number that is not negative."""
    point = next((at for at, (kind, _) in enumerate(tokens) if kind == "point"), len(tokens))
    whole, after = tokens[:point], tokens[point + 1 :]
    last_digit = max((at for at, (kind, _) in enumerate(tokens) if kind == "digit"), default=-1)
    thousands = sum(1 for at, (kind, _) in enumerate(tokens) if kind == "comma" and at > last_digit)
    places = [text for kind, text in after if kind == "digit"]
    number = number.scaleb(-3 * thousands)
    number = number.quantize(Decimal(1).scaleb(-len(places)), rounding=ROUND_HALF_UP)
    digits, _, decimals = format(number, "f").partition(".")
    grouped = any(kind == "comma" for kind, _ in whole[: _last(whole, "digit")])
    left = _whole(digits.lstrip("0"), whole, grouped)
    right = _decimals(decimals, after)
    mark = "." if point < len(tokens) and (right[0] or "0" in places) else ""
    return left + mark + right[0] + right[1]


def _whole(digits: str, tokens: list[Token], grouped: bool) -> str:
    """From the right: each place takes a digit, the first one all that are left."""
    result: list[str] = []
    first = _first([kind for kind, _ in tokens], "digit")
    written = 0

    def put(digit: str) -> None:
        nonlocal written
        if grouped and written and written % 3 == 0:
            result.append(",")
        result.append(digit)
        written += 1

    for at in range(len(tokens) - 1, -1, -1):
        kind, text = tokens[at]
        if kind == "digit":
            if digits:
                put(digits[-1])
                digits = digits[:-1]
            elif text == "0":
                put("0")
            if at == first:
                while digits:
                    put(digits[-1])
                    digits = digits[:-1]
        elif kind in ("literal", "percent"):
            result.append(text)
    if digits:  # a format without a place before the point
        result += reversed(digits)
    return "".join(reversed(result))


def _decimals(decimals: str, tokens: list[Token]) -> tuple[str, str]:
    """Digits behind the point, without zeros that the format does not ask for; and what follows them."""
    shown, rest, zeros = "", "", 0
    at = 0
    for kind, text in tokens:
        if kind == "digit":
            shown += decimals[at] if at < len(decimals) else "0"
            at += 1
            if text == "0":
                zeros = len(shown)
        elif kind in ("literal", "percent"):
            rest += text
    while len(shown) > zeros and shown.endswith("0"):
        shown = shown[:-1]
    return shown, rest


def _scientific(number: Decimal, tokens: list[Token]) -> str:
    at = _first([kind for kind, _ in tokens], "power")
    mantissa, power = tokens[:at], tokens[at:]
    exponent = number.adjusted() if number else 0
    places = len([1 for kind, _ in mantissa[_first([kind for kind, _ in mantissa], "point") :] if kind == "digit"])
    scaled = number.scaleb(-exponent).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    if scaled >= 10:
        scaled, exponent = scaled / 10, exponent + 1
    width = len([1 for kind, _ in power if kind == "digit"])
    sign = "-" if exponent < 0 else "+" if power[0][1].endswith("+") else ""
    return f"{_digits(scaled, mantissa)}E{sign}{abs(exponent):0{width}d}"


def _fraction(number: Decimal, tokens: list[Token]) -> str:
    """“1 1/2”: as near as the places below the line allow, or over the number that stands there."""
    below = tokens[tokens.index(("literal", "/")) + 1 :]
    fixed = "".join(text for kind, text in below if kind == "literal" and text.isdigit())
    width = max(len([1 for kind, _ in below if kind == "digit"]), 1)
    whole = int(number)
    rest = Fraction(number) - whole
    part = Fraction(round(rest * int(fixed)), int(fixed)) if fixed else rest.limit_denominator(10 ** min(width, 5) - 1)
    if part == 1:
        whole, part = whole + 1, Fraction(0)
    words = [str(whole)] if whole or not part else []
    if part:
        words.append(f"{part.numerator}/{part.denominator}")
    return " ".join(words)


def _first(kinds: list[str], kind: str) -> int:
    return kinds.index(kind) if kind in kinds else len(kinds)


def _last(tokens: list[Token], kind: str) -> int:
    return max((at for at, (found, _) in enumerate(tokens) if found == kind), default=-1) + 1


def is_number(text: str) -> bool:
    """Whether a text reads as a number, with separators, a unit of money or a percent sign."""
    stripped = re.sub(r"[\s,，'’_]|[$€£¥￥₹]|CNY|RMB|USD|EUR|元|[%％]", "", text).strip("()")
    try:
        return Decimal(stripped).is_finite()
    except InvalidOperation:
        return False


def is_value(text: str) -> bool:
    """Whether a text reads as a number or a date: cells of text files and of sheets that were pasted have no types."""
    return is_number(text) or _DATE.fullmatch(text) is not None
