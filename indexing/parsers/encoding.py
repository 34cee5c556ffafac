"""Bytes of a text file to characters, by evidence: its mark, what UTF-8 allows, then which letters are frequent."""

from __future__ import annotations

import codecs
import re

from documents.media_types import unmarked_utf16
from indexing.parsers import limits
from indexing.parsers.plausibility import READINGS, score

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Python knows more, some of them for other things than texts, or slow without measure (punycode).
_DECLARED = {
    codecs.lookup(name).name
    for name in (
        *(reading.encoding for reading in READINGS),
        *("cp1258", "big5", "shift_jis", "euc_kr", "koi8_r", "iso8859_15", "cp850", "mac_roman"),
        *("utf-8", "ascii", "gb18030", "gbk", "gb2312", "hz", "big5hkscs", "iso2022_jp", "cp932", "cp949", "cp874"),
        *(f"iso8859_{part}" for part in range(1, 17) if part != 12),
        *("cp866", "koi8_u", "tis_620", "mac_roman", "mac_cyrillic", "euc_jis_2004", "johab"),
    )
}
SAMPLE_BYTES = 20_000  # of text that is not ASCII; beyond it nothing changes
MOST_BROKEN = 100  # one broken byte of so many characters, and one more, do not speak against an encoding
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def decode(content: bytes, *, declared: str | None = None) -> str:
    """The text of `content`; never fails: a byte that nothing explains becomes U+FFFD.

    `declared` is the encoding the file itself names; it is believed where the bytes agree.
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return content.decode(name, "replace").removeprefix("\ufeff")
    if declared and _is_known(declared) and (text := _strict(content, declared)) is not None:
        return text
    if order := unmarked_utf16(content):
        return content.decode(order, "replace")
    # Unpaired surrogates written as UTF-8 do not make a file another encoding; cleaning drops them.
    if (text := _strict(content, "utf-8", "surrogatepass")) is not None:
        return text
    if (text := _utf8_with_damage(content)) is not None:
        return text
    return content.decode(_most_plausible(content), "replace")


def decode_text(content: bytes) -> str:
    """`decode`, for a file that is all text. Raises `DocumentTooLarge` before anybody takes pains with it."""
    text = decode(content)
    limits.CHARACTERS.check(len(text))
    limits.LINES.check(text.count("\n") + text.count("\r"))
    return text


def _is_known(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name in _DECLARED
    except LookupError:
        return False


def _strict(content: bytes, encoding: str, errors: str = "strict") -> str | None:
    try:
        return content.decode(encoding, errors)
    except (UnicodeDecodeError, LookupError):
        return None


def _utf8_with_damage(content: bytes) -> str | None:
    """UTF-8 with a few broken bytes: whole sequences do not arise by chance, so a majority of them is proof."""
    text = content.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return text if broken * 10 <= len(_NOT_ASCII.findall(text)) else None


def _most_plausible(content: bytes) -> str:
    """The encoding in which what is not ASCII is made of letters that are frequent in one language."""
    sample = _sample(content)
    best, encoding = -2.0, "cp1252"
    for reading in READINGS:
        text = sample.decode(reading.encoding, "replace")
        broken = text.count("\ufffd")
        if broken * MOST_BROKEN > len(_NOT_ASCII.findall(text)) + MOST_BROKEN:
            continue
        found = score(text, reading)
        if found > best:
            best, encoding = found, reading.encoding
    return encoding


def _sample(content: bytes) -> bytes:
    """Lines that are not ASCII: enough of them to tell the encoding. (No encoding here has a line feed inside a character.)"""
    lines, size = [], 0
    for line in re.finditer(rb"[^\r\n]++", content):
        first = _HIGH_BYTE.search(line[0])
        if first is None:
            continue
        begin = first.start() if len(line[0]) > SAMPLE_BYTES else 0
        lines.append(line[0][begin : begin + SAMPLE_BYTES])
        size += len(lines[-1])
        if size >= SAMPLE_BYTES:
            break
    return b"\n".join(lines)
