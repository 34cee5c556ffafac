"""Which paragraphs of a PDF are headings, and of which level: by the outline, the font and the numbering."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from indexing.parsers.outline import heading_form
from indexing.parsers.pdf_paragraphs import Paragraph
from indexing.parsers.pdf_types import Line

_MOST_CHARACTERS = 150
_LONGEST_IN_TEXT_SIZE = 80
_LARGER = 1.13  # times the body's font size
_SMALLER = 0.95
_NUMBERED_PARTS = 2  # forms up to this one (第X编, 章, 节; Chapter) are headings in any font
_ENDS_LIKE_TEXT = re.compile(r"[。．；;，,、：:]\Z")
_CONTENTS_ENTRY = re.compile(r"(?:\.\s?){4,}|…{2,}|·{4,}")
_NO_TITLE = re.compile(r"[•◦▪●■·\uf000-\uf0ff]|[(（][^()（）]*[)）]\Z")  # an item of a list, “(please choose one)”
_NOT_WORDS = re.compile(r"[\W\d_]+")

Outline = Mapping[int, Mapping[str, int]]  # page → words of an entry's title → level, 1 the outermost
Style = tuple[float, bool, int]
Font = tuple[str, float]  # name, size


def find_headings(paragraphs: Sequence[Paragraph], body: float, outline: Outline) -> dict[int, int]:
    """Position in `paragraphs` → heading level, 1–6. `body` is the font size of ordinary text, in points."""
    body_is_bold = _mostly_bold(paragraphs, body)
    body_font, text_fonts = _fonts(paragraphs)
    listed: dict[int, int] = {}
    styles: dict[int, Style] = {}
    for position, paragraph in enumerate(paragraphs):
        if (
            not paragraph.lines
            or paragraph.is_note
            or paragraph.kind is not None
            or not _may_be_heading(paragraph.text)
        ):
            continue
        level = outline.get(paragraph.pages[0], {}).get(words_of(paragraph.text))
        if paragraph.lines[0].size < _SMALLER * body:
            level = None  # a running head with the chapter's title
        if level is not None:
            listed[position] = level
        stands_out = _stands_out(paragraph, body, body_is_bold)
        if not stands_out and position + 1 < len(paragraphs):
            stands_out = _has_own_font(paragraph, paragraphs[position + 1], body_font, text_fonts)
        if level is not None or stands_out:
            styles[position] = _style(paragraph)
    return {position: listed.get(position) or level for position, level in _levels(styles, listed).items()}


def words_of(title: str) -> str:
    """A title without spaces, numbers and punctuation: the outline and the page write these differently."""
    return _NOT_WORDS.sub("", title).casefold()


def _may_be_heading(text: str) -> bool:
    if len(text) > _MOST_CHARACTERS or _ENDS_LIKE_TEXT.search(text) or _CONTENTS_ENTRY.search(text):
        return False
    letters = sum(character.isalpha() for character in text)
    return letters >= 2 and letters >= sum(character.isdigit() for character in text)  # else a table's row


def _stands_out(paragraph: Paragraph, body: float, body_is_bold: bool) -> bool:
    first, text = paragraph.lines[0], paragraph.text
    if len(paragraph.lines) > 3 or _NO_TITLE.match(text):
        return False
    if first.size >= _LARGER * body:
        return True
    form = heading_form(text)
    if form is not None and 0 <= form <= _NUMBERED_PARTS:
        return True
    bold = first.bold and not body_is_bold and first.size >= _SMALLER * body
    return bold and len(paragraph.lines) <= 2 and not text.endswith((".", "!", "…"))


def _has_own_font(paragraph: Paragraph, below: Paragraph, body_font: Font, text_fonts: set[Font]) -> bool:
    """Whether a short line in a font that no text is in stands over a paragraph of the text, in its column."""
    line, text = paragraph.lines[0], paragraph.text
    if (
        not below.lines
        or not line.font
        or _font(line) in text_fonts
        or len(paragraph.lines) > 2
        or _NO_TITLE.match(text)
    ):
        return False
    over = (
        body_font in map(_font, below.lines) and below.lines[0].top > line.top and below.pages[0] == paragraph.pages[0]
    )
    aligned = abs(below.lines[0].left - line.left) < 3 * line.size
    is_title = text[0].isupper() or text[0].isdigit() or text[0] in "([（「【" or not text[0].isascii()
    return over and aligned and is_title and len(text) <= _LONGEST_IN_TEXT_SIZE and not text.endswith(".")


def _fonts(paragraphs: Sequence[Paragraph]) -> tuple[Font, set[Font]]:
    """The font of most of the text, and all that paragraphs of several lines are in."""
    letters: Counter[Font] = Counter()
    long: Counter[Font] = Counter()
    for paragraph in paragraphs:
        for line in paragraph.lines if not paragraph.is_note else ():
            letters[_font(line)] += len(line.text)
            long[_font(line)] += len(line.text) * (len(paragraph.lines) > 2)
    body = max(letters, key=lambda font: (letters[font], font), default=("", 0.0))
    return body, {font for font, count in long.items() if count * 5 > letters[font]}


def _font(line: Line) -> Font:
    return line.font, round(line.size * 2) / 2


def _style(paragraph: Paragraph) -> Style:
    """Sorts from the outermost to the innermost heading; in one font a deeper number is a deeper level."""
    first, form = paragraph.lines[0], heading_form(paragraph.text)
    return (-round(first.size * 2) / 2, not first.bold, -1 if form is None else form)


def _levels(styles: Mapping[int, Style], listed: Mapping[int, int]) -> dict[int, int]:
    """A level for every style: the outline's, where it lists headings of that style, else by rank."""
    votes: dict[Style, Counter[int]] = defaultdict(Counter)
    for position, level in listed.items():
        votes[styles[position]][level] += 1
    level_of: dict[Style, int] = {}
    above = 0
    for style in sorted(set(styles.values())):
        above = votes[style].most_common(1)[0][0] if votes[style] else above + 1
        level_of[style] = min(above, 6)
    return {position: level_of[style] for position, style in styles.items()}


def _mostly_bold(paragraphs: Sequence[Paragraph], body: float) -> bool:
    lines = [line for paragraph in paragraphs for line in paragraph.lines if abs(line.size - body) < 0.05 * body]
    return sum(len(line.text) for line in lines if line.bold) * 2 > sum(len(line.text) for line in lines)
