"""An HTTP transport with one deadline for a whole exchange.

The timeouts of the HTTP client begin anew with every byte received: a server that sends one byte a second would hold
a worker, and the lease it renews, for ever. Here each wait on the socket gets what is left of the deadline.
"""

from __future__ import annotations

import math
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, Never

import httpcore2
import httpx2

_ends_at: ContextVar[float] = ContextVar("ends_at", default=math.inf)  # on the monotonic clock


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Exchanges of this thread inside the block end after `seconds`, with an `httpx2.TimeoutException`.

    Two waits are outside its reach: name resolution, which the system bounds, and further addresses of a host whose
    first did not answer (each has the connect timeout).
    """
    token = _ends_at.set(monotonic() + seconds)
    try:
        yield
    finally:
        _ends_at.reset(token)


def _left(timeout: float | None, error: type[httpcore2.TimeoutException]) -> float:
    left = _ends_at.get() - monotonic()
    if left <= 0:
        raise error("the deadline has passed")
    return left if timeout is None else min(left, timeout)


class DeadlineTransport(httpx2.HTTPTransport):
    """Direct connections only: no proxy of the environment. Usable by many threads, but not across a fork."""

    def __init__(self) -> None:
        super().__init__()
        # The client offers no other way to its network layer than a pool of one's own.
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpx2.create_ssl_context(), keepalive_expiry=5.0, network_backend=_Backend()
        )


class _Backend(httpcore2.NetworkBackend):
    def __init__(self) -> None:
        self._inner = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, left, local_address, socket_options))

    def connect_unix_socket(self, *args: Any, **kwargs: Any) -> Never:
        raise NotImplementedError


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
