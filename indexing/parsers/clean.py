"""Which characters of a file become text: decided once, here, before anything is counted, stored or compared.

Removed: NUL and the other control characters (except line feed and tab), unpaired surrogates, noncharacters, byte
order marks, soft hyphens, zero-width spaces and word joiners, and direction overrides. They are invisible, and left in
they cut text short in tokenizers, break JSON and the database, or keep equal words from matching. Joiners that carry
meaning (U+200C and U+200D in Persian, Indic scripts and emoji) stay. What is left is normalised to NFC, after the marks on
one letter were limited to what any language needs: sorting a long run of them takes a time that grows with its square.
"""

from __future__ import annotations

import re
import unicodedata

from indexing.parsers.limits import COMBINING_MARKS

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_REMOVED = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufdd0-\ufdef\ufffe\uffff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_MANY_MARKS = re.compile(rf"[^\w\s]{{{COMBINING_MARKS + 1},}}")  # a mark is no letter; most such runs have none
_STARTS_WITH_MARK = "\u0f73\u0f75\u0f81"  # no marks themselves, taken apart they are only marks
_SPACES = re.compile(r"[^\S\n]+")  # every space but the line feed; U+3000 and U+00A0 among them

# Han, kana, bopomofo and their punctuation and full-width forms: written without spaces between them. Hangul is not.
CJK = (
    "\u2e80-\u2fdf\u3000-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\ufe30-\ufe4f\uff00-\uff9f\uffe0-\uffe6\U00020000-\U0003ffff"
)
CJK_PUNCTUATION = "\u3000-\u303f\ufe30-\ufe4f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_IS_CJK = re.compile(f"[{CJK}]")
_IS_CJK_PUNCTUATION = re.compile(f"[{CJK_PUNCTUATION}]")


def clean(text: str) -> str:
    """`text` with the module's rules applied; line ends of every kind become line feeds. Idempotent."""
    if text.isascii() and text.isprintable():  # most cells of most tables
        return text
    if _SURROGATES.search(text):
        # A pair written as two halves is one character; a half without its partner is none.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    text = _REMOVED.sub("", _LINE_ENDS.sub("\n", text))
    return unicodedata.normalize("NFC", _MANY_MARKS.sub(_without_excess_marks, text))


def _without_excess_marks(run: re.Match[str]) -> str:
    kept, marks = [], 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) or character in _STARTS_WITH_MARK else 0
        if marks <= COMBINING_MARKS:
            kept.append(character)
    return "".join(kept)


def tidy(text: str) -> str:
    """Clean prose: runs of spaces become one, lines are trimmed and empty ones dropped."""
    lines = (_SPACES.sub(" ", line).strip() for line in clean(text).split("\n"))
    return "\n".join(line for line in lines if line)


def one_line(text: str) -> str:
    """Clean text on a single line, joined as `join_lines` does."""
    return join_lines(tidy(text).split("\n"))


def join_lines(lines: list[str]) -> str:
    """The lines of one paragraph in a row: a space between words, none between CJK characters or at CJK punctuation."""
    result = ""
    for line in lines:
        if result and line:
            result += glue(result[-1], line[0])
        result += line
    return result


def is_cjk(character: str) -> bool:
    return _IS_CJK.match(character) is not None


def glue(left: str, right: str) -> str:
    """What stands between the last character of a line and the first of the next, once they are one."""
    if left.isspace() or right.isspace():
        return ""
    if is_cjk(left) and is_cjk(right):
        return ""
    return "" if _IS_CJK_PUNCTUATION.match(left) or _IS_CJK_PUNCTUATION.match(right) else " "
