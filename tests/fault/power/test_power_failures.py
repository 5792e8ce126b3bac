"""The power fails while threads write: a file system that writes nothing any more, then mounted again.

The image of a file system is mounted from a file. Its shutdown ioctl drops what the kernel has not written to it, as a
power failure does; what the disk itself holds back is not part of this.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commonplace.store import open_store
from fault.test_store_kills import BEGIN, THREADS, Told, check, start, told
from support import Amount, new_repo

SHUTDOWN = 0x8004587D
"""`EXT4_IOC_SHUTDOWN` of Linux."""
WITHOUT_JOURNAL_FLUSH = struct.pack("I", 2)
IMAGE_BYTES = 192 * 1024 * 1024
CAN_MOUNT = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("mkfs.ext4") and Path("/dev/loop0").exists()


@pytest.mark.soak
@pytest.mark.skipif(not CAN_MOUNT, reason="needs root, ext4 and loop devices")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("journal", ["journal", "no journal"])
def test_a_power_failure_takes_no_acknowledged_write_and_leaves_a_sound_repository(
    journal: str, tmp_path: Path, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    image, disk = tmp_path / "image", tmp_path / "disk"
    image.touch()
    os.truncate(image, IMAGE_BYTES)
    feature = "has_journal" if journal == "journal" else "^has_journal"
    subprocess.run(["mkfs.ext4", "-q", "-F", "-O", feature, str(image)], check=True)
    disk.mkdir()
    chance = random.Random(journal)
    writes: list[Told] = []
    flushes = 0
    with _mounted(image, disk):
        repo = new_repo(disk / "repo", BEGIN)
        os.sync()
    for number in range(amount(1, 15)):
        with _mounted(image, disk):
            acknowledged = _write_until_power_fails(disk, f"round {number}", chance)
        flushes += max(int(str(write["flushes"])) for write in acknowledged)
        writes += acknowledged
        with _mounted(image, disk):
            before = repo.git("fsck", "--strict", "--no-dangling")
            assert before == "", f"round {number}, before commonplace started: {before}"
            store = open_store(repo.path, commit="auto", state_dir=disk / "state")
            store.recover()
            assert store.recover() == []
            check(repo.path, writes, repo)
    record_property("writes", len(writes))
    record_property("flushes", flushes)


def _write_until_power_fails(disk: Path, name: str, chance: random.Random) -> list[Told]:
    """The acknowledgements that several threads received until the file system was cut off."""
    writer = start(disk / "repo", disk / "state", "auto", name, 0, THREADS)
    assert writer.stdout
    lines = [writer.stdout.readline() for _ in range(chance.randrange(10, 60))]
    descriptor = os.open(disk, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, SHUTDOWN, WITHOUT_JOURNAL_FLUSH)
    finally:
        os.close(descriptor)
    output, _ = writer.communicate(timeout=60)
    assert writer.returncode != 0, "the writer did not notice that nothing is written any more"
    return told("".join(lines) + output)


@contextmanager
def _mounted(image: Path, disk: Path) -> Generator[None]:
    subprocess.run(["mount", "-o", "loop", str(image), str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(disk)], check=True)
