"""One question and its answer over HTTP, as JSON: what every endpoint that speaks OpenAI's protocol needs."""

from __future__ import annotations

import os
from typing import Any

import httpx2

from indexing.embedders.deadline import DeadlineTransport, deadline
from indexing.embedders.refusals import refusal
from indexing.errors import EmbeddingBadResponse, EmbeddingTimeout, EmbeddingUnavailable


class Exchange:
    """Posts to one address. Nothing is sent when it is made."""

    def __init__(self, url: str, path: str, api_key: str = "", *, connect_timeout: float, timeout: float) -> None:
        """`url`: the base (`…/v1`) or the full address, which ends in `path`. `api_key`: empty sends none.

        `connect_timeout`, `timeout`: seconds; the second is for a whole request, from connecting to the last byte.

        `ValueError`, without quoting the value, for an unusable address or key.
        """
        self.url = full_address(url, path)
        self._headers = {"Accept-Encoding": "identity", **_authorization(api_key)}
        self._timeout = httpx2.Timeout(timeout, connect=min(connect_timeout, timeout))
        self._deadline = timeout
        self._transport: tuple[int, DeadlineTransport] | None = None  # process it belongs to, connections

    def post(self, question: dict[str, Any], *, longest: int) -> bytes:
        """The body of a 200 answer, of at most `longest` bytes. Raises any `EMBEDDING_*` error."""
        request = httpx2.Request(
            "POST", self.url, headers=self._headers, json=question, extensions={"timeout": self._timeout.as_dict()}
        )
        try:
            with deadline(self._deadline):
                return self._answer(request, longest)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise EmbeddingUnavailable("No connection could be made.") from error
        except httpx2.TimeoutException as error:
            raise EmbeddingTimeout() from error
        except httpx2.HTTPError as error:
            # Not "unavailable": a text that makes the server fall over must use up its budget.
            raise EmbeddingBadResponse("The connection broke before the answer was complete.") from error

    def _answer(self, request: httpx2.Request, longest: int) -> bytes:
        """Asks the transport, not a client: nothing here may follow a redirect with the key, keep cookies, read
        credentials from the environment, or log the address with its query."""
        response = self.connections().handle_request(request)
        try:
            if response.status_code != httpx2.codes.OK:
                raise refusal(response.status_code, response.headers)
            body = bytearray()
            for part in response.iter_raw():
                body += part
                if len(body) > longest:
                    raise EmbeddingBadResponse("It is far longer than what was asked for.")
            return bytes(body)
        finally:
            response.close()

    def connections(self) -> DeadlineTransport:
        """This process's connections. A forked child that used its parent's could receive the parent's answers."""
        if self._transport is None or self._transport[0] != os.getpid():
            self._transport = (os.getpid(), DeadlineTransport())
        return self._transport[1]


def full_address(url: str, path: str) -> httpx2.URL:
    """The address that ends in `path`. `ValueError`, without quoting it, for an unusable one."""
    try:
        address = httpx2.URL(url)
        address.host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError):
        raise ValueError("the URL of the endpoint is not a URL") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError("the URL of the endpoint must begin with http:// or https:// and name a host")
    if address.port is not None and not 0 < address.port < 65_536:
        raise ValueError("the URL of the endpoint has an impossible port")
    if address.userinfo:
        raise ValueError("the URL of the endpoint must not hold a user name or password: use the key setting")
    base = address.path.rstrip("/")
    return address.copy_with(path=base if base.endswith(path) else f"{base}{path}", fragment=None)


def _authorization(api_key: str) -> dict[str, str]:
    if not api_key:
        return {}
    if not all("!" <= character <= "~" for character in api_key):
        raise ValueError("the key of the endpoint holds characters that no key has")
    return {"Authorization": f"Bearer {api_key}"}
