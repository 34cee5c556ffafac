"""The PP-OCRv6 models that come with `rapidocr`: one finds lines, one reads them. A third one, which tells which way up a line
is, looks at 192 pixels of it and is often wrong about English ones: reading tells better.

No download: they are named by their paths. One thread, one line at a time: a line that is padded to its longest neighbour
takes longer and may be read differently.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import rapidocr
from numpy.typing import NDArray

Picture = NDArray[np.uint8]  # height × width × (blue, green, red)
Boxes = NDArray[np.float32]  # line × corner, clockwise from the one where the line begins × (x, y)


class Reading(NamedTuple):
    """`confidence` (0–1) is the mean of the characters'; 0 where there are none."""

    confidence: float
    text: str


_FINDING = 0.5  # lines are found in a picture of this scale: at 200 dpi letters of 6 points are still seen
_FINDING_SIDES = (1_088, 1_600)  # pixels of its longer side, at least and at most: time and memory grow with its square
_OUT_OF_MEMORY = re.compile(r"alloc|insufficient memory", re.IGNORECASE)


def find(picture: Picture) -> Boxes:
    """Where lines of text are."""
    side = max(picture.shape[:2])
    least, most = _FINDING_SIDES
    scale = min(max(side * _FINDING, least), most, side) / side
    if scale < 1:
        picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA).astype(
            np.uint8, copy=False
        )
    boxes = _ask(picture, use_det=True).boxes
    return np.zeros((0, 4, 2), np.float32) if boxes is None else np.asarray(boxes / scale, dtype=np.float32)


def read(line: Picture) -> Reading:
    """What one line says."""
    result = _ask(line, use_rec=True)
    text = result.txts[0].strip() if result.txts else ""
    return Reading(round(float(result.scores[0]), 2), text) if text else Reading(0.0, "")


def _ask(picture: Picture, *, use_det: bool = False, use_rec: bool = False) -> Any:
    """Raises `MemoryError`, where the libraries have errors of their own for that."""
    try:
        return _engine()(picture, use_det=use_det, use_cls=False, use_rec=use_rec)
    except Exception as error:
        if _OUT_OF_MEMORY.search(str(error)):
            raise MemoryError from error
        raise


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
            "Det.model_path": str(models / "PP-OCRv6_det_small.onnx"),
            "Rec.model_path": str(models / "PP-OCRv6_rec_small.onnx"),
            "Det.limit_type": "max",
            "Det.limit_side_len": _FINDING_SIDES[1],
            "Rec.rec_batch_num": 1,
        }
    )
