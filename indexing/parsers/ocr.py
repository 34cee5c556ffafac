"""The text of one picture, by OCR: which way up it is, what its lines say and how sure that is, in reading order.

How the page lies is decided once, by most of its lines: a single one is easily taken for its upside-down self.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from rapidocr.utils.process_img import get_rotate_crop_image

from indexing.blocks import GapReason
from indexing.locators import Region
from indexing.parsers import ocr_models
from indexing.parsers.ocr_layout import in_reading_order
from indexing.parsers.ocr_models import Boxes, Picture, Reading
from indexing.parsers.scans import ScannedLine, ScannedPage

SURE = 0.6  # confidence of a line from which on it is text; noise and drawings stay below, blurred print does not
_FEW, _SURE_OF_FEW = 1, 0.9  # letters of a line that a pattern easily looks like, and the confidence that it takes then
_SMALLEST = 2  # pixels of a line's height that can be read at all
_TALL = 1.5  # height to width from which a box is a line that lies on its side
_ASKED = 5  # lines, the longest, that are asked which way up the page is
_READS_WELL = 0.9  # mean confidence from which they need not be tried the other way; upside down they stay below 0.8
_LONG, _FEWEST = 5, 3  # width to height of lines that show how askew the page is, and how many it takes
_STRAIGHT = 0.2  # degrees: less is the accuracy of the boxes
_STRIP, _STRIP_SIDE = (
    2,
    1_600,
)  # a longer picture (a screenshot of a long page) is read in strips: times its width, pixels
_THINNED = 4  # every such pixel says whether a row is empty
_INK = 64  # levels of grey apart from the paper
_BLANK = 0.0005  # share of ink below which nothing was printed: dust


@dataclass(frozen=True)
class _Found:
    """A line that was found: where, and its pixels along the line. `tall`: they were turned counterclockwise for that."""

    box: Boxes
    pixels: Picture
    tall: bool

    @property
    def length(self) -> float:
        return float(max(_distance(self.box[0], self.box[1]), _distance(self.box[0], self.box[3])))

    @cached_property
    def reading(self) -> Reading:
        """A box that is tall on an upright page is one narrow letter, or a line on its side: whatever reads better."""
        return max(self.lying, ocr_models.read(_rotated(self.pixels, -1))) if self.tall else self.lying

    @cached_property
    def lying(self) -> Reading:
        """Read along the line, from its left end."""
        return ocr_models.read(self.pixels)


def read_page(picture: Picture, number: int, *, points: float, is_page: bool = True) -> ScannedPage:
    """Page `number`, of which `picture` is what a reader sees; `points` is the size of a pixel. Without `is_page` it is one
    of the pictures beside a text, most of which show things: where no line is found, nothing is missing."""
    found = _find(picture)
    turn = _turn(found)
    if turn:
        picture = _rotated(picture, turn)
        found = _find(picture)
    skew = _skew(found)
    sure = [
        ScannedLine(line.reading.text, line.reading.confidence, _region(line.box, skew, points))
        for line in found
        if _is_sure(line.reading)
    ]
    height, width = picture.shape[:2]
    unsure = sum(len(line.reading.text) for line in found) - sum(len(line.text) for line in sure)
    return ScannedPage(
        number,
        size=(round(width * points, 1), round(height * points, 1)),
        turn=turn,
        skew=skew,
        lines=tuple(in_reading_order(sure)),
        gap=None if _is_understood(picture, found, sure, unsure, is_page) else GapReason.NOT_RECOGNISED,
    )


def _is_understood(picture: Picture, found: list[_Found], sure: list[ScannedLine], unsure: int, is_page: bool) -> bool:
    """Whether most of what is on the page was believed, or nothing is on it."""
    return sum(len(line.text) for line in sure) > unsure or (not found and (not is_page or _is_blank(picture)))


def _is_sure(reading: Reading) -> bool:
    letters = sum(character.isalnum() for character in reading.text)
    return bool(letters) and reading.confidence >= (SURE if letters > _FEW else _SURE_OF_FEW)


def _find(picture: Picture) -> list[_Found]:
    found = []
    for left, top, strip in _strips(picture):
        for box in [] if _is_one_colour(strip) else ocr_models.find(strip):
            width, height = _distance(box[0], box[1]), _distance(box[0], box[3])
            if min(width, height) >= _SMALLEST:
                pixels = np.ascontiguousarray(get_rotate_crop_image(strip, box))
                found.append(_Found(box + np.array((left, top), np.float32), pixels, height >= _TALL * width))
    return found


def _strips(picture: Picture) -> list[tuple[int, int, Picture]]:
    """(left, top, part) of a picture that is much longer than wide, or wider than long, cut where it is emptiest."""
    height, width = picture.shape[:2]
    step = max(_STRIP_SIDE, _STRIP * min(height, width))
    across, long = height < width, max(height, width)
    if long <= 1.5 * step:
        return [(0, 0, picture)]
    grey = picture[::_THINNED, :, 1] if across else picture[:, ::_THINNED, 1]
    unrest = grey.std(axis=0 if across else 1, dtype=np.float32)
    cuts = [0]
    while long - cuts[-1] > 1.5 * step:
        nearest = cuts[-1] + step // 2
        cuts.append(nearest + int(unrest[nearest : cuts[-1] + step].argmin()))
    parts = pairwise([*cuts, long])
    return [(start, 0, picture[:, start:end]) if across else (0, start, picture[start:end]) for start, end in parts]


def _turn(lines: Sequence[_Found]) -> int:
    """Quarter turns, counterclockwise, that set the page upright: by the direction of most of its lines' length, and by what
    reads better, they or their upside-down selves."""
    tall = sum(line.length if line.tall else -line.length for line in lines) > 0
    asked = sorted((line for line in lines if line.tall == tall), key=lambda line: -line.length)[:_ASKED]
    upright = _quality([line.lying for line in asked])
    if upright < _READS_WELL and _quality([ocr_models.read(_rotated(line.pixels, 2)) for line in asked]) > upright:
        return 3 if tall else 2
    return 1 if tall else 0


def _quality(readings: Sequence[Reading]) -> float:
    """Mean confidence of all their letters."""
    letters = sum(len(reading.text) for reading in readings)
    return sum(reading.confidence * len(reading.text) for reading in readings) / max(letters, 1)


def _skew(lines: Sequence[_Found]) -> float:
    """Degrees, clockwise, by which the page was laid askew: the middle one of its long lines."""
    long = [line.box for line in lines if _distance(*line.box[:2]) >= _LONG * _distance(line.box[0], line.box[3])]
    angles = sorted(math.degrees(math.atan2(box[1][1] - box[0][1], box[1][0] - box[0][0])) for box in long)
    middle = angles[len(angles) // 2] if len(angles) >= _FEWEST else 0.0
    return round(middle, 2) if abs(middle) > _STRAIGHT else 0.0


def _region(box: Boxes, skew: float, points: float) -> Region:
    """A line's place on the page set straight, which is turned back around its top left corner. Between the middles of its
    edges: the corners of a long line move by more than its letters differ in height."""
    sine, cosine = math.sin(math.radians(skew)), math.cos(math.radians(skew))
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = [(x * cosine + y * sine, y * cosine - x * sine) for x, y in box.tolist()]
    across, down = sorted(((x0 + x3) / 2, (x1 + x2) / 2)), sorted(((y0 + y1) / 2, (y2 + y3) / 2))
    left, top, right, bottom = (round(value * points, 1) for value in (across[0], down[0], across[1], down[1]))
    return left, top, right, bottom


def _rotated(picture: Picture, quarters: int) -> Picture:
    return np.ascontiguousarray(np.rot90(picture, quarters))


def _distance(one: Boxes, other: Boxes) -> float:
    return math.dist(one.tolist(), other.tolist())


def _is_one_colour(picture: Picture) -> bool:
    return bool((picture == picture[0, 0]).all())


def _is_blank(picture: Picture) -> bool:
    grey = picture[::2, ::2, 1].astype(np.int16)
    return bool((np.abs(grey - int(np.median(grey))) > _INK).mean() < _BLANK)
