"""A stand-in for `indexing.parsers.child` whose parser does what the file's content says. Only tests start it."""

from __future__ import annotations

import ctypes
import importlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from indexing.blocks import ParsedDocument
from indexing.errors import DocumentEncrypted
from indexing.parsers import child
from indexing.parsers.scans import ScannedPage, Scans


def parse(content: bytes, media_type: str, file_name: str, scans: Scans) -> ParsedDocument:
    deed, _, argument = content.decode().partition(" ")
    match deed:
        case "eat":
            hoard = []
            while True:
                hoard.append(bytes(10_000_000))
        case "loop":
            while True:
                pass
        case "sleep":
            time.sleep(3600)
        case "scans":
            pages, seconds = map(float, argument.split())
            for number in range(1, int(pages) + 1):
                scans.read(number, lambda number=number: _read_slowly(number, seconds))
        case "exit":
            os._exit(int(argument))
        case "abort":
            os.abort()
        case "raise":
            raise RuntimeError(f"secret text of the document in {file_name}")
        case "refuse":
            raise DocumentEncrypted("Ask the author.")
        case "print":
            print("noise from a library")
            os.write(1, b"more noise")
        case "spawn":
            grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
            with open(argument, "w") as note:
                note.write(str(grandchild.pid))
            while True:
                time.sleep(1)
        case "note":
            with open(argument, "w") as note:
                note.write(str(os.getpid()))
            while True:
                time.sleep(1)
        case "python" | "machine":
            return ParsedDocument(media_type, _attempted(DEEDS[deed, argument.partition(" ")[0]], argument), ())
        case "environment":
            return ParsedDocument(media_type, "\n".join(sorted(os.environ)), ())
        case "descriptors":
            return ParsedDocument(media_type, " ".join(map(str, filter(_is_open, range(64)))), ())
        case "parent":
            return ParsedDocument(media_type, str(os.getppid()), ())
        case "remember":
            known, os.environ["REMEMBERED"] = os.environ.get("REMEMBERED", "nothing"), argument
            return ParsedDocument(media_type, known, ())
        case "limits":
            import resource

            names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_CORE", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_NPROC")
            limits = [resource.getrlimit(getattr(resource, name))[0] for name in names]
            return ParsedDocument(media_type, " ".join(map(str, limits)), (), title=file_name)
    return ParsedDocument(media_type, "parsed", ())


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _read_slowly(number: int, seconds: float) -> ScannedPage:
    """That many of the processor's."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return ScannedPage(number)


def _attempted(deed: Callable[[str], object], argument: str) -> str:
    """“done”, or how the deed failed."""
    try:
        deed(argument.partition(" ")[2])
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def _call(number: int, *arguments: object) -> int:
    """A system call without Python knowing. Raises `OSError`."""
    result: int = LIBC.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _name(path: str) -> ctypes.c_char_p:
    return ctypes.c_char_p(path.encode())


LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
X86 = os.uname().machine == "x86_64"
# What a hostile file may want, first through Python, then as machine code would do it.
DEEDS: dict[tuple[str, str], Callable[[str], object]] = {
    ("python", "connect"): lambda port: socket.create_connection(("127.0.0.1", int(port)), timeout=5),
    ("python", "resolve"): lambda name: socket.getaddrinfo(name, 80),
    ("python", "datagram"): lambda port: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(port))),
    ("python", "unix"): lambda path: socket.socket(socket.AF_UNIX).connect(path),
    ("python", "run"): lambda _: subprocess.run([sys.executable, "-c", ""]),
    ("python", "system"): lambda command: os.system(command),
    ("python", "fork"): lambda _: os.fork() or os._exit(0),
    ("python", "write"): lambda path: Path(path).write_text("x"),
    ("python", "read"): lambda path: Path(path).read_text(),
    ("python", "remove"): lambda path: os.remove(path),
    ("python", "import"): lambda name: importlib.import_module(name),
    ("python", "kill"): lambda pid: os.kill(int(pid), 0),
    ("machine", "socket"): lambda _: _call(41 if X86 else 198, socket.AF_INET, socket.SOCK_STREAM, 0),
    ("machine", "unix"): lambda _: _call(41 if X86 else 198, socket.AF_UNIX, socket.SOCK_STREAM, 0),
    ("machine", "pair"): lambda _: _call(53 if X86 else 199, socket.AF_UNIX, socket.SOCK_STREAM, 0, (ctypes.c_int * 2)()),
    ("machine", "fork"): lambda _: _call(56 if X86 else 220, 17, 0, 0, 0, 0) or os._exit(0),
    ("machine", "clone3"): lambda _: _call(435, (ctypes.c_uint64 * 11)(), 88),
    ("machine", "exec"): lambda _: _call(59 if X86 else 221, _name("/bin/true"), None, None),
    ("machine", "write"): lambda path: _call(257 if X86 else 56, AT_FDCWD, _name(path), os.O_WRONLY | os.O_CREAT, 0o600),
    ("machine", "read"): lambda path: _call(257 if X86 else 56, AT_FDCWD, _name(path), os.O_RDONLY, 0),
    ("machine", "open-how"): lambda path: _call(437, AT_FDCWD, _name(path), (ctypes.c_uint64 * 3)(), 24),
    ("machine", "remove"): lambda path: _call(263 if X86 else 35, AT_FDCWD, _name(path), 0),
    ("machine", "kill"): lambda pid: _call(62 if X86 else 129, int(pid), 0),
    ("machine", "trace"): lambda _: _call(101 if X86 else 117, 0, 0, 0, 0),
    ("machine", "limits"): lambda pid: _call(302 if X86 else 261, int(pid), 7, (ctypes.c_uint64 * 2)(9, 9), None),
    ("machine", "rings"): lambda _: _call(425, 4, (ctypes.c_uint32 * 30)()),
    ("machine", "namespace"): lambda _: _call(272 if X86 else 97, 0x10000000),
    ("machine", "memory-file"): lambda _: _call(319 if X86 else 279, _name("x"), 0),
    ("machine", "bpf"): lambda _: _call(321 if X86 else 280, 0, None, 0),
    ("machine", "x32"): lambda _: _call(0x40000000 + 41, socket.AF_INET, socket.SOCK_STREAM, 0),
}  # fmt: skip

if __name__ == "__main__":
    child.parse = parse
    child.main()
