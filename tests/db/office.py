"""The site as people use it in a browser: a logged-in client per person, and short ways to send the admin's forms."""

from __future__ import annotations

import html
import re
from typing import Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from documents.models import Document
from tests.factories import World, make_world

Response = HttpResponse


class Office:
    """Two tenants with somebody of every kind, each with a browser."""

    def __init__(self) -> None:
        self.world, self.other = make_world(), make_world()
        people = {
            "superuser": User.objects.create_superuser("root"),
            "editor": staff(self.world.editor),
            "operator": staff(self.world.member("olga", role="operator")),
            "reader": staff(self.world.member("rita", groups=("hr",))),
            "outsider": staff(User.objects.create_user("oscar")),
            "other_editor": staff(self.other.editor),
        }
        self.people: dict[str, User] = people
        self.clients = {name: browser(user) for name, user in people.items()}

    def get(self, who: str, name: str, *args: Any, **query: Any) -> Any:
        return self.clients[who].get(reverse(name, args=args), query)

    def send(self, who: str, document: Document, command: str, /, **fields: Any) -> Any:
        """Post one of the document page's forms, made with the present revision in view unless another is given."""
        document.refresh_from_db()
        data = {"revision": document.revision, **fields}
        return self.clients[who].post(reverse(f"admin:documents_document_{command}", args=[document.pk]), data)

    def page(self, who: str, document: Document) -> Any:
        return self.get(who, "admin:documents_document_change", document.pk)


def staff(user: User) -> User:
    user.is_staff = True
    user.save()
    return user


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def file(content: bytes | str = "# New\n\nText.", name: str = "b.md") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def words(response: Any) -> str:
    """What a person reads on a page: its text without tags, in one line."""
    text = re.sub(r"<[^>]*>", " ", response.content.decode())
    return " ".join(html.unescape(text).split())


__all__ = ["Office", "World", "browser", "file", "staff", "words"]
