"""File systems that are flushed with one call, and those that are flushed file by file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.store.disk.durable import FlushMethod, KernelFiles, flush_whole, is_whole_quicker, method_of, write_out

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
28 27 254:1 / /bare rw,relatime - ext4 /dev/vdb rw
29 27 254:2 / /old rw - ext2 /dev/vdc rw
30 27 254:3 / /x rw - xfs /dev/vdd rw
31 27 0:40 / /b rw - btrfs /dev/vde rw
32 27 0:41 / /n rw - nfs4 server:/share rw
33 27 0:42 / /f rw - fuse.sshfs host rw
"""
NEVER_OPEN = 2**30
"""A descriptor above every limit. The number of one that was closed may be another thread's by now."""
ROOT, BARE, OLD, XFS = (os.makedev(254, minor) for minor in range(4))


@pytest.fixture
def kernel(tmp_path: Path) -> KernelFiles:
    """Files of a kernel on which `/` has a journal and `/bare` has none."""
    for number, name in (("254:0", "vda"), ("254:1", "vdb")):
        (tmp_path / "hardware" / name).mkdir(parents=True)
        (tmp_path / "devices").mkdir(exist_ok=True)
        (tmp_path / "devices" / number).symlink_to(tmp_path / "hardware" / name)
    (tmp_path / "journals" / "vda-8").mkdir(parents=True)
    (tmp_path / "mounts").write_text(MOUNTS)
    names = ("mounts", "journals", "devices", "memory")
    return KernelFiles(*(tmp_path / name for name in names))


@pytest.mark.parametrize(
    ("device", "release", "expected"),
    [
        (ROOT, "6.1.0-13-amd64", FlushMethod.ORDERED),
        (XFS, "3.10.0", FlushMethod.ORDERED),
        (BARE, "6.1.0-13-amd64", FlushMethod.WHOLE),
        (OLD, "5.8.0", FlushMethod.WHOLE),
        (BARE, "5.7.19", FlushMethod.EACH),
        (os.makedev(0, 40), "6.1.0", FlushMethod.EACH),
        (os.makedev(0, 41), "6.1.0", FlushMethod.EACH),
        (os.makedev(0, 42), "6.1.0", FlushMethod.EACH),
        (os.makedev(9, 9), "6.1.0", FlushMethod.EACH),
    ],
)
def test_the_file_system_decides(kernel: KernelFiles, device: int, release: str, expected: FlushMethod) -> None:
    assert method_of(device, kernel, release) is expected


def test_where_the_kernel_shows_nothing_every_file_is_flushed(tmp_path: Path) -> None:
    nothing = KernelFiles(*[tmp_path / "none"] * 4)
    assert method_of(ROOT, nothing) is FlushMethod.EACH
    assert not is_whole_quicker(1000, nothing)


def test_the_whole_is_flushed_while_programs_have_written_little(kernel: KernelFiles) -> None:
    kernel.memory.write_text("MemTotal: 1 kB\nDirty:  16000 kB\nWriteback:  2000 kB\nWritebackTmp: 900000 kB\n")
    assert is_whole_quicker(3, kernel)
    kernel.memory.write_text("Dirty:  20000 kB\nWriteback:  5000 kB\n")
    assert not is_whole_quicker(3, kernel)
    assert is_whole_quicker(20, kernel)


def test_data_is_written_out_and_a_file_that_is_closed_is_an_error(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"text")
    write_out(descriptor)
    flush_whole(descriptor)
    os.close(descriptor)
    for flush in (write_out, flush_whole):
        with pytest.raises(OSError, match="Bad file descriptor"):
            flush(NEVER_OPEN)
    reading, writing = os.pipe()
    for end in (reading, writing):
        with pytest.raises(OSError, match="Invalid argument"):  # of the fsync: a pipe has no pages
            write_out(end)
        os.close(end)
