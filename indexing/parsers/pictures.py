"""Pictures inside an Office file: what they say is read by OCR, in the order in which they are met, each one once.

One that somebody has described says what its description says. A small one is an icon. What cannot be read is a gap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial

from indexing.blocks import GapReason
from indexing.errors import DocumentCorrupt, DocumentTooLarge
from indexing.parsers import limits
from indexing.parsers.assemble import Piece
from indexing.parsers.scans import Scans


class Pictures:
    """The pictures of one file. `missed` is told why the text of one is not among what was read."""

    def __init__(self, scans: Scans | None = None) -> None:
        self._scans = scans or Scans()
        self._met: set[str] = set()
        self._count = self._pixels = 0

    def read(
        self, name: str | None, content: Callable[[], bytes], missed: Callable[[GapReason], None]
    ) -> Iterator[Piece]:
        """The text of the picture that is the part `name`, None where the file has no such part."""
        if name is None:
            missed(GapReason.PICTURE)
            return
        if name in self._met:  # a logo on every slide: not even hashed again
            return
        self._met.add(name)
        found = content()
        digest = hashlib.sha256(found).hexdigest()
        if digest in self._met:  # some programs write a part for each place
            return
        self._met.add(digest)
        from indexing.parsers.image import open_image, read_frame  # only here: most files have no pictures

        try:
            image = open_image(found)
        except (DocumentCorrupt, DocumentTooLarge):  # damaged, or drawn in lines: EMF, WMF
            missed(GapReason.PICTURE)
            return
        pixels = image.width * image.height
        if pixels < limits.PICTURE_PIXELS:
            return
        self._count, self._pixels = self._count + 1, self._pixels + pixels
        if self._count > limits.PICTURES or self._pixels > limits.PICTURES_PIXELS:
            missed(GapReason.OVER_LIMIT)
            return
        try:
            page = self._scans.read(self._count, partial(read_frame, image, self._count, is_page=False))
        except (DocumentTooLarge, MemoryError):  # the text around it stays searchable
            missed(GapReason.PICTURE)
            return
        if page.gap:
            missed(GapReason.PICTURE)
        from indexing.parsers.scan_pieces import texts_of

        yield from texts_of(page)
