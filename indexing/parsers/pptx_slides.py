"""The slides of a PPTX, and which of the shapes on them are read."""

from __future__ import annotations

from typing import Any

from pptx.enum.shapes import PP_PLACEHOLDER

from indexing.blocks import LeftOutReason

_TITLES = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE)
_FURNITURE = {
    PP_PLACEHOLDER.FOOTER: LeftOutReason.PAGE_FOOTER,
    PP_PLACEHOLDER.HEADER: LeftOutReason.PAGE_HEADER,
    PP_PLACEHOLDER.DATE: LeftOutReason.PAGE_FOOTER,
    PP_PLACEHOLDER.SLIDE_NUMBER: LeftOutReason.PAGE_NUMBER,
}


def slides_of(presentation: Any) -> list[Any]:
    """In the order in which they are shown, the hidden ones too: PowerPoint counts them."""
    return [presentation.related_slide(one.rId) for one in presentation.presentation.slides._sldIdLst]


def is_title(shape: Any) -> bool:
    return _placeholder(shape) in _TITLES


def left_out_reason(shape: Any) -> LeftOutReason | None:
    """Why a shape is not read, None for what is."""
    properties = shape.element._nvXxPr.cNvPr
    if properties.get("hidden") in ("1", "true"):
        return LeftOutReason.HIDDEN
    return _FURNITURE.get(_placeholder(shape))


def _placeholder(shape: Any) -> Any:
    return shape.placeholder_format.type if shape.is_placeholder else None
