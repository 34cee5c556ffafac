"""Which files this process may read, by Landlock (Linux 5.13 and later): the rest of the disk is not there for it.

Numbers: Linux `include/uapi/linux/landlock.h`; the calls have the same numbers on all machines.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # landlock_create_ruleset, landlock_add_rule, landlock_restrict_self
_PATH_BENEATH = 1
_ASK_VERSION = 1 << 0  # LANDLOCK_CREATE_RULESET_VERSION
_PR_SET_NO_NEW_PRIVS = 38
_READ_FILE, _READ_DIRECTORY = 1 << 2, 1 << 3
_EVERYTHING = (1 << 13) - 1  # what the first version of Landlock knows: reading, writing, making and removing


class _Ruleset(ctypes.Structure):
    _fields_ = [("handled", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def is_available() -> bool:
    """Whether this kernel has Landlock switched on."""
    return sys.platform == "linux" and bool(ctypes.CDLL(None).syscall(_CREATE, None, 0, _ASK_VERSION) > 0)


def restrict(readable: Iterable[str]) -> bool:
    """Allow reading below the folders and of the files `readable`, and nothing else, for good; False where there is no
    Landlock.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    attributes = _Ruleset(_EVERYTHING)
    ruleset = libc.syscall(_CREATE, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(libc, ruleset, path)
        return not libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) and not libc.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not on this machine
    try:
        allowed = _READ_FILE | (_READ_DIRECTORY if os.path.isdir(path) else 0)
        rule = _Beneath(allowed, opened)
        libc.syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)
