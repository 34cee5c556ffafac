"""Bytes of a text file to characters, by evidence: its mark, what UTF-8 and GB18030 allow, then its statistics."""

from __future__ import annotations

import codecs
import re

from indexing.parsers import limits

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("big5", "shift_jis", "euc_jp", "euc_kr", "koi8_r", "iso8859_2", "iso8859_15"),
]
# Python knows more, some of them for other things than texts, or slow without measure (punycode).
_DECLARED = {
    codecs.lookup(name).name
    for name in (
        *_CANDIDATES,
        *("utf-8", "ascii", "gb18030", "gbk", "gb2312", "hz", "big5hkscs", "iso2022_jp", "cp932", "cp949", "cp874"),
        *(f"iso8859_{part}" for part in range(1, 17) if part != 12),
        *("cp866", "koi8_u", "tis_620", "mac_roman", "mac_cyrillic", "euc_jis_2004", "johab"),
    )
}
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
    # Unpaired surrogates written as UTF-8 do not make a file another encoding; cleaning drops them.
    if (text := _strict(content, "utf-8", "surrogatepass")) is not None:
        return text
    if (text := _utf8_with_damage(content)) is not None:
        return text
    gb18030 = _strict(content, "gb18030")
    if gb18030 is not None and _reads_as_chinese(gb18030):
        return gb18030
    return _by_statistics(content) or gb18030 or content.decode("cp1252", "replace")


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


def _reads_as_chinese(text: str) -> bool:
    """Whether most of what is not ASCII is in GB 2312's first level or among its punctuation.

    GB18030 accepts nearly any bytes, Western and Cyrillic text too, but turns those into rare characters.
    """
    foreign = _NOT_ASCII.findall(text)
    common = sum(1 for character in foreign if _is_common(character))
    return common * 10 >= len(foreign) * 7


def _is_common(character: str) -> bool:
    encoded = character.encode("gb18030")
    if len(encoded) != 2 or encoded[1] < 0xA1:
        return False
    return encoded[0] in (0xA1, 0xA3) or 0xB0 <= encoded[0] <= 0xD7


def _by_statistics(content: bytes) -> str | None:
    from charset_normalizer import from_bytes  # only here: most files never need it, and it is slow to import

    best = from_bytes(content, cp_isolation=_CANDIDATES).best()
    return str(best) if best is not None else None
