"""A filter of system calls for this process, set without any privilege (Linux on x86_64 and aarch64).

An allow-list: what reading files, computing and answering needs. Everything else fails with EPERM: sockets of every kind,
new processes and programs, files opened to be written, signals to others, tracing, io_uring, and what kernels add later.

Numbers: Linux `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h`. The filter's form:
Linux `Documentation/userspace-api/seccomp_filter.rst`, `include/uapi/linux/{filter,seccomp,audit}.h`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_…
_FORBIDDEN_TO_OPEN = 0o1 | 0o2 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC; the same on both

# name: (x86_64, aarch64); None where the machine has no such call.
_ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67), "lseek": (8, 62),
    "close": (3, 57), "dup": (32, 23), "poll": (7, None), "ppoll": (271, 73), "fadvise64": (221, 223),
    "stat": (4, None), "lstat": (6, None), "fstat": (5, 80), "newfstatat": (262, 79), "statx": (332, 291),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None),
    "readlinkat": (267, 78), "getcwd": (79, 17), "getdents64": (217, 61),
    "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226), "madvise": (28, 233),
    "brk": (12, 214), "membarrier": (324, 283),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293),
    "arch_prctl": (158, None), "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "getcpu": (309, 168),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153), "getrusage": (98, 165),
    "getrlimit": (97, 163), "uname": (63, 160), "sysinfo": (99, 179), "getrandom": (318, 278),
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
_OPEN: dict[str, tuple[int | None, int | None]] = {"open": (2, None), "openat": (257, 56)}
_PRLIMIT = {"prlimit64": (302, 261)}

_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06  # BPF opcodes
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # SECCOMP_RET_…; 1 is EPERM
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data; arguments are 8 bytes each
_X32 = 0x40000000  # the bit of x86_64's third set of numbers

_PR_SET_NO_NEW_PRIVS, _PR_GET_SECCOMP, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 21, 22, 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def is_supported() -> bool:
    """Whether there is a filter for this machine."""
    return sys.platform == "linux" and os.uname().machine in _ARCHITECTURES


def is_available() -> bool:
    """Whether this machine has filters of system calls, and a filter is written for it."""
    return is_supported() and bool(ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0)


def restrict() -> bool:
    """Set the filter for good, for this process and all it might start; False where the kernel has no such thing."""
    if not is_supported():
        return False
    code = program(os.uname().machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl = ctypes.CDLL(None).prctl
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return not prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0)


def program(machine: str) -> bytes:
    """The filter as the kernel takes it: instructions of 8 bytes."""
    column = list(_ARCHITECTURES).index(machine)
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, _ARCHITECTURES[machine], hit=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, miss=1),
        _step(_RETURN, _REFUSE),
    ]
    for number in _numbers(_ALLOWED, column):
        code += [_step(_EQUAL, number, miss=1), _step(_RETURN, _ALLOW)]
    for name, numbers in _OPEN.items():
        opening = numbers[column]
        if opening is None:
            continue
        flags = _ARGUMENTS + 8 * (1 if name == "open" else 2)
        code += [
            _step(_EQUAL, opening, miss=4),
            _step(_LOAD, flags),
            _step(_ANY_BIT, _FORBIDDEN_TO_OPEN, miss=1),
            _step(_RETURN, _REFUSE),
            _step(_RETURN, _ALLOW),
        ]
    for number in _numbers(_PRLIMIT, column):  # to look at a limit, not to set one, of whatever process
        new = _ARGUMENTS + 8 * 2
        code += [
            _step(_EQUAL, number, miss=5),
            _step(_LOAD, new),
            _step(_EQUAL, 0, miss=3),
            _step(_LOAD, new + 4),
            _step(_EQUAL, 0, miss=1),
            _step(_RETURN, _ALLOW),
        ]
    code.append(_step(_RETURN, _REFUSE))
    return b"".join(code)


def _numbers(calls: dict[str, tuple[int | None, int | None]] | dict[str, tuple[int, int]], column: int) -> list[int]:
    return [number for numbers in calls.values() if (number := numbers[column]) is not None]


def _step(opcode: int, operand: int, *, hit: int = 0, miss: int = 0) -> bytes:
    """One instruction; `hit` and `miss` say how many are skipped after a comparison."""
    return struct.pack("=HBBI", opcode, hit, miss, operand)
