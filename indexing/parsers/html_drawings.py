"""The words in a drawing (SVG) that stands in a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexing.parsers.clean import join_lines, one_line
from indexing.parsers.html_furniture import Aside, Fate, fate, shown_text

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_ONLY_USED_ELSEWHERE = ("defs", "symbol", "metadata", "desc", "title", "clipPath", "mask", "pattern", "marker")
_BEGINS_A_LINE = ("x", "y", "dy")


def words_of(drawing: LexborNode, aside: Aside) -> tuple[list[str], str]:
    """Its lines of words in their order, and its name (`<title>`), which stands for it as an image's description does."""
    name = next((shown_text(node) for node in drawing.iter() if node.tag == "title"), "")
    lines: list[str] = []
    waiting = [drawing]
    while waiting:
        node = waiting.pop()
        tag = str(node.tag)
        if tag in _ONLY_USED_ELSEWHERE:
            continue
        if (what := fate(node, inside_content=True)) is not Fate.KEPT:
            aside.add(what, node)
        elif tag == "text":
            lines.append(_label(node))
        elif tag == "foreignObject":
            lines.append(shown_text(node))
        else:
            child = node.last_child
            while child is not None:
                if child.is_element_node:
                    waiting.append(child)
                child = child.prev
    return [line for line in lines if line], one_line(name)


def _label(text: LexborNode) -> str:
    """A label's lines in a row; a part of a line that only looks different belongs to the word it stands in."""
    lines = [""]
    for node in text.traverse(include_text=True):
        if node.is_text_node:
            lines[-1] += node.text_content or ""
        elif node.tag == "tspan" and any(name in node.attributes for name in _BEGINS_A_LINE):
            lines.append("")
    return join_lines([line for line in map(one_line, lines) if line])
