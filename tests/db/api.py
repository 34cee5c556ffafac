"""The API as its callers use it: a client per person, each with a key of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from documents.api.keys import create_api_key
from documents.models import Document

ROOT = "/api/v1/"
TEXT = "# Travel\n\nThe limit is 200 yuan."


@dataclass
class Answer:
    """What came back: status, headers by name, and the JSON of the body."""

    status: int
    headers: Any
    json: Any
    content: bytes

    @property
    def code(self) -> str:
        """The code of a problem, after a look at the rest of it."""
        assert self.headers["Content-Type"] == "application/problem+json", self.content
        assert {"type", "title", "status", "detail", "code"} <= set(self.json)
        assert self.json["status"] == self.status
        assert self.json["detail"].strip()
        return self.json["code"]


class Caller:
    """A person with a key. Header names are given as Python words: `if_match`, `idempotency_key`."""

    def __init__(self, user: User | None) -> None:
        self.user = user
        # What a view raises must become an answer, in tests too.
        self._client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {create_api_key(user=user)}"} if user else {}

    def call(self, method: str, path: str, data: Any = None, *, raw: bytes | None = None, **headers: str) -> Answer:
        """`data` is sent as JSON, `raw` as it is (with `content_type`)."""
        content_type = headers.pop("content_type", "application/json")
        body = raw if raw is not None else b"" if data is None else json.dumps(data).encode()
        return self._send(method, path, body, content_type, headers)

    def get(self, path: str, **query: Any) -> Answer:
        response = self._client.get(_address(path), query, headers=self.headers)
        return _answer(response)

    def post(self, path: str, data: Any = None, **headers: str) -> Answer:
        return self.call("POST", path, data, **headers)

    def put(self, path: str, data: Any = None, **headers: str) -> Answer:
        return self.call("PUT", path, data, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self._send("DELETE", path, b"", "application/json", headers)

    def upload(
        self,
        path: str = "documents",
        *,
        content: bytes | str = TEXT,
        name: str = "a.md",
        idempotency_key: str | None = None,
        if_match: str | None = None,
        **fields: Any,
    ) -> Answer:
        data = content.encode() if isinstance(content, str) else content
        headers = {"Idempotency-Key": idempotency_key, "If-Match": if_match}
        response = self._client.post(
            _address(path),
            {"file": SimpleUploadedFile(name, data), **fields},
            headers={**self.headers, **{name: value for name, value in headers.items() if value is not None}},
        )
        return _answer(response)

    def _send(self, method: str, path: str, body: bytes, content_type: str, headers: dict[str, str]) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return _answer(
            self._client.generic(
                method, _address(path), body, content_type=content_type, headers={**self.headers, **named}
            )
        )


def at(document: Document, *rest: str) -> str:
    """The path of a document, or of something of it."""
    return "/".join(["documents", str(document.pk), *rest])


def _address(path: str) -> str:
    return path if path.startswith("/") else ROOT + path


def _answer(response: Any) -> Answer:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    is_json = "json" in response.headers.get("Content-Type", "")
    return Answer(response.status_code, response.headers, json.loads(content) if is_json and content else None, content)
