"""A bad network before PostgreSQL: `python -m tests.chaos.proxy --to SOCKET_FOLDER` prints the port that it listens on.

It understands just enough of the protocol to cut a connection in the worst moment: after the server has committed, before
the client hears of it. Commands come on standard input, a line each, and are
answered with `ok` once they hold:

    drop                    reset every connection
    halfopen SECONDS        pass nothing on, say nothing, then reset (new connections wait, too)
    refuse SECONDS          accept new connections and close them
    cut_after_commit N      the next N commits take place, and their clients lose the connection instead of the answer

It ends with its standard input. On standard error, at the end: what it did, as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import struct
import sys
from collections import Counter
from pathlib import Path

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
LONGEST_STARTUP = 10_000  # bytes, as PostgreSQL has it
WRITES = (b"UPDATE", b"INSERT", b"DELETE", b"WITH")  # how a statement that commits by itself begins


class Proxy:
    """Carries messages to and fro, whole ones, so that it always knows whether a transaction is open."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.done: Counter[str] = Counter()
        self.cuts = 0  # commits still to be cut
        self.refuse_until = 0.0
        self._passing = asyncio.Event()
        self._passing.set()
        self._links: set[Link] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client's connection, until either side ends it."""
        if asyncio.get_running_loop().time() < self.refuse_until:
            self.done["refused"] += 1
            writer.transport.abort()
            return
        await self._passing.wait()
        try:
            server_reader, server_writer = await asyncio.open_unix_connection(str(self.socket))
        except OSError:  # the server is down
            writer.transport.abort()
            return
        link = Link(self, reader, writer, server_reader, server_writer)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)

    async def passing(self) -> None:
        await self._passing.wait()

    def drop(self) -> None:
        self.done["dropped"] += len(self._links)
        for link in list(self._links):
            link.reset()

    def half_open(self, seconds: float) -> None:
        self.done["halfOpened"] += len(self._links)
        self._passing.clear()
        asyncio.get_running_loop().call_later(seconds, self._reset_all, list(self._links))

    def _reset_all(self, caught: list[Link]) -> None:
        self._passing.set()
        for link in caught:
            link.reset()

    def cut(self, commits: int) -> None:
        self.cuts = commits

    def refuse(self, seconds: float) -> None:
        self.refuse_until = asyncio.get_running_loop().time() + seconds


class Link:
    def __init__(
        self,
        proxy: Proxy,
        client_reader: asyncio.StreamReader,
        client_writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server_writer: asyncio.StreamWriter,
    ) -> None:
        self.proxy = proxy
        self.client_reader, self.client_writer = client_reader, client_writer
        self.server_reader, self.server_writer = server_reader, server_writer
        self._in_transaction = False
        self._statements: dict[bytes, bool] = {}  # name of a prepared statement → whether it writes
        self._writes = False  # whether the statement at hand does
        self._cut = False  # the answer on its way is the one that the client will not get

    async def run(self) -> None:
        directions = [asyncio.ensure_future(self._to_server()), asyncio.ensure_future(self._to_client())]
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            await asyncio.gather(*directions, return_exceptions=True)
            self.reset()

    def reset(self) -> None:
        for writer in (self.client_writer, self.server_writer):
            writer.transport.abort()

    async def _to_server(self) -> None:
        if not await self._start():
            return
        while True:
            kind, body = await _message(self.client_reader)
            await self.proxy.passing()
            self._look(kind, body)
            self.server_writer.write(kind + struct.pack("!I", len(body) + 4) + body)
            await self.server_writer.drain()

    async def _start(self) -> bool:
        """The messages without a type, before the conversation proper. False for a request to cancel: there is no answer."""
        while True:
            length, code = struct.unpack("!II", await self.client_reader.readexactly(8))
            if length > LONGEST_STARTUP:
                raise ConnectionError("no PostgreSQL client")
            rest = await self.client_reader.readexactly(length - 8)
            if code in (SSL_REQUEST, GSS_REQUEST):
                self.client_writer.write(b"N")
                continue
            self.server_writer.write(struct.pack("!II", length, code) + rest)
            await self.server_writer.drain()
            return code != CANCEL_REQUEST

    def _look(self, kind: bytes, body: bytes) -> None:
        """Mark the answer to this message if it is one to be cut off."""
        if kind == b"P":  # parse: name, text
            name, _, text = body.partition(b"\0")
            self._statements[name] = self._writes = _is_write(text)
        elif kind == b"B":  # bind: portal, name of the statement
            name = body.partition(b"\0")[2].partition(b"\0")[0]
            self._writes = self._statements.get(name, False)
        commits = (kind == b"Q" and body[:-1].strip().upper() == b"COMMIT") or (
            kind == b"S" and not self._in_transaction and self._writes
        )
        if commits and self.proxy.cuts > 0:
            self.proxy.cuts -= 1
            self._cut = True

    async def _to_client(self) -> None:
        while True:
            kind, body = await _message(self.server_reader)
            if kind == b"Z":  # ready for the next question; says whether a transaction is open
                self._in_transaction = body != b"I"
                if self._cut:
                    self.proxy.done["cutAfterCommit"] += 1
                    return
            if self._cut:
                continue
            await self.proxy.passing()
            self.client_writer.write(kind + struct.pack("!I", len(body) + 4) + body)
            await self.client_writer.drain()


def _is_write(text: bytes) -> bool:
    lines = [line for line in text.split(b"\n") if line.strip() and not line.lstrip().startswith(b"--")]
    return bool(lines) and lines[0].lstrip().upper().startswith(WRITES)


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


async def obey(proxy: Proxy) -> None:
    """Do what standard input says, until it ends."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        command, *arguments = line.decode().split()
        match command:
            case "drop":
                proxy.drop()
            case "halfopen":
                proxy.half_open(float(arguments[0]))
            case "refuse":
                proxy.refuse(float(arguments[0]))
            case "cut_after_commit":
                proxy.cut(int(arguments[0]))
            case _:
                raise SystemExit(f"unknown command {command!r}")
        print("ok", flush=True)


async def serve(listen: str, folder: Path) -> None:
    host, _, port = listen.rpartition(":")
    proxy = Proxy(folder / ".s.PGSQL.5432")
    server = await asyncio.start_server(proxy.serve, host, int(port))
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await obey(proxy)
    proxy.drop()
    print(json.dumps(proxy.done), file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", default="127.0.0.1:0")
    parser.add_argument("--to", type=Path, required=True, help="the folder of PostgreSQL's socket")
    options = parser.parse_args()
    asyncio.run(serve(options.listen, options.to))


if __name__ == "__main__":
    main()
