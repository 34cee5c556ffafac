"""What is on a page but not of its text: navigation, banners, forms, hidden parts."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

_TAGS = {
    "aside", "audio", "button", "canvas", "datalist", "embed", "footer", "head", "iframe", "input", "map",
    "nav", "noscript", "object", "option", "script", "select", "style", "svg", "template", "textarea",
    "title", "video",
}  # fmt: skip
_ROLES = {
    "alertdialog", "banner", "button", "complementary", "contentinfo", "dialog", "menu", "menubar",
    "navigation", "search", "toolbar",
}  # fmt: skip
_INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
# The name of the thing together with what it is: a recipe for cookies has no "cookie-banner".
_CONSENT = re.compile(
    r"(?:cookies?|consent|gdpr|privacy)[-_]*(?:banner|bar|notice|consent|popup|modal|overlay|dialog|message|wall|law)"
    r"|^(?:onetrust|cybotcookiebot|cc-window|cc-banner|didomi|usercentrics)",
    re.IGNORECASE,
)


def is_furniture(node: LexborNode, *, inside_content: bool) -> bool:
    """Whether `node` and all below it are left out. `inside_content`: a header here introduces the text itself."""
    tag = str(node.tag)
    if not node.is_element_node or tag in _TAGS:
        return True
    if tag == "header":
        return not inside_content
    return tag not in ("html", "body", "main", "article") and _says_so(node.attributes)


def _says_so(attributes: dict[str, str | None]) -> bool:
    """Whether attributes hide an element or name it as page furniture."""
    if not attributes:
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true" or attributes.get("aria-modal") == "true":
        return True
    if (attributes.get("role") or "").lower() in _ROLES or _INVISIBLE.search(attributes.get("style") or ""):
        return True
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return any(_CONSENT.search(name) for name in names.split())
