"""Closes a parser's process off before it sees the file: no network, no other programs, nothing written, few files read.

Two locks of the kernel (`seccomp`, `landlock`) hold against machine code too. The third, Python's audit hook, holds only
against Python code: it stands behind the others on Linux, and alone on other systems.
"""

from __future__ import annotations

import mimetypes
import os
import sys
from functools import cache

from indexing.parsers import landlock, seccomp

_CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
# Libraries where systems have them; nothing that belongs to a person or to this site.
_LIBRARIES = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/System/Library"),
    *("/etc/ld.so.cache", "/dev/null", "/dev/urandom"),
    *map(str, mimetypes.knownfiles),  # lists of media types, which libraries ask for when they are imported
)
# For drawing only: a parser measures letters, and what it finds must not depend on the fonts of a machine.
_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/X11/fonts")
_REFUSED = (
    *(
        "socket.",
        "subprocess.",
        "os.exec",
        "os.fork",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "os.kill",
    ),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown"),
    *(
        "shutil.",
        "tempfile.",
        "urllib.",
        "http.",
        "ftplib.",
        "smtplib.",
        "pty.",
        "resource.setrlimit",
        "signal.pthread_kill",
    ),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def missing_locks() -> list[str]:
    """Which locks of the kernel this machine does not have. Without them a parser that a file made run machine code can do
    what the worker's user can."""
    locks = {"seccomp": seccomp.is_available(), "Landlock": landlock.is_available()}
    return [name for name, available in locks.items() if not available]


def lock_down(*, with_fonts: bool = False) -> None:
    """For good. Python's modules can still be imported, and the system's fonts read if that is asked for."""
    readable = [*_readable(), *(_FONTS if with_fonts else ())]
    landlock.restrict(readable)
    seccomp.restrict()
    roots = tuple(os.path.realpath(path) for path in readable)

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            _refuse_open(arguments, roots)
        elif event.startswith(_REFUSED):
            raise PermissionError(f"a parser may not do this: {event}")

    sys.addaudithook(refuse)


def _readable() -> list[str]:
    """Python, its packages wherever they are installed, and the parsers' own code; not the folder around it, where a site's
    settings are, nor one around that."""
    own = [os.path.join(_CODE, "indexing"), os.path.join(_CODE, "documents")]
    packages = [path for path in map(os.path.realpath, sys.path) if os.path.commonpath([path, _CODE]) != path]
    return [*own, sys.prefix, sys.base_prefix, *packages, *_LIBRARIES]


def _refuse_open(arguments: tuple[object, ...], roots: tuple[str, ...]) -> None:
    path, _, flags = arguments
    if not isinstance(path, str | bytes | os.PathLike):
        return  # a descriptor that is open already
    if isinstance(flags, int) and flags & _WRITING:
        raise PermissionError("a parser may not write files")
    name = os.fsdecode(path)
    if not _is_below(os.path.dirname(name), roots) and os.path.realpath(name) not in roots:
        raise PermissionError("a parser may not read this file")


@cache  # an import opens dozens of files of one folder
def _is_below(folder: str, roots: tuple[str, ...]) -> bool:
    real = os.path.realpath(folder)
    return any(real == root or real.startswith(f"{root}{os.sep}") for root in roots)
