"""Numbers of headings and list items as office programs write them. Forms: ECMA-376 part 1, 17.18.59."""

from __future__ import annotations

_MOST_LETTERED = 780  # thirty times Z, where Word begins anew
_DIGITS = "〇一二三四五六七八九"
_CHINESE = {
    "chineseCounting", "chineseCountingThousand", "ideographDigital", "japaneseCounting", "taiwaneseCounting",
    "taiwaneseCountingThousand", "chineseLegalSimplified",
}  # fmt: skip


def format_number(value: int, form: str) -> str:
    """`value` as Word writes it in `form`; forms not known here are written in decimal digits."""
    if form in _CHINESE:
        return _chinese(value)
    if form in ("lowerLetter", "upperLetter") and 0 < value <= _MOST_LETTERED:
        letter = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letter if form == "lowerLetter" else letter.upper()
    if form in ("lowerRoman", "upperRoman") and 0 < value < 4000:
        return _roman(value) if form == "upperRoman" else _roman(value).lower()
    if form == "decimalZero":
        return f"{value:02d}"
    if form in ("decimalEnclosedCircle", "decimalEnclosedCircleChinese") and 0 < value <= 20:
        return chr(ord("①") + value - 1)
    return str(value)


def _chinese(value: int) -> str:
    if not 0 <= value < 1000:
        return str(value)
    hundreds, tens, ones = value // 100, value // 10 % 10, value % 10
    text = f"{_DIGITS[hundreds]}百" if hundreds else ""
    if tens:
        text += "十" if tens == 1 and not hundreds else f"{_DIGITS[tens]}十"
    elif hundreds and ones:
        text += "零"
    return text + (_DIGITS[ones] if ones or not value else "")


def _roman(value: int) -> str:
    steps = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
             (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip
    text = ""
    for number, letters in steps:
        text += letters * (value // number)
        value %= number
    return text
