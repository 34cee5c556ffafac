"""How much one file may cost: every limit with its reason and with the sentence an editor reads when it is exceeded.

Time, memory and the size of an upload are settings (`KB_PARSE_TIMEOUT`, `KB_PARSE_MEMORY`, `KB_MAX_UPLOAD_BYTES`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from documents.media_types import gettext_noop
from indexing.errors import DocumentTooLarge

FILE_DESCRIPTORS = 64  # a parser holds fewer than ten
FILE_BYTES = 0  # a parser writes no files
PROCESSES = 0  # nor starts any
ANSWER_BYTES = 128 * 1024 * 1024  # what CHARACTERS and BLOCKS allow fits; the worker reads it into its own memory
COMBINING_MARKS = 30  # on one letter: “Stream-Safe Text Format”, Unicode Standard Annex 15
SMALL_BYTES = 20_000_000  # unzipped, up to here no ratio is suspicious: it fits in memory many times over
OUTLINE_ENTRIES = 20_000  # of a PDF; those behind them only miss their level
RULED_CELLS = 5_000  # of a PDF's table; with more of them rules are a drawing, and its text is read as paragraphs
SCANNED_PAGES = (
    500  # that are read, at 2 to 5 seconds each: beyond is more than a worker may take (`KB_MAX_RUN_SECONDS`)
)
PICTURES = 100  # in an Office file, at 1 to 3 seconds each; a manual full of screenshots has dozens
PICTURES_PIXELS = 400_000_000  # of all of them: five as large as one may be, or a hundred of 2,300 × 1,700
PICTURE_PIXELS = 20_000  # 200 × 100, two lines of small print: what has fewer is an icon, a line or a bullet
LEFT_OUT_CHARACTERS = 20_000  # of one text that is kept out, a chapter; those behind them are counted
LONGEST_TABLE_LINE = 2_000  # characters of a line of plain text that may be a row of a table
LABEL_CHARACTERS = 100  # of a numbered paragraph; Word allows 31


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest value allowed, and the sentence that names it."""

    value: int
    sentence: str  # has a place %(limit)s
    unit: int = 1  # what the sentence counts in

    def exceeded(self) -> DocumentTooLarge:
        return DocumentTooLarge(self.sentence % {"limit": f"{self.value // self.unit:,}"})

    def check(self, value: int) -> None:
        """Raises `DocumentTooLarge`."""
        if value > self.value:
            raise self.exceeded()


# A book of 3,000 pages has 6 million characters. Beyond this the vectors alone take hours.
CHARACTERS = Limit(10_000_000, gettext_noop("Its text is over the limit of %(limit)s characters."))
# Of a text file, each of which is looked at by itself; logs and tables reach it, texts do not.
LINES = Limit(500_000, gettext_noop("It is over the limit of %(limit)s lines."))
# One block takes 1.5 kB in the worker; a block of ordinary text has hundreds of characters.
BLOCKS = Limit(100_000, gettext_noop("It is over the limit of %(limit)s paragraphs, headings and tables."))
# As blocks; spreadsheets pasted into a document reach tens of thousands.
CELLS = Limit(500_000, gettext_noop("Its tables are over the limit of %(limit)s cells."))
# The longest manuals have 5,000 pages; PDFium walks the page tree for each.
PAGES = Limit(10_000, gettext_noop("It is over the limit of %(limit)s pages."))
# A page of a telephone book has 20,000; each takes half a kilobyte until the page is read.
PAGE_CHARACTERS = Limit(200_000, gettext_noop("One page is over the limit of %(limit)s characters."))
# Of a DOCX, all parts together; twice what was seen in real ones of the size that can be uploaded.
UNZIPPED_BYTES = Limit(200_000_000, gettext_noop("Unzipped it is over the limit of %(limit)s MB."), unit=1_000_000)
# Real documents have hundreds.
PARTS = Limit(10_000, gettext_noop("It is over the limit of %(limit)s parts."))
# Unzipped to zipped, beyond SMALL_BYTES; real documents stay below 40.
RATIO = Limit(100, gettext_noop("It is packed more than %(limit)s times smaller than it is."))
# Tables, notes and wrappers of a DOCX in each other, groups of a PPTX, parts of a formula. The XML parser stops at 256.
DOCX_DEPTH = Limit(50, gettext_noop("It is nested too deeply: the limit is %(limit)s levels."))
# Elements of a page; browsers stop at 512.
HTML_DEPTH = Limit(2_000, DOCX_DEPTH.sentence)
# markdown-it leaves text out beyond the depth it is told; its own limit of 20 is within reach of real files.
MARKDOWN_DEPTH = Limit(100, DOCX_DEPTH.sentence)
# An element takes 200 bytes; formatting that is left open is repeated in every paragraph after it.
HTML_ELEMENTS = Limit(2_000_000, gettext_noop("It is over the limit of %(limit)s elements."))
# The parser compares each attribute of an element with all before it; real elements have dozens.
HTML_ATTRIBUTES = Limit(5_000, gettext_noop("One element is over the limit of %(limit)s attributes."))
# markdown-it looks from each for its partner; a paragraph of links has hundreds.
MARKDOWN_BRACKETS = Limit(10_000, gettext_noop("One paragraph is over the limit of %(limit)s brackets."))
# Arrays and objects in each other; real ones stay below 20.
JSON_DEPTH = Limit(200, DOCX_DEPTH.sentence)
# Each takes 200 bytes until it is written down.
JSON_VALUES = Limit(2_000_000, gettext_noop("It is over the limit of %(limit)s values."))
# Of a picture, as it says itself before it is decoded: A3 at 600 dpi has 70 million, a large phone's photo 50.
PIXELS = Limit(80_000_000, gettext_noop("One picture is over the limit of %(limit)s million pixels."), unit=1_000_000)

MEMORY = gettext_noop("It needs more than the allowed %(limit)s MiB of memory.")
SECONDS = gettext_noop("The limit is %(limit)s seconds.")
DECLARATIONS = gettext_noop("It contains XML declarations that no word processor writes.")
DUPLICATES = gettext_noop("It contains two parts of the same name.")
NOT_JSON = gettext_noop("Line %(limit)s is not JSON.")

SENTENCES = (
    *(limit.sentence for limit in vars().copy().values() if isinstance(limit, Limit)),
    *(MEMORY, SECONDS, DECLARATIONS, DUPLICATES, NOT_JSON),
)


def recognise(detail: str) -> tuple[str, dict[str, str]] | None:
    """The sentence of this module that `detail` was made from, with what was put in, for a translation of it."""
    for sentence in SENTENCES:
        before, place, after = sentence.partition("%(limit)s")
        shape = f"{re.escape(before)}([\\d,]+){re.escape(after)}" if place else re.escape(before)
        if match := re.fullmatch(shape, detail):
            return sentence, {"limit": match[1]} if place else {}
    return None
