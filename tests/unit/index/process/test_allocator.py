"""The C library's allocator, in processes of their own: what is set in one cannot be taken back."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator is set")

PROGRAM = """
import ctypes, sys, threading
from commonplace.index.process import tune_allocator
if sys.argv[1] == "low":
    tune_allocator()
everybody = threading.Barrier(8)
def work():
    held = bytes(5_000)
    everybody.wait()
    del held
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[2].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""


def arenas(setting: str, report: Path) -> int:
    """Number of arenas in a process with eight threads."""
    subprocess.run([sys.executable, "-c", PROGRAM, setting, report], check=True, timeout=60)
    return report.read_text().count("<heap nr=")


def test_threads_share_arenas(tmp_path: Path) -> None:
    assert arenas("low", tmp_path / "low") <= 2 < arenas("usual", tmp_path / "usual")
