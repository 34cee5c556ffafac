"""Who finds what: indexed for real, asked at once after each change, through the one search that the product has.

The provider stub gives vectors that share words; the vector leg has no threshold, so whatever may be read is found by any
query, and what is not found was not readable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection

from documents import publishing, tenants
from documents.errors import NotFound
from documents.models import Document, DocumentReader, Membership
from documents.readers import Reader
from indexing.search import search
from indexing.worker import Worker
from tests.factories import EVERYONE, World, make_world
from tests.provider_stub import ProviderStub, status

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

LEGS = ["exact", "approximate", "words"]


@pytest.fixture
def world(stub_world: World) -> World:
    return stub_world


@pytest.fixture(params=LEGS)
def found(request: pytest.FixtureRequest, settings: Any, provider: ProviderStub) -> Callable[..., list[str]]:
    """Titles and versions that a user finds, by every way there is to find something."""
    if request.param == "approximate":
        settings.KB_SEARCH_EXACT_CHUNKS = 0

    def titles(world: World, user: User, query: str = "yuan limit") -> list[str]:
        if request.param == "words":
            provider.faults.append(status(500))  # of this one request: the provider as a whole is not out
        answer = search(user=user, tenant=world.tenant.slug, query=query)
        assert bool(answer.notices) == (request.param == "words")
        return sorted({f"{hit.title} v{hit.version_number}" for hit in answer.hits})

    return titles


def index() -> None:
    while Worker(lease_seconds=60).run_once().result != "IDLE":
        pass


def readable(user: User) -> list[str]:
    """What the other face of the permission says."""
    return sorted(Document.objects.readable_by(user).values_list("title", flat=True))


Found = Callable[..., list[str]]


def test_readers_by_name_group_and_everyone(world: World, found: Found) -> None:
    ann, ben = world.member("ann", groups=("staff",)), world.member("ben")
    for title, readers in (
        ("open", EVERYONE),
        ("staff", (Reader("group", "staff"),)),
        ("ben", (Reader("user", "ben"),)),
        ("both", (Reader("group", "staff"), Reader("user", "ben"))),
        ("nobody", ()),
    ):
        world.publish(world.upload(title=title), readers=readers)
    assert found(world, ann) == [], "nothing before it is indexed"
    index()
    assert found(world, ann) == ["both v1", "open v1", "staff v1"]
    assert found(world, ben) == ["ben v1", "both v1", "open v1"]
    assert found(world, world.editor) == ["open v1"], "an editor reads what they are a reader of"
    for user in (ann, ben, world.editor):
        assert [f"{title} v1" for title in readable(user)] == found(world, user)


def test_every_way_out_of_the_circle_works_with_the_next_query(world: World, found: Found) -> None:
    ann = world.member("ann", groups=("staff",))
    world.publish(world.upload(title="a"), readers=(Reader("group", "staff"),))
    index()

    def back() -> None:
        world.member("ann", groups=("staff",))
        assert found(world, ann) == ["a v1"]

    back()
    world.membership(ann).reader_groups.clear()
    assert found(world, ann) == [], "taken out of the group"
    back()
    document = Document.objects.get()
    publishing.set_readers(actor=world.editor, document_id=document.pk, revision=None, readers=[])
    assert found(world, ann) == [], "the group taken off the readers"
    publishing.set_readers(
        actor=world.editor, document_id=document.pk, revision=None, readers=[Reader("group", "staff")]
    )
    back()
    world.tenant.reader_groups.all().delete()
    assert found(world, ann) == [], "the group removed"
    world.member("ann", groups=("staff",))
    assert found(world, ann) == [], "a new group of the same name is another group"


def test_who_is_no_member_any_more_finds_no_tenant(world: World) -> None:
    ann = world.member("ann")
    world.publish(world.upload(), readers=(Reader("user", "ann"),))
    index()
    assert search(user=ann, tenant=world.tenant.slug, query="yuan").hits
    world.membership(ann).delete()
    with pytest.raises(NotFound):
        search(user=ann, tenant=world.tenant.slug, query="yuan")
    world.member("ann")
    assert not search(user=ann, tenant=world.tenant.slug, query="yuan").hits, "a new membership is another one"


def test_inactive_and_foreign_users_find_no_tenant(world: World) -> None:
    """A superuser administers every tenant but reads nowhere without being a reader."""
    ann = world.member("ann")
    world.publish(world.upload())
    index()
    ann.is_active = False
    ann.save()
    root = User.objects.create_superuser("root")
    for user in (ann, make_world().editor, root, AnonymousUser()):
        with pytest.raises(NotFound):
            search(user=user, tenant=world.tenant.slug, query="yuan")
    tenants.add_member(tenant=world.tenant, user=root, role="reader")
    assert search(user=root, tenant=world.tenant.slug, query="yuan").hits


def test_wider_readers_of_a_new_version_do_not_get_the_old_text(world: World, found: Found) -> None:
    ann, ben = world.member("ann"), world.member("ben")
    document = world.upload(title="a")
    world.publish(document, readers=(Reader("user", "ann"),))
    index()
    world.new_version(document, "The limit is 300 yuan, for everyone to know.")
    world.publish(document, readers=EVERYONE)
    assert (found(world, ann), found(world, ben)) == (["a v1"], [])
    index()
    assert (found(world, ann), found(world, ben)) == (["a v2"], ["a v2"])


def test_narrower_readers_of_a_new_version_lose_the_old_text_at_once(world: World, found: Found) -> None:
    ann, ben = world.member("ann"), world.member("ben")
    document = world.upload(title="a")
    world.publish(document)
    index()
    world.new_version(document, "The limit is 300 yuan.")
    world.publish(document, readers=(Reader("user", "ann"),))
    assert (found(world, ann), found(world, ben)) == (["a v1"], [])
    assert found(world, ann, "300 yuan") == ["a v1"], "and nobody the new text before it is indexed"


def test_readers_set_wider_while_a_version_is_indexed_do_not_get_the_old_text(world: World, found: Found) -> None:
    """The same by the other door: set_readers is about the version asked for last."""
    ben = world.member("ben")
    document = world.upload(title="a")
    world.publish(document, readers=())
    index()
    world.new_version(document, "The limit is 300 yuan.")
    world.publish(document, readers=())
    publishing.set_readers(actor=world.editor, document_id=document.pk, revision=None, readers=EVERYONE)
    assert found(world, ben) == []
    index()
    assert found(world, ben) == ["a v2"]


def test_withdrawn_and_deleted_documents_are_gone_with_the_next_query(world: World, found: Found) -> None:
    for title, command in (("a", publishing.withdraw_document), ("b", publishing.delete_document)):
        document = world.upload(title=title)
        world.publish(document)
        index()
        assert found(world, world.editor) == [f"{title} v1"]
        command(actor=world.editor, document_id=document.pk, revision=None)
        assert found(world, world.editor) == []
        assert readable(world.editor) == []


def test_tenants_do_not_see_each_other(world: World, found: Found) -> None:
    """Not even a member of both, in the one, the other's."""
    other = make_world()
    both = world.member("both")
    tenants.add_member(tenant=other.tenant, user=both, role="reader")
    for place in (world, other):
        place.publish(place.upload(title=place.tenant.slug))
    index()
    for place in (world, other):
        assert found(place, both) == found(place, place.editor) == [f"{place.tenant.slug} v1"]
    with pytest.raises(NotFound):
        search(user=other.editor, tenant=world.tenant.slug, query="yuan")


