"""A file that cannot be read ends its task with a sentence for the editor, and readers keep what they had."""

from __future__ import annotations

import io

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from documents import uploading
from documents.models import Document
from documents.ports import search_index
from tests.concurrency.leases import found_texts, run_worker
from tests.concurrency.test_stage_then_switch import searchable
from tests.factories import World

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def with_password() -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, invariant=1, encrypt=StandardEncryption("secret", ownerPassword="owner", strength=128))
    canvas.drawString(72, 700, "hidden")
    canvas.save()
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "code", "sentence"),
    [
        (with_password(), "DOCUMENT_ENCRYPTED", "Remove the password"),
        (with_password()[:400], "DOCUMENT_CORRUPT", "save it again"),
    ],
)
def test_an_unreadable_new_version(stub_world: World, data: bytes, code: str, sentence: str) -> None:
    document = searchable(stub_world)
    version = uploading.add_version(
        actor=stub_world.editor, document_id=document.pk, revision=None, data=data, file_name="policy.pdf"
    )
    stub_world.publish(document, version=version.number)
    assert run_worker() == "FAILED"
    assert run_worker() == "IDLE"
    (state,) = search_index().annotate_state(Document.objects.filter(pk=document.pk))
    assert (state.index_state, state.index_error_code, state.searchable_version) == ("FAILED", code, 1)
    assert sentence in state.index_error_message
    assert all(text.startswith("v1") for text in found_texts(stub_world, "old"))
