"""What is on a page but not of its text: navigation, banners, controls, hidden parts."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from indexing.blocks import LeftOut, LeftOutReason
from indexing.parsers import limits
from indexing.parsers.left_out import leave_out

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


class Fate(Enum):
    """What becomes of an element and all below it."""

    KEPT = None
    DROPPED = "dropped"  # no text for a reader: programs
    NAVIGATION = LeftOutReason.NAVIGATION
    HIDDEN = LeftOutReason.HIDDEN
    CONTROL = LeftOutReason.CONTROL
    FALLBACK = LeftOutReason.FALLBACK


class Aside:
    """Text that is kept out, by its reason, in the order of the page."""

    def __init__(self) -> None:
        self._texts: dict[LeftOutReason, list[str]] = {}

    def add(self, what: Fate, node: LexborNode) -> None:
        """What stands in `node`, unless it is kept or no text."""
        if isinstance(what.value, LeftOutReason):
            self.add_text(what.value, shown_text(node, most=limits.CHARACTERS.value))

    def add_text(self, reason: LeftOutReason, text: str) -> None:
        if text:
            self._texts.setdefault(reason, []).append(text)

    def left_out(self) -> list[LeftOut]:
        return [leave_out(reason, texts) for reason, texts in self._texts.items()]


_NO_TEXT = {"embed", "head", "input", "script", "style", "template", "title"}
_CONTROLS = {"datalist", "optgroup", "option", "select", "textarea"}
_FALLBACKS = {"audio", "canvas", "iframe", "noembed", "noframes", "noscript", "object", "video"}
_NAMES_TEXT = {"dt", "h1", "h2", "h3", "h4", "h5", "h6", "summary"}
_NAVIGATION = {"aside", "footer", "nav"}
_QUOTED = ("blockquote", "figure")  # their footers say whose words these are
_ROLES = {
    "alertdialog", "banner", "complementary", "contentinfo", "dialog", "menu", "menubar", "navigation", "search", "toolbar",
}  # fmt: skip
_INVISIBLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:opacity|font-size)\s*:\s*0(?:\.0+)?(?:px|em|%|\s*[;!]|\s*\Z)",
    re.IGNORECASE,
)
_FOR_SCREEN_READERS = re.compile(r"(?:sr|screen-?reader)-(?:only|text)|visually-?hidden", re.IGNORECASE)
# The name of the thing together with what it is: a recipe for cookies has no "cookie-banner".
_CONSENT = re.compile(
    r"(?:cookies?|consent|gdpr|privacy)[-_]*(?:banner|bar|notice|consent|popup|modal|overlay|dialog|message|wall|law)"
    r"|(?:onetrust|cybotcookiebot|cc-window|cc-banner|didomi|usercentrics)",
    re.IGNORECASE,
)
_SURROUNDS = re.compile(
    r"(?:site|page|global|main|top|left|right|bottom|primary|secondary|mobile)?[-_]?"
    r"(?:side-?bar|breadcrumbs?|paginat(?:ion|or)|pager|nav(?:igation|bar)?|menu(?:bar)?|foot(?:er|note-nav)?|masthead"
    r"|sharing?|social|share-?(?:bar|buttons|links)|ads?|advert(?:s|isement)?|newsletter|subscribe|skip-?(?:link|to-content)s?"
    r"|related(?:-(?:posts|articles|links))?|toolbar)(?:[-_](?:wrapper|container|inner|list|links|box|area|section))?",
    re.IGNORECASE,
)
_REMARK = re.compile(r"note|tip|warning|caution|important|info|admonition|callout|hint|notice|example", re.IGNORECASE)
_MOSTLY_LINKS = 0.5  # of the characters


def fate(node: LexborNode, *, inside_content: bool) -> Fate:
    """`inside_content`: a header here introduces the text itself, a remark beside it belongs to it."""
    tag = str(node.tag)
    if not node.is_element_node or tag in _NO_TEXT:
        return Fate.DROPPED
    attributes = node.attributes
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".split() if attributes else []
    if attributes and _is_hidden(tag, attributes, names):
        return Fate.HIDDEN
    if tag in _FALLBACKS:
        return Fate.FALLBACK
    if tag in _CONTROLS and not (tag == "textarea" and "readonly" in attributes):  # that one only shows its text
        return Fate.CONTROL
    role = (attributes.get("role") or "").lower()
    if tag == "button" or role == "button":
        return Fate.KEPT if _names_text(node, inside_content=inside_content) else Fate.CONTROL
    if tag in ("html", "body", "main", "article"):
        return Fate.KEPT
    if tag == "header":
        return Fate.KEPT if inside_content else Fate.NAVIGATION
    if tag == "footer" and node.parent is not None and node.parent.tag in _QUOTED:
        return Fate.KEPT
    if tag == "aside" and inside_content and _is_remark(attributes, names):
        return Fate.KEPT
    if tag in _NAVIGATION or role in _ROLES or attributes.get("aria-modal") == "true":
        return Fate.NAVIGATION
    if any(map(_CONSENT.match, names)):
        return Fate.NAVIGATION
    if not inside_content and any(map(_SURROUNDS.fullmatch, names)) and _is_mostly_links(node):
        return Fate.NAVIGATION
    return Fate.KEPT


def shown_text(node: LexborNode, most: int = 2_000) -> str:
    """All text below `node` that is no program, on one line; of long ones the beginning."""
    texts: list[str] = []
    size = 0
    waiting = [node]
    while waiting and size < most:
        current = waiting.pop()
        if current.is_text_node:
            text = " ".join((current.text_content or "").split())
            if text:
                texts.append(text)
                size += len(text) + 1
        elif current.is_element_node and str(current.tag) not in ("script", "style", "template", "head"):
            child = current.last_child
            while child is not None:
                waiting.append(child)
                child = child.prev
    return " ".join(texts)


def _is_hidden(tag: str, attributes: dict[str, str | None], names: list[str]) -> bool:
    if "hidden" in attributes and attributes["hidden"] != "until-found":  # which the page's own search opens
        return True
    if attributes.get("aria-hidden") == "true" or _INVISIBLE.search(attributes.get("style") or ""):
        return True
    return (tag == "dialog" and "open" not in attributes) or any(map(_FOR_SCREEN_READERS.fullmatch, names))


def _names_text(button: LexborNode, *, inside_content: bool) -> bool:
    """Whether a button opens the text below it, whose heading it is, or is a word of a sentence."""
    attributes = button.attributes
    if inside_content and "aria-expanded" in attributes and not attributes.get("aria-haspopup"):
        return True
    if all(
        side is not None and side.is_text_node and (side.text_content or "").strip()
        for side in (button.prev, button.next)
    ):
        return True
    node: LexborNode | None = button
    for _ in range(4):
        if node is None or str(node.tag) in _NAMES_TEXT:
            break
        node = node.parent
    return node is not None and str(node.tag) in _NAMES_TEXT


def _is_remark(attributes: dict[str, str | None], names: list[str]) -> bool:
    return attributes.get("role") == "note" or any(map(_REMARK.search, names))


def _is_mostly_links(node: LexborNode) -> bool:
    text = len(shown_text(node))
    links = sum(len(shown_text(link)) for link in node.css("a")[:500])
    return not text or links >= text * _MOSTLY_LINKS
