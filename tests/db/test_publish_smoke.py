import pytest

from documents.models import Document
from documents.ports import search_index
from tests.factories import make_world

pytestmark = pytest.mark.django_db


def test_publish_orders_indexing() -> None:
    world = make_world()
    published = world.publish(world.upload())
    assert published.ticket.state == "INDEXING"
    (document,) = search_index().annotate_state(Document.objects.all())
    assert (document.index_state, document.searchable_version) == ("INDEXING", None)
