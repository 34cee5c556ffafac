"""Text in pictures, in Chinese and English, by the PP-OCRv6 models that come with `rapidocr`: no download, one thread.

Three models: one finds lines, one tells which way up they are, one reads them. How the page lies is decided once, by most of
its lines: a single line is easily taken for its upside-down self.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import rapidocr
from numpy.typing import NDArray
from rapidocr.utils.process_img import get_rotate_crop_image

from indexing.blocks import GapReason
from indexing.locators import Region
from indexing.parsers.ocr_layout import in_reading_order
from indexing.parsers.scans import ScannedLine, ScannedPage

Picture = NDArray[np.uint8]  # height × width × (blue, green, red)

SURE = 0.6  # confidence of a line from which on it is text; noise and drawings stay below, blurred print does not
_FINDING = 0.5  # lines are found in a picture of this scale: at 200 dpi letters of 6 points are still seen
_FINDING_SIDES = (1_088, 1_600)  # pixels of its longer side, at least and at most: time and memory grow with its square
_SMALLEST = 2  # pixels of a line's height that can be read at all
_STRIP = 2  # times the shorter side: a longer picture (a screenshot of a long page) is read in strips
_THINNED = 4  # every such pixel says whether a row is empty
_STRIP_SIDE = 1_600  # pixels: a strip is not cut shorter
_TALL = 1.5  # height to width from which a box is a line that lies on its side
_ASKED = 24  # lines, the longest, that are asked which way up the page is
_INK = 64  # levels of grey apart from the paper
_BLANK = 0.0005  # share of ink below which nothing was printed: dust


def read_page(picture: Picture, number: int, *, points: float) -> ScannedPage:
    """Page `number`, of which `picture` is what a reader sees; `points` is the size of a pixel."""
    turn, lines = 0, _lines(picture)
    if lines and (turn := _turn(lines)):
        picture = np.ascontiguousarray(np.rot90(picture, turn))
        lines = _lines(picture)
    seen = [line for line in map(_read, lines) if line is not None]
    sure = [line for line in seen if line.confidence >= SURE]
    unsure = sum(len(line.text) for line in seen) - sum(len(line.text) for line in sure)
    height, width = picture.shape[:2]
    return ScannedPage(
        number,
        size=(round(width * points, 1), round(height * points, 1)),
        turn=turn,
        lines=tuple(_scaled(line, points) for line in in_reading_order(sure)),
        gap=_gap(picture, sure, unsure),
    )


def _gap(picture: Picture, sure: list[ScannedLine], unsure: int) -> GapReason | None:
    """A page most of which was not believed has a gap beside its text; a blank one has none."""
    if sum(len(line.text) for line in sure) > unsure or (not sure and not unsure and _is_blank(picture)):
        return None
    return GapReason.NOT_RECOGNISED


def _scaled(line: ScannedLine, points: float) -> ScannedLine:
    left, top, right, bottom = (round(value * points, 1) for value in line.region)
    return replace(line, region=(left, top, right, bottom))


@dataclass(frozen=True, slots=True)
class _Found:
    """A line that was found: its region, and its pixels along the line."""

    region: Region
    pixels: Picture
    tall: bool


@cache
def _engine() -> Any:
    cv2.setNumThreads(0)
    models = Path(rapidocr.__file__).parent / "models"
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_preprocess_img": False,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            # With a path nothing is looked for elsewhere, nor downloaded.
            "Det.model_path": str(models / "PP-OCRv6_det_small.onnx"),
            "Cls.model_path": str(models / "ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
            "Rec.model_path": str(models / "PP-OCRv6_rec_small.onnx"),
            "Det.limit_type": "max",
            "Det.limit_side_len": _FINDING_SIDES[1],
            # One line at a time: else each is padded to its longest neighbour, which costs time and changes what is read.
            "Cls.cls_batch_num": 1,
            "Rec.rec_batch_num": 1,
        }
    )


def _lines(picture: Picture) -> list[_Found]:
    return [line for left, top, strip in _strips(picture) for line in _lines_of_strip(strip, left, top)]


def _lines_of_strip(strip: Picture, left: int, top: int) -> list[_Found]:
    scale = _finding_scale(max(strip.shape[:2]))
    small = cv2.resize(strip, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else strip
    boxes = _engine()(small, use_det=True, use_cls=False, use_rec=False).boxes
    found = []
    for box in () if boxes is None else boxes / np.float32(scale):
        width, height = np.linalg.norm(box[0] - box[1]), np.linalg.norm(box[0] - box[3])
        if min(width, height) < _SMALLEST:
            continue
        (x0, y0), (x1, y1) = box.min(axis=0), box.max(axis=0)
        region = (float(x0) + left, float(y0) + top, float(x1) + left, float(y1) + top)
        found.append(_Found(region, get_rotate_crop_image(strip, box), bool(height >= _TALL * width)))
    return found


def _finding_scale(side: int) -> float:
    least, most = _FINDING_SIDES
    return min(max(side * _FINDING, least), most, side) / side


def _strips(picture: Picture) -> list[tuple[int, int, Picture]]:
    """(left, top, part) of a picture that is much longer than wide, or wider than long, cut where it is emptiest."""
    height, width = picture.shape[:2]
    step = max(_STRIP_SIDE, _STRIP * min(height, width))
    across = height < width
    long = max(height, width)
    if long <= 1.5 * step:
        return [(0, 0, picture)]
    grey = picture[:: _THINNED if across else 1, :: 1 if across else _THINNED, 1]
    unrest = grey.std(axis=0 if across else 1, dtype=np.float32)
    cuts = [0]
    while long - cuts[-1] > 1.5 * step:
        nearest = cuts[-1] + step // 2
        cuts.append(nearest + int(unrest[nearest : cuts[-1] + step].argmin()))
    cuts.append(long)
    parts = pairwise(cuts)
    return [(a, 0, picture[:, a:b]) if across else (0, a, picture[a:b]) for a, b in parts]


def _turn(lines: list[_Found]) -> int:
    """By most of the lines' length: whether they lie on their side, and whether they stand on their head."""
    tall = sum(_length(line) * (1 if line.tall else -1) for line in lines) > 0
    asked = sorted((line for line in lines if line.tall == tall), key=_length, reverse=True)[:_ASKED]
    votes = 0.0
    for line in asked:
        label, score = _engine()(line.pixels, use_det=False, use_cls=True, use_rec=False).cls_res[0]
        votes += score * _length(line) * (1 if label == "180" else -1)
    upside_down = votes > 0
    # A line on its side was turned counterclockwise to be read.
    return (3 if upside_down else 1) if tall else (2 if upside_down else 0)


def _length(line: _Found) -> float:
    left, top, right, bottom = line.region
    return max(right - left, bottom - top)


def _read(line: _Found) -> ScannedLine | None:
    """A box that is tall on an upright page is one narrow letter, or a line on its side: whatever reads better."""
    tries = [line.pixels]
    if line.tall:
        tries.append(np.ascontiguousarray(np.rot90(line.pixels, -1)))
    best = max((_text(pixels) for pixels in tries), key=lambda result: result[1])
    return ScannedLine(best[0], best[1], line.region) if best[0] else None


def _text(pixels: Picture) -> tuple[str, float]:
    result = _engine()(pixels, use_det=False, use_cls=False, use_rec=True)
    if not result.txts or not result.txts[0].strip():
        return "", 0.0
    return result.txts[0].strip(), round(float(result.scores[0]), 2)


def _is_blank(picture: Picture) -> bool:
    grey = picture.mean(axis=-1, dtype=np.float32)
    return bool((np.abs(grey - np.median(grey)) > _INK).mean() < _BLANK)
