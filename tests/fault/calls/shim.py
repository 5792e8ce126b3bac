"""Making a chosen system call of a process fail: the shim beside this file, compiled, and its control from outside."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from support import ROOT

SOURCE = Path(__file__).with_name("shim.c")
KINDS = ("open", "make", "read", "write", "sync", "rename", "remove", "folder", "look", "list", "lock", "close",
         "size", "mode", "map")  # fmt: skip
"""Kinds of calls in the order of the shim's own list; `make` opens with O_CREAT, `rename` includes link."""
CHANGING = ("make", "write", "sync", "rename", "remove", "folder", "size", "mode")
GROWING = ("make", "write", "sync", "rename", "folder", "size")
"""Kinds of calls that need space on a disk."""
GUARDED = ("open", "make", "rename", "remove", "folder", "look", "list", "lock", "mode", "map")
"""Kinds of calls that need permissions."""
SLOW = ("open", "make", "read", "write", "sync", "lock", "size")
"""Kinds of calls that a signal can interrupt."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail."""

    name: str
    error: int
    """An errno; 0: a write takes half of its bytes."""
    kinds: Sequence[str]
    lasting: bool
    """Whether every later call fails too."""


FAULTS = (
    Fault("EIO", errno.EIO, KINDS, lasting=False),
    Fault("EIO from then on", errno.EIO, CHANGING, lasting=True),
    Fault("ENOSPC", errno.ENOSPC, GROWING, lasting=False),
    Fault("ENOSPC from then on", errno.ENOSPC, ("make", "write", "folder", "size"), lasting=True),
    Fault("EACCES", errno.EACCES, GUARDED, lasting=False),
    Fault("EACCES from then on", errno.EACCES, ("make", "rename", "remove", "folder"), lasting=True),
    Fault("EINTR", errno.EINTR, SLOW, lasting=False),
    Fault("short write", 0, ("write",), lasting=False),
    Fault("short writes from then on", 0, ("write",), lasting=True),
)


class _Control(ctypes.Structure):
    _fields_ = (
        ("armed", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("kinds", ctypes.c_uint32),
        ("lasting", ctypes.c_int32),
        ("at", ctypes.c_int64),
        ("counted", ctypes.c_int64),
        ("fired", ctypes.c_int64),
        ("scope", ctypes.c_char * 512 * 4),
        ("where", ctypes.c_char * 1024),
    )


class Shim:
    """The control of a preloaded shim; in the process itself or in another one.

    Args:
        path: The control file; made when it is missing.
    """

    def __init__(self, path: Path) -> None:
        size = ctypes.sizeof(_Control)
        if not path.exists():
            path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), size)
        self._control = _Control.from_buffer(self._map)

    def arm(self, fault: Fault, at: int, scope: Sequence[Path]) -> None:
        """Let the call fail that is the `at`-th (from 0) of the fault's kinds below one of the folders."""
        control = self._control
        control.error, control.lasting = fault.error, fault.lasting
        control.kinds = sum(1 << KINDS.index(kind) for kind in fault.kinds)
        control.at, control.counted, control.fired, control.where = at, 0, 0, b""
        for number in range(4):
            control.scope[number].value = os.fsencode(scope[number]) if number < len(scope) else b""
        control.armed = 1

    def disarm(self) -> None:
        """All calls work again."""
        self._control.armed = 0

    @property
    def fired(self) -> int:
        """Number of calls that have failed since the shim was armed."""
        return self._control.fired

    @property
    def counted(self) -> int:
        """Number of calls that the shim has examined since it was armed."""
        return self._control.counted

    @property
    def where(self) -> str:
        """The first call that failed, with its place."""
        return self._control.where.decode(errors="replace")


def compiler() -> str | None:
    """The C compiler of this machine."""
    return shutil.which("cc") or shutil.which("gcc")


def compiled() -> Path:
    """The shim as a library, compiled once for each state of its source."""
    command = compiler()
    assert command, "a C compiler is needed: apt-get install gcc libc6-dev"
    library = ROOT / ".cache" / f"shim-{sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    if not library.exists():
        library.parent.mkdir(exist_ok=True)
        beside = library.with_suffix(f".{os.getpid()}")
        subprocess.run([command, "-O1", "-shared", "-fPIC", "-o", beside, SOURCE, "-ldl"], check=True)
        beside.rename(library)
    return library