def test_a_member_of_another_tenant_in_a_group_of_this_one_reads_nothing(world: World, found: Found) -> None:
    """A row that no service writes: the reader view asks for a membership of the document's own tenant."""
    other = make_world()
    group = tenants.add_to_group(membership=world.membership(world.member("ann")), name="staff")
    group.members.add(Membership.objects.get(tenant=other.tenant, user=other.editor))
    document = world.upload(title="a")
    world.publish(document, readers=(Reader("group", "staff"),))
    index()
    assert not DocumentReader.objects.filter(user=other.editor).exists()
    assert found(other, other.editor) == []


@pytest.mark.parametrize(
    "evil",
    [
        "nobody' OR '1'='1",
        "'; DROP TABLE chunk; --",
        "%(user)s %s %% {pipeline}",
        "$1 OR true",
        "\\'; SELECT 1",
        "yuan') OR true --",
        "\0yuan\0",
        "yuan\ud800",
        "' | 'yuan",
        "!yuan & (limit | 'x':*)",
    ],
)
def test_values_are_values(world: World, found: Found, evil: str) -> None:
    """Whatever stands in a query, an outsider of a document does not find it, and nobody breaks anything."""
    ann = world.member("ann")
    world.publish(world.upload(title="secret"), readers=(Reader("user", "ann"),))
    index()
    assert found(world, world.editor, evil) == []
    assert found(world, ann, evil) == ["secret v1"] or "yuan" not in evil
    with pytest.raises(NotFound):
        search(user=ann, tenant=evil, query="yuan")


def test_names_of_readers_are_values(world: World) -> None:
    evil = "x' OR '1'='1"
    world.member(evil, groups=(evil,))
    ben = world.member("ben")
    document = world.upload()
    world.publish(document, readers=(Reader("user", evil), Reader("group", evil)))
    index()
    assert not search(user=ben, tenant=world.tenant.slug, query="yuan").hits


def test_with_the_permission_taken_out_of_the_view_the_tests_above_fail(world: World, found: Found) -> None:
    """The view is the only place where the search decides: without its rules the outsider finds the document."""
    ann = world.member("ann")
    world.publish(world.upload(title="secret"), readers=())
    index()
    assert found(world, ann) == []
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT pg_get_viewdef('document_reader')")
        original = cursor.fetchone()[0]
        cursor.execute(
            "CREATE OR REPLACE VIEW document_reader AS SELECT p.id, p.document_id, p.version_number, m.user_id "
            "FROM search_pointer p JOIN membership m ON m.tenant_id = p.tenant_id"
        )
        try:
            assert found(world, ann) == ["secret v1"]
        finally:
            cursor.execute(f"CREATE OR REPLACE VIEW document_reader AS {original}")
    connection.close()
