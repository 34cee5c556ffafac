"""Tables of a PDF page: those with rules around their cells first, then those whose words stand in columns."""

from __future__ import annotations

from indexing.locators import Region
from indexing.parsers.pdf_aligned import find_aligned
from indexing.parsers.pdf_grids import find_grids
from indexing.parsers.pdf_ruled import LinesOf, opened, ruled_table, without_titles
from indexing.parsers.pdf_rules import Rules
from indexing.parsers.pdf_types import Glyph, Table


def find_tables(
    glyphs: list[Glyph], page_number: int, rules: Rules, lines_of: LinesOf
) -> tuple[list[Table], list[Glyph]]:
    """The page's tables, and the glyphs that are in none of them."""
    tables: list[Table] = []
    for grid in find_grids(rules):
        inside = [glyph for glyph in glyphs if glyph.text == "\n" or _within(glyph, grid.region)]
        if not any(glyph.text.strip() for glyph in inside):
            continue
        open_grid = without_titles(opened(grid, inside))
        if not open_grid.owners:
            continue
        inside = [glyph for glyph in inside if glyph.text == "\n" or _within(glyph, open_grid.region)]
        table = ruled_table(open_grid, inside, page_number, lines_of)
        if table is None:
            continue
        if len(open_grid.rows) > len(grid.rows):  # only groups are ruled; so may be the columns
            aligned, rest = find_aligned(inside, page_number, rules)
            if len(aligned) == 1 and len(aligned[0].rows[0]) > len(table.rows[0]):
                table, left = aligned[0], {glyph.order for glyph in rest}
                inside = [glyph for glyph in inside if glyph.order not in left]
        tables.append(table)
        taken = {glyph.order for glyph in inside if glyph.text != "\n"}
        glyphs = [glyph for glyph in glyphs if glyph.order not in taken]
    aligned, glyphs = find_aligned(glyphs, page_number, rules)
    return [*tables, *aligned], glyphs


def _within(glyph: Glyph, region: Region) -> bool:
    left, top, right, bottom = glyph.region
    return region[0] <= (left + right) / 2 <= region[2] and region[1] <= (top + bottom) / 2 <= region[3]
