"""What could not be read, and places that are not right: told to editors, in the API, with hits; never of another version."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.utils import translation
from reportlab.platypus import PageBreak, Paragraph

from documents import uploading
from documents.models import Document
from documents.ports import search_index
from indexing import attempt, remarks, sink
from indexing.blocks import Chunk, Gap, GapReason, LeftOut, LeftOutReason, ParsedDocument
from indexing.errors import VerificationFailed
from indexing.locators import Locator
from indexing.models import Chunk as StoredChunk
from indexing.models import IndexTask, Pipeline, SearchPointer
from indexing.sink import Manifest
from indexing.verification import Verification
from indexing.worker import Worker
from tests.db.api import Caller, at
from tests.db.looking import finish
from tests.db.office import Office
from tests.db.staging import chunks_of, claim, vector_of
from tests.factories import World
from tests.unit.test_parse_pdf import BODY, H1, LONG, typeset

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

GAPS = (
    Gap(GapReason.UNREADABLE, page=17),
    Gap(GapReason.UNREADABLE, page=18),
    Gap(GapReason.NOT_CALCULATED, sheet="Prices"),
)


@dataclass
class Cast:
    world: World
    editor: Caller
    reader: Caller


def finished_with(gaps: tuple[Gap, ...] = (), verification: Verification | None = None) -> None:
    """The order that is due becomes searchable, with this said of it."""
    lease = claim()
    digest = Pipeline.objects.get(pk=lease.pipeline_id).digest
    chunks = chunks_of(["the limit"])
    manifest = Manifest.of(chunks, lease=lease, pipeline_digest=digest, gaps=gaps, verification=verification)
    dimensions = Pipeline.objects.get(pk=lease.pipeline_id).dimensions
    vectors = {item.embedded_digest: vector_of("x", dimensions) for item in manifest.chunks}
    sink.stage(lease, manifest.chunks, vectors=vectors, dimensions=dimensions)
    sink.finish(lease, manifest)


def hit(cast: Cast) -> dict[str, Any]:
    (found,) = cast.reader.get("search", q="limit", tenant=cast.world.tenant.slug).json["hits"]
    return dict(found)


@pytest.fixture
def cast(stub_world: World) -> Cast:
    return Cast(stub_world, Caller(stub_world.editor), Caller(stub_world.member("reader")))


@pytest.fixture
def office(stub_world: World) -> Office:
    return Office()  # its tenants are served by the stub's pipeline, too


def test_gaps_are_told_with_the_version_that_has_them(cast: Cast) -> None:
    document = cast.world.upload()
    cast.world.publish(document)
    assert cast.editor.get(at(document)).json["gaps"] is None
    finished_with(GAPS, Verification(1))
    expected = [
        {"reason": "unreadable", "page": 17, "message": "page 17: unreadable"},
        {"reason": "unreadable", "page": 18, "message": "page 18: unreadable"},
    ]
    assert hit(cast)["gaps"][:2] == expected
    (notice,) = hit(cast)["notices"]
    assert notice.startswith("Missing near here: pages 17–18: unreadable; sheet “Prices”: formulas")
    told = cast.editor.get(at(document)).json
    assert told["gaps"] == [gap.to_json() for gap in GAPS]
    assert told["notices"][0].startswith(
        "Not in the searchable text: pages 17–18: unreadable; sheet “Prices”: formulas"
    )
    assert cast.reader.get(at(document)).json["gaps"] is None
    task = IndexTask.objects.get()
    told = cast.editor.get(f"index-tasks/{task.pk}").json
    assert told["gaps"][:2] == expected
    assert told["places"] == {"found": 1, "failed": [], "notCheckable": 0}

    cast.world.new_version(document, "two")
    cast.world.publish(document, version=2)
    assert len(hit(cast)["gaps"]) == 3  # version 1 is still the one that readers are served
    finished_with()
    assert (hit(cast)["versionNumber"], hit(cast)["gaps"], hit(cast)["notices"]) == (2, [], [])
    assert cast.editor.get(at(document)).json["gaps"] == []
    assert cast.editor.get(f"index-tasks/{task.pk}").json["gaps"] is None  # readers have another task's result


def test_a_withdrawn_document_tells_no_gaps(office: Office) -> None:
    document = office.world.upload()
    office.world.publish(document)
    finished_with(GAPS)
    office.send("editor", document, "withdraw")
    (found,) = search_index().annotate_state(Document.objects.filter(pk=document.pk))
    assert found.index_gaps is None


def test_pages_of_editors_and_readers_name_them(office: Office) -> None:
    document = office.world.upload()
    office.world.publish(document)
    finished_with(GAPS, Verification(9, (4,), 2))
    task = IndexTask.objects.get()
    named = "pages 17–18: unreadable"
    for page in (
        office.page("editor", document),
        office.get("editor", "admin:indexing_indextask_change", task.pk),
        office.get("editor", "admin:indexing_chunks", document.pk),
    ):
        assert named in page.content.decode()
        assert "not found again at its exact place: 5" in page.content.decode()
    found = office.get("editor", "search", q="limit", tenant=office.world.tenant.slug).content.decode()
    assert "Missing near here: pages 17–18: unreadable" in found
    with translation.override("zh-hans"):
        assert remarks.gaps_words([GAPS[0].to_json()]) == ["第 17 页：无法读取"]


SHEETS = tuple(Gap(GapReason.NOT_CALCULATED, sheet=name, cells=(2, 3, 2, 9)) for name in ("Prices", "Costs", "库存"))
WHOLE = Gap(GapReason.UNREADABLE)


@pytest.mark.parametrize(
    ("gaps", "place", "near", "sentences"),
    [
        (
            SHEETS,
            Locator((0, 1), sheet="Prices", cells=(1, 1, 4, 4)),
            [SHEETS[0]],
            [
                "Missing near here: sheet “Prices”, cells B3:B9: formulas",
                "2 other parts of this document are not searchable.",
            ],
        ),
        (GAPS[:2], Locator((0, 1), page=16), [GAPS[0]], ["Missing near here: page 17: unreadable.", "1 other part of"]),
        (
            GAPS[:2],
            Locator((0, 1), page=14, page_end=17),
            list(GAPS[:2]),
            ["Missing near here: pages 17–18: unreadable."],
        ),
        (GAPS[:2], Locator((0, 1), page=3), [], ["2 other parts of this document are not searchable."]),
        ((WHOLE,), Locator((0, 1)), [WHOLE], ["Missing near here: unreadable."]),
        ((Gap(GapReason.UNREADABLE, slide=2),), Locator((0, 1), slide=3), [], ["1 other part of this document is not"]),
        ((), Locator((0, 1), page=3), [], []),
    ],
)
def test_a_hit_tells_what_is_missing_near_it(
    gaps: tuple[Gap, ...], place: Locator, near: list[Gap], sentences: list[str]
) -> None:
    stored = [gap.to_json() for gap in gaps]
    assert [Gap.from_json(gap) for gap in remarks.near(stored, place.to_json())] == near
    told = remarks.near_words(stored, place.to_json())
    assert len(told) == len(sentences)
    assert all(sentence.startswith(begin) for sentence, begin in zip(told, sentences, strict=True))


def test_a_text_kept_out_names_its_sheet_or_slide() -> None:
    hidden = LeftOut(LeftOutReason.HIDDEN, "secret", sheet="价格", cells=(1, 4, 3, 4))
    assert remarks.left_out_words(hidden) == "Hidden text, sheet “价格”, cells A4:C4"
    assert remarks.left_out_words(LeftOut(LeftOutReason.HIDDEN, "secret", slide=2)) == "Hidden text, slide 2"


def test_a_pointer_from_before_has_no_gaps(office: Office) -> None:
    document = office.world.upload()
    office.world.publish(document)
    finish()
    pointer = SearchPointer.objects.get()
    assert (pointer.gaps, pointer.verification) == ([], None)
    assert office.get("editor", "admin:indexing_chunks", document.pk).status_code == 200


def test_gaps_of_a_parse_come_through(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = attempt.parse_in_child

    def with_gap(*arguments: Any, **options: Any) -> ParsedDocument:
        return replace(parse(*arguments, **options), gaps=GAPS[:1])

    monkeypatch.setattr(attempt, "parse_in_child", with_gap)
    cast.world.publish(cast.world.upload("# Travel\n\nThe limit is 200 yuan."))
    assert Worker().run_once().result == "SUCCEEDED"
    pointer = SearchPointer.objects.get()
    assert pointer.gaps == [GAPS[0].to_json()]
    assert pointer.verification == {"found": 1, "failed": [], "notCheckable": 0}


def _misplaced(monkeypatch: pytest.MonkeyPatch, *ordinals: int) -> None:
    """The splitter is at fault: chunks of these ordinals say that they stand in line 1."""
    split = attempt.split_as_configured

    def wrong(*arguments: Any, **options: Any) -> list[Chunk]:
        return [
            replace(chunk, locator=replace(chunk.locator, lines=(1, 1))) if chunk.ordinal in ordinals else chunk
            for chunk in split(*arguments, **options)
        ]

    monkeypatch.setattr(attempt, "split_as_configured", wrong)


def test_one_wrong_place_is_taken_away_and_told(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    _misplaced(monkeypatch, 2)
    cast.world.publish(cast.world.upload("\n\n".join(f"# Part {n}\n\nRule {n} holds." for n in range(5))))
    assert Worker().run_once().result == "SUCCEEDED"
    assert SearchPointer.objects.get().verification == {"found": 4, "failed": [2], "notCheckable": 0}
    places = [chunk.locator.get("lines") for chunk in StoredChunk.objects.order_by("ordinal")]
    assert places == [[3, 3], [7, 7], None, [15, 15], [19, 19]]


def test_many_wrong_places_fail_the_task_before_anything_is_embedded(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    _misplaced(monkeypatch, 1, 2)
    monkeypatch.setattr(attempt, "embed", None)
    cast.world.publish(cast.world.upload("\n\n".join(f"# Part {n}\n\nRule {n} holds." for n in range(5))))
    assert Worker().run_once().result == "FAILED"
    task = IndexTask.objects.get()
    assert (task.state, task.error_code) == ("RETRY_WAIT", VerificationFailed.code)
    told = cast.editor.get(f"index-tasks/{task.pk}").json["errorMessage"]
    assert told.startswith("What was made from the file did not pass its check: text is not where it should be")
    assert "Texts at fault: 2. The first: line 1, under “Part 1”, chunk 2; line 1, under “Part 2”, chunk 3." in told
    assert not StoredChunk.objects.exists()


def _pdf(world: World) -> Document:
    data = typeset([Paragraph("Leave", H1), Paragraph(LONG, BODY), PageBreak(), Paragraph("Last words.", BODY)])
    version = uploading.create_document(
        actor=world.editor, tenant=world.tenant.slug, title="Leave", data=data, file_name="leave.pdf"
    )
    return version.document


def test_a_page_is_drawn_for_whoever_may_download_the_file(office: Office) -> None:
    document = _pdf(office.world)
    args = (document.pk, 1, 2)
    answers = {who: office.get(who, "admin:indexing_page_picture", *args) for who in office.clients}
    allowed = {who for who, answer in answers.items() if answer.status_code == 200}
    assert allowed - {"superuser"} == {"editor", "operator"}
    assert answers["editor"].content.startswith(b"\x89PNG")
    assert (answers["editor"]["Content-Type"], answers["editor"]["Cache-Control"]) == (
        "image/png",
        "private, max-age=3600",
    )
    for missing in ((document.pk, 1, 3), (document.pk, 1, 0), (document.pk, 2, 1)):
        assert office.get("editor", "admin:indexing_page_picture", *missing).status_code == 404


def test_what_was_kept_out_is_shown(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = attempt.parse_in_child
    left_out = (LeftOut(LeftOutReason.PAGE_HEADER, "<b>Confidential</b>", (1, 2, 3)),)
    monkeypatch.setattr(attempt, "parse_in_child", lambda *a, **o: replace(parse(*a, **o), left_out=left_out))
    document = office.world.upload()
    office.world.publish(document)
    assert Worker().run_once().result == "SUCCEEDED"
    page = office.get("editor", "admin:indexing_chunks", document.pk).content.decode()
    assert "Page header, pages 1–3" in page
    assert "&lt;b&gt;Confidential&lt;/b&gt;" in page


def test_a_chunk_without_headings_has_no_dangling_dot(office: Office) -> None:
    document = office.world.upload()
    office.world.publish(document)
    finish()
    page = office.get("editor", "admin:indexing_chunks", document.pk).content.decode()
    assert re.search(r'<p class="kb-place">1 <span>', page)
