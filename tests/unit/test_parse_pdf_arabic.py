"""Text from right to left in a PDF: drawn from left to right, letter forms of a font standing for one letter or for two."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.unit.blocks_asserts import outline
from tests.unit.pdf_making import parsed


def pdf_of(lines: Sequence[Sequence[str]]) -> bytes:
    """Each line is its forms as they stand on the page, from left to right; a form is the letters it stands for, in their own
    order. The font is one every reader has: only what its characters are said to mean matters."""
    forms = sorted({form for line in lines for form in line})
    code = {form: 0x41 + at for at, form in enumerate(forms)}
    means = "".join(f"<{code[form]:02x}> <{form.encode('utf-16-be').hex()}>\n" for form in forms)
    cmap = (
        "/CIDInit /ProcSet findresource begin begincmap /CMapName /A def /CMapType 2 def 1 begincodespacerange <00> <ff> "
        f"endcodespacerange {len(forms)} beginbfchar\n{means}endbfchar endcmap end"
    )
    shown = "".join(
        f"BT /F 12 Tf 72 {700 - 20 * at} Td <{''.join(f'{code[form]:02x}' for form in line)}> Tj ET\n"
        for at, line in enumerate(lines)
    )
    streams = [f"<< /Length {len(text)} >>\nstream\n{text}\nendstream" for text in (cmap, shown)]
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 6 0 R /Resources << /Font << /F 4 0 R >> >> >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 5 0 R >>",
        *streams,
    ]
    body, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def from_right(text: str, *ligatures: str) -> list[str]:
    """The forms of a line of Arabic as they stand on the page."""
    forms = []
    at = 0
    while at < len(text):
        form = next((two for two in ligatures if text.startswith(two, at)), text[at])
        forms.append(form)
        at += len(form)
    return forms[::-1]


@pytest.mark.parametrize("text", ["المشكلات", "الإنتاجية والأدوات", "کالای داخلی", "التعلم الآلي", "مال المحال"])
def test_lam_and_alef_in_one_form_are_in_their_order(text: str) -> None:
    document = parsed(pdf_of([from_right(text, "لا", "لأ", "لإ", "لآ")]))
    assert outline(document) == [("paragraph", text)]


def test_the_same_letters_in_forms_of_their_own_stay_as_they_are() -> None:
    text = "السلام والإنسان"
    assert parsed(pdf_of([from_right(text)])).text == text


def test_hebrew() -> None:
    text = "שלום עולם"
    assert parsed(pdf_of([from_right(text)])).text == text


def test_a_latin_word_is_apart_from_the_arabic_one_behind_it() -> None:
    line = [*from_right("من الأدوات"), *"Python", " ", *from_right("بلغة")]
    assert parsed(pdf_of([line])).text == "بلغة Python من الأدوات"
