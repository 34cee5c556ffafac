"""Neighbouring blocks under one heading as units: what belongs together is one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexing.blocks import Block, BlockKind
from indexing.splitters.code import code
from indexing.splitters.lists import items
from indexing.splitters.prose import introduces, introduction, prose, restricts
from indexing.splitters.tables import table
from indexing.splitters.units import Unit

MOST_CAPTIONS = 3  # of one table: its number, its title, its unit
LONGEST_CAPTION = 200  # characters of a paragraph that stands for one

_SHOWN = (BlockKind.TABLE, BlockKind.FORMULA, BlockKind.IMAGE_TEXT, BlockKind.CODE)
_CAPTION = re.compile(
    r"(?:table|figure|fig\.|listing|equation|exhibit)\s*[\dA-Z]+(?:[.\-–]\d+)*\b|[表图圖附][\s]*[\d一二三四五六七八九十]+"
    r"|[（(]?\s*(?:(?:金额|计量|計量|货币)?[单單]位|币种|幣種)\s*[:：]"
    r"|[（(]?\s*(?:units?\s*:|(?:amounts?\s+)?(?:expressed\s+)?in\s+(?:thousands|millions|billions|[A-Z]{3}\b))",
    re.IGNORECASE,
)
_EXPLAINS = re.compile(r"(?:where|in which|with)\b|其中|式中|这里|這裡", re.IGNORECASE)


def units(blocks: Sequence[Block], text: str) -> Iterator[Unit]:
    """Units in order, made when they are needed."""
    return _Outline(blocks, text).units()


@dataclass(slots=True)
class _Outline:
    blocks: Sequence[Block]
    text: str
    position: int = 0

    def units(self) -> Iterator[Unit]:
        while self.position < len(self.blocks):
            if self._kind() is BlockKind.LIST_ITEM:
                yield from self._items()
            else:
                yield self._next()

    def _next(self) -> Unit:
        kind = self.blocks[self.position].kind
        if self._captions() or kind in _SHOWN:
            return self._shown()
        if kind is BlockKind.FAQ:
            return _question(self.blocks[self._step()], self.text)
        if kind is BlockKind.PARAGRAPH:
            return self._paragraphs()
        return prose(self.text, *self.blocks[self._step()].locator.span)

    def _step(self) -> int:
        self.position += 1
        return self.position - 1

    def _kind(self, ahead: int = 0) -> BlockKind | None:
        at = self.position + ahead
        return self.blocks[at].kind if at < len(self.blocks) else None

    def _paragraphs(self) -> Unit:
        """A paragraph with those that restrict it or that it introduces, and a list or table that the last one introduces."""
        start, end = self.blocks[self._step()].locator.span
        while self._kind() is BlockKind.PARAGRAPH and not self._captions():
            following = self.blocks[self.position]
            if not (restricts(following.text) or self._introduces(end)):
                break
            end = self.blocks[self._step()].locator.span[1]
        if self._kind() is BlockKind.LIST_ITEM:
            return introduction(self.text, start, end, self._items())
        if self._introduces(end) and (self._kind() in _SHOWN or self._captions()):
            return introduction(self.text, start, end, [self._shown()])
        return prose(self.text, start, end)

    def _items(self) -> list[Unit]:
        """The items that stand here, each with those in it; a paragraph after them that restricts the list is with the last."""
        first = self.position
        while self._kind() is BlockKind.LIST_ITEM:
            self.position += 1
        found = items(self.blocks[first : self.position], self.text)
        while self._kind() is BlockKind.PARAGRAPH and restricts(self.blocks[self.position].text):
            start, end = self.blocks[self._step()].locator.span
            found[-1] = _together(found[-1], prose(self.text, start, end))
        return found

    def _introduces(self, end: int) -> bool:
        """Whether the text before `end` ends in a colon."""
        return introduces(self.text[max(end - 20, 0) : end])

    def _captions(self) -> int:
        """How many captions stand here right before what they are captions of."""
        ahead = 0
        while ahead < MOST_CAPTIONS and self._is_caption(ahead):
            ahead += 1
        return ahead if ahead and self._kind(ahead) in _SHOWN else 0

    def _is_caption(self, ahead: int) -> bool:
        at = self.position + ahead
        if at >= len(self.blocks):
            return False
        block = self.blocks[at]
        if block.kind is BlockKind.CAPTION:
            return True
        is_short = block.kind is BlockKind.PARAGRAPH and len(block.text) <= LONGEST_CAPTION
        return is_short and _CAPTION.match(block.text) is not None

    def _shown(self) -> Unit:
        """A table, formula, picture or code with its captions, above or below; a formula with the words that explain it."""
        above = self._captions()
        begin = self.blocks[self.position].locator.span[0]
        self.position += above
        block = self.blocks[self._step()]
        unit = self._bare(block, begin)
        below = 0
        if not above:
            while below < MOST_CAPTIONS and self._is_caption(below):
                below += 1
            if self._kind(below) in _SHOWN and block.kind is BlockKind.TABLE:
                below = 0  # those of what follows: a table's stand above it, as a rule
        if block.kind is BlockKind.FORMULA and self._kind(below) is BlockKind.PARAGRAPH:
            below += _EXPLAINS.match(self.blocks[self.position + below].text) is not None
        if not below:
            return unit
        following = self.blocks[self.position : self.position + below]
        self.position += below
        return _together(unit, *(prose(self.text, *other.locator.span) for other in following))

    def _bare(self, block: Block, begin: int) -> Unit:
        start, end = block.locator.span
        if block.kind is BlockKind.TABLE:
            return table(block, self.text, begin)
        if block.kind is BlockKind.CODE:
            inner = code(self.text, start, end)
        elif block.kind is BlockKind.FORMULA:
            inner = Unit(start, end)
        else:
            inner = prose(self.text, start, end)
        if begin == start:
            return inner
        return Unit(begin, end, (begin, start), lambda: iter([inner]))


def _together(*found: Unit) -> Unit:
    return Unit(found[0].start, found[-1].end, parts=lambda: iter(found))


def _question(block: Block, text: str) -> Unit:
    """A question with its answer: the question is repeated before the sentences of a long answer."""
    start, end = block.locator.span
    feed = text.find("\n", start, end)
    if feed < 0:
        return prose(text, start, end)
    answer = prose(text, feed, end)
    return Unit(start, end, (start, feed), answer.parts)
