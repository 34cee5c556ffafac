"""Audit holds through the API and the admin: the same services, for the same people."""

from __future__ import annotations

import pytest

from documents import publishing, purging
from documents.hold_models import Hold
from documents.models import Document
from tests.db.api import Caller, at
from tests.db.office import Office, words
from tests.factories import World

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


class TestApi:
    def test_a_hold_is_placed_seen_and_lifted(self, world: World, editor: Caller) -> None:
        operator = Caller(world.member("olga", role="operator"))
        document = world.upload()
        placed = operator.post(at(document, "holds"), {"reason": "A lawsuit", "versionNumber": 1})
        assert (placed.status, placed.json["versionNumber"], placed.json["placedBy"]) == (201, 1, "olga")
        assert (placed.json["liftedAt"], placed.json["liftedBy"]) == (None, None)
        assert editor.get(at(document, "holds")).json["holds"] == [placed.json]
        lifted = operator.post(f"holds/{placed.json['holdId']}/lift")
        assert (lifted.status, lifted.json["liftedBy"]) == (200, "olga")
        again = operator.post(f"holds/{placed.json['holdId']}/lift")
        assert (again.status, again.code) == (409, "conflict")

    def test_repeated_with_its_key_it_is_placed_once(self, world: World) -> None:
        operator = Caller(world.member("olga", role="operator"))
        document = world.upload()
        for _ in range(2):
            answer = operator.post(at(document, "holds"), {"reason": "A lawsuit"}, idempotency_key="k")
            assert answer.status == 201
        assert Hold.objects.count() == 1

    def test_an_editor_may_look_and_a_reader_not_even_that(self, world: World, editor: Caller) -> None:
        document = world.upload()
        assert editor.post(at(document, "holds"), {"reason": "Mine"}).code == "not_allowed"
        assert Caller(world.member("rita")).get(at(document, "holds")).status == 404

    @pytest.mark.parametrize(
        "body",
        [{}, {"reason": ""}, {"reason": "x" * 1001}, {"reason": "r", "versionNumber": 0}, {"reason": "r", "x": 1}],
    )
    def test_what_is_no_hold_is_refused(self, world: World, body: dict[str, object]) -> None:
        operator = Caller(world.member("olga", role="operator"))
        assert operator.post(at(world.upload(), "holds"), body).status == 400
        assert operator.post("holds/9999999/lift").status == 404


class TestAdmin:
    @pytest.fixture
    def office(self) -> Office:
        return Office()

    @pytest.fixture
    def document(self, office: Office) -> Document:
        return office.world.upload(title="Contract")

    def test_an_operator_places_and_lifts(self, office: Office, document: Document) -> None:
        assert "Place an audit hold" in words(office.page("operator", document))
        address = f"/admin/documents/hold/place/{document.pk}/"
        page = office.clients["operator"].get(address)
        assert "Nothing of it is removed by any rule" in words(page)
        office.clients["operator"].post(address, {"reason": "A lawsuit", "version_number": ""})
        hold = Hold.objects.get()
        assert (hold.version_number, hold.placed_by_name) == (None, "olga")
        page = words(office.page("editor", document))
        assert "Under audit hold every version: A lawsuit (olga" in page
        assert "placed an audit hold: A lawsuit" in page
        assert "Lift the hold" not in page
        assert "Contract" in words(office.get("operator", "admin:documents_hold_changelist"))
        office.clients["operator"].post(f"/admin/documents/hold/{hold.pk}/lift/")
        hold.refresh_from_db()
        assert hold.lifted_by_name == "olga"

    def test_of_a_deleted_document_too(self, office: Office, document: Document) -> None:
        publishing.delete_document(actor=office.world.editor, document_id=document.pk)
        address = f"/admin/documents/hold/place/{document.pk}/"
        office.clients["operator"].post(address, {"reason": "A lawsuit", "version_number": "1"})
        assert purging.purge_deleted() == 0
        assert "v1: A lawsuit" in words(office.page("operator", document))

    def test_what_was_entered_comes_back_with_the_reason_of_the_refusal(
        self, office: Office, document: Document
    ) -> None:
        address = f"/admin/documents/hold/place/{document.pk}/"
        assert office.clients["operator"].post(address, {"reason": " "}).status_code == 400
        assert office.clients["operator"].post(address, {"reason": "r", "version_number": "7"}).status_code == 400

    @pytest.mark.parametrize(
        ("who", "place", "lift"),
        [
            ("superuser", 302, 302),
            ("operator", 302, 302),
            ("editor", 403, 403),
            ("reader", 404, 404),
            ("outsider", 404, 404),
            ("other_editor", 404, 404),
        ],
    )
    def test_everybody_who_might_try(self, office: Office, document: Document, who: str, place: int, lift: int) -> None:
        address = f"/admin/documents/hold/place/{document.pk}/"
        assert office.clients[who].post(address, {"reason": "A lawsuit"}).status_code == place
        office.clients["superuser"].post(address, {"reason": "A lawsuit"})
        hold = Hold.objects.latest("id")
        assert office.clients[who].post(f"/admin/documents/hold/{hold.pk}/lift/").status_code == lift
        listed = office.get(who, "admin:documents_hold_changelist")
        assert (listed.status_code == 200) == (who in ("superuser", "operator", "editor", "other_editor"))
        assert (b"A lawsuit" in listed.content) == (who in ("superuser", "operator", "editor"))
