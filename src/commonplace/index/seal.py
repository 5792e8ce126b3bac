"""Checksums of an index's files: damage is noticed that SQLite and Tantivy would serve.

Tantivy ends each file of a segment, which never changes, with a checksum, and never checks it. The other files get
theirs from the process that closes the index last. All stand in the seal, those of files that change with the size and
the time of modification to which they belong. Such a file of the same time and other bytes is damaged; one of another
time has been written since, and is not judged.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from zlib import crc32

SEAL_FILE = "seal.json"
CHECK_SECONDS = 3600.0
"""Age in seconds from which a seal is checked when the index is opened. Reading 100 MB takes some 50 CPU ms."""

_BLOCK = 1 << 20
_META = "meta.json"
_FOOTER_TAIL = 8
"""Bytes after the footer's JSON: its length, and a constant."""
_MAX_FOOTER = 4096
_SEGMENT_SUFFIXES = (".idx", ".pos", ".term", ".store", ".fast", ".fieldnorm")


class BrokenSealError(sqlite3.DatabaseError):
    """A file of the index has other bytes than were written."""


def check_seal(catalogue: Path, fulltext: Path) -> None:
    """Check the files of an index, if that was not done within `CHECK_SECONDS`. Nothing is written but the time.

    Args:
        catalogue: The database file; the seal is beside it.
        fulltext: Folder of the full text.

    Raises:
        BrokenSealError: a file is damaged.
        FileNotFoundError: a file of a segment is missing.
    """
    seal = catalogue.parent / SEAL_FILE
    with suppress(FileNotFoundError):
        if 0 <= time.time() - seal.stat().st_mtime < CHECK_SECONDS:
            return
    sealed = _sealed(seal)
    for name, file in _changing_files(catalogue, fulltext):
        expected = sealed.get(name)
        if expected and expected[1] == _mtime(file) and _checksum(file) not in (expected, None):
            raise BrokenSealError(f"{name} is not as it was written")
    for name, file in _segment_files(fulltext):
        content = file.read_bytes()
        checksum, length = _footer(content)
        if checksum != crc32(memoryview(content)[:length]) or sealed.get(name, checksum) != checksum:
            raise BrokenSealError(f"a file of the full text ({file.suffix}) is not as it was written")
    with suppress(OSError):
        os.utime(seal)


def write_seal(catalogue: Path, fulltext: Path) -> None:
    """Write the checksums of the files, unless a process has the index open, or nothing has changed."""
    seal = catalogue.parent / SEAL_FILE
    with suppress(OSError, BrokenSealError):  # an index without a seal is an index
        if catalogue.with_name(f"{catalogue.name}-wal").exists():
            return
        files = dict(_changing_files(catalogue, fulltext))
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            stored = json.loads(seal.read_bytes())
            if all(stored[name][1] == _mtime(file) for name, file in files.items()):
                return
        checksums: dict[str, list[int] | int | None] = {name: _checksum(file) for name, file in files.items()}
        for name, file in _segment_files(fulltext):
            with file.open("rb") as stream:
                stream.seek(max(0, file.stat().st_size - _MAX_FOOTER))
                checksums[name] = _footer(stream.read())[0]
        if None not in checksums.values():
            beside = seal.with_name(f"{SEAL_FILE}.{os.getpid()}")
            beside.write_text(json.dumps(checksums), encoding="utf-8")
            beside.replace(seal)


def _sealed(seal: Path) -> dict[str, Any]:
    """The checksums of a seal; none if there is no seal."""
    try:
        stored = json.loads(seal.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BrokenSealError("its seal is damaged") from error
    if not isinstance(stored, dict):
        raise BrokenSealError("its seal is damaged")
    return cast("dict[str, Any]", stored)


def _changing_files(catalogue: Path, fulltext: Path) -> Iterator[tuple[str, Path]]:
    yield catalogue.name, catalogue
    for part in ("documents", "sections"):
        yield f"{part}/{_META}", fulltext / part / _META


def _mtime(file: Path) -> int:
    return file.stat().st_mtime_ns


def _checksum(file: Path) -> list[int] | None:
    """Size in bytes, time of modification in ns, and checksum of a file; None if it was written meanwhile."""
    with file.open("rb", buffering=0) as stream:
        before = os.fstat(stream.fileno())
        checksum = 0
        while block := stream.read(_BLOCK):
            checksum = crc32(block, checksum)
        after = os.fstat(stream.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        return None
    return [after.st_size, after.st_mtime_ns, checksum]


def _segment_files(fulltext: Path) -> Iterator[tuple[str, Path]]:
    """The files of the committed segments; others may be unfinished."""
    for part in ("documents", "sections"):
        try:
            segments: list[dict[str, Any]] = json.loads((fulltext / part / _META).read_bytes())["segments"]
            for segment in segments:
                stem = str(segment["segment_id"]).replace("-", "")
                deletes = segment["deletes"]
                suffixes = [*_SEGMENT_SUFFIXES, *([f".{deletes['opstamp']}.del"] if deletes else [])]
                yield from ((f"{part}/{stem}{suffix}", fulltext / part / f"{stem}{suffix}") for suffix in suffixes)
        except (ValueError, KeyError, TypeError) as error:
            raise BrokenSealError("the list of the full text's segments is damaged") from error


def _footer(content: bytes) -> tuple[int | None, int]:
    """The checksum that Tantivy has written at the end of a file, None if there is none, and how long the rest is."""
    length = int.from_bytes(content[-_FOOTER_TAIL : -_FOOTER_TAIL + 4], "little")
    end = max(0, len(content) - _FOOTER_TAIL - length)
    try:
        return int(json.loads(content[end:-_FOOTER_TAIL])["crc"]), end
    except (ValueError, KeyError, TypeError):
        return None, 0
