"""The log of reads and writes on this machine, and what each key has written in the last hour.

The log has one file for each day, of one JSON object a line. Files older than `KEPT_DAYS` are removed.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import cast

from commonplace.domain.activity import KEPT_DAYS, Access, Actor, FaceName, HourlyUse
from commonplace.domain.private_files import private_folder

log = logging.getLogger(__name__)

HOUR = 3_600.0
SUFFIX = ".jsonl"
AUDITED = frozenset({"address", "folder"})
"""Names that only the log of writes has."""
MAX_FILES = 1_000
"""Maximum number of files of a write that are listed; without a commit those of a larger one are not."""
_FACES: Mapping[str, FaceName] = {"mcp": "mcp", "rest": "rest", "web": "web", "cli": "cli", "lsp": "lsp"}


class FileAccessLog:
    """`domain.activity.AccessLog` in a folder.

    Args:
        folder: The folder; created by the first entry.
        clock: Returns the time in Unix seconds.
        audit: The folder of the log of writes; None for none. Its files are appended to, and never removed.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time, audit: Path | None = None) -> None:
        self._folder = folder
        self._clock = clock
        self._audit = audit
        self._day = ""
        """Day of the last entry, at whose beginning old files are removed."""

    def add(self, access: Access) -> None:
        """Append a read or write."""
        try:
            if self._audit is not None and access.is_write:
                private_folder(self._audit)
                _append(self._audit / f"{_day_of(access.when)}{SUFFIX}", _row(access))
            day = _day_of(access.when)
            if day != self._day:
                private_folder(self._folder)
                self._remove_old()
                self._day = day
            row = _row(access)
            _append(self._folder / f"{day}{SUFFIX}", {name: row[name] for name in row if name not in AUDITED})
        except OSError as error:
            log.warning("activity cannot be recorded: %s", error.strerror or type(error).__name__)

    def accesses(self, bases: Sequence[str], since: float = 0.0) -> Sequence[Access]:
        """The reads and writes of these stores, oldest first."""
        first = _day_of(max(since, self._clock() - KEPT_DAYS * 24 * HOUR))
        wanted_bases = frozenset(bases)
        accesses = [
            access
            for path in self._files()
            if path.stem >= first
            for access in _accesses_in(path)
            if access.base in wanted_bases and access.when >= since
        ]
        return sorted(accesses, key=lambda access: access.when)

    def writes(self, since: float = 0.0) -> Sequence[Access]:
        """The log of writes of all stores, oldest first."""
        files = sorted(self._audit.glob(f"*{SUFFIX}")) if self._audit is not None else []
        written = (access for path in files if path.stem >= _day_of(since) for access in _accesses_in(path))
        return sorted((access for access in written if access.when >= since), key=lambda access: access.when)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob(f"*{SUFFIX}"))

    def _remove_old(self) -> None:
        first = _day_of(self._clock() - KEPT_DAYS * 24 * HOUR)
        for path in self._files():
            if path.stem < first:
                path.unlink(missing_ok=True)


def _append(path: Path, row: Mapping[str, object]) -> None:
    line = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # a long line may be written in parts
        file.write(line)


def _day_of(when: float) -> str:
    return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=when)).strftime("%Y-%m-%d")


def _row(access: Access) -> dict[str, object]:
    """An access as JSON, without what is empty."""
    row: dict[str, object] = {"when": round(access.when, 3), "base": access.base}
    row |= {name: value for name, value in asdict(access.actor).items() if value}
    own = (("folder", access.name), ("read", access.read), ("commit", access.commit), ("proposal", access.proposal))
    row |= {name: value for name, value in own if value}
    if access.files is None and access.paths:
        row["paths"] = list(access.paths[:MAX_FILES])
    elif access.files is not None and len(access.files) <= MAX_FILES:
        row["files"] = {path: list(pair) for path, pair in access.files.items()}
    return row


def _accesses_in(path: Path) -> Iterator[Access]:
    with suppress(OSError), path.open("rb") as file:
        for line in file:
            with suppress(
                ValueError, KeyError, TypeError, AttributeError
            ):  # a line that was cut when the disk was full
                yield _access(cast("Mapping[str, object]", json.loads(line)))


def _access(row: Mapping[str, object]) -> Access:
    def text(name: str) -> str:
        return str(row.get(name, ""))

    actor = Actor(
        face=_FACES[text("face")],
        session=text("session"),
        caller=text("caller"),
        name=text("name"),
        client=text("client"),
        tool=text("tool"),
        address=text("address"),
    )
    files = cast("Mapping[str, Sequence[str]] | None", row.get("files"))
    return Access(
        when=float(cast("float", row["when"])),
        actor=actor,
        base=text("base"),
        name=text("folder"),
        read=tuple(map(str, cast("Sequence[object]", row.get("read", ())))),
        commit=text("commit"),
        proposal=text("proposal"),
        paths=tuple(map(str, cast("Sequence[object]", row.get("paths") or files or ()))),
        files={path: (old, new) for path, (old, new) in files.items()} if files is not None else None,
    )


class FileHourlyUses:
    """`domain.activity.HourlyUses`, with a file for each key.

    Args:
        folder: The folder of the files.
        clock: Returns the time in Unix seconds.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    def reserve(self, caller: str, pages: int, size: int, check: Callable[[HourlyUse], None]) -> Callable[[], None]:
        """Count a write, unless `check` raises for what was written before; returns what takes it back."""
        with self._rows(caller) as rows:
            now = self._clock()  # under the lock: no row of another process is later
            recent = [row for row in rows if now - HOUR < row[0] <= now]
            until = HOUR - (now - recent[0][0]) if recent else 0.0
            check(HourlyUse(sum(int(row[1]) for row in recent), sum(int(row[2]) for row in recent), until))
            rows[:] = [*recent, (now, pages, size)]

        def release() -> None:
            with self._rows(caller) as rows, suppress(ValueError):
                rows.remove((now, pages, size))

        return release

    @contextmanager
    def _rows(self, caller: str) -> Generator[list[tuple[float, int, int]]]:
        """The times, files and bytes of a key's writes, which are stored again at the end of the block."""
        private_folder(self._folder)
        path = self._folder / f"hour-{sha256(caller.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            rows = _rows_in(file.read())
            yield rows
            file.seek(0)
            file.truncate()
            json.dump(rows, file)


def _rows_in(text: str) -> list[tuple[float, int, int]]:
    try:
        return [(float(when), int(pages), int(size)) for when, pages, size in json.loads(text or "[]")]
    except (ValueError, TypeError):  # cut when the disk was full
        return []
