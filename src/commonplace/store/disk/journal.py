"""What a writer is about to do, on the disk before it is done, so that whoever comes next can finish or undo it.

One small file per lock. It is overwritten in place; a checksum tells a whole record from a torn one, and a torn one
means that nothing had been done yet.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from commonplace.domain.changes import Revision
from commonplace.store.disk.durable import Unsynced, write_all

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Step:
    """One file's change; its path is relative to the root (the work tree's, or the folder's without Git)."""

    path: str
    old: Revision
    """Of the bytes that were there, "" for no file."""
    new: Revision
    """Of the bytes that shall be there, "" for no file."""


@dataclass(frozen=True, slots=True)
class Intent:
    """One transaction, from before its first trace on the disk until after its last."""

    token: str
    """Random; part of the name of every temporary file of this transaction."""
    steps: tuple[Step, ...] = ()
    made: tuple[str, ...] = ()
    """Folders that it makes, outermost first."""
    reference: str = ""
    """The branch that it commits on, "" for no commit."""
    commit: str = ""
    """The commit, already written when this is."""
    paths: tuple[str, ...] = ()
    """What the commit changes, as the repository names it: the index entries to bring up to date."""


@dataclass(frozen=True, slots=True)
class Record:
    """All that the journal says."""

    intent: Intent | None = None
    pending: dict[str, str] = field(default_factory=dict[str, str])
    """Index entries that could not be brought up to date (path to the blob id they had, "" for none)."""

    def __bool__(self) -> bool:
        return self.intent is not None or bool(self.pending)


NOTHING = Record()


class Journal:
    """The journal of one lock; every call but `is_empty` is made under that lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def is_empty(self) -> bool:
        """Whether there is certainly nothing to repair; asks without opening anything."""
        try:
            return self._path.stat().st_size == 0
        except FileNotFoundError:
            return True

    def read(self) -> Record:
        """What the last writer left; `NOTHING` after an orderly end or a torn record."""
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return NOTHING
        digest, _, rest = raw.partition(b" ")
        length, _, rest = rest.partition(b" ")
        text = rest[: int(length)] if length.isdigit() else b""
        if sha256(text).hexdigest().encode() != digest:
            return NOTHING
        return _decoded(text)

    def write(self, record: Record, unsynced: Unsynced | None = None) -> None:
        """Replace the record; durable when `unsynced` has been synced.

        Raises:
            OSError: it cannot be written.
        """
        descriptor = os.open(self._path, _FLAGS, 0o666)
        try:
            if record:
                write_all(descriptor, _framed(_encoded(record)))
            else:
                os.ftruncate(descriptor, 0)
        except BaseException:
            os.close(descriptor)
            raise
        if unsynced is None:
            os.close(descriptor)
        else:
            unsynced.keep(descriptor)


def _framed(text: bytes) -> bytes:
    """A record with its checksum and length; what stands behind it, of a longer one before, does not count."""
    return b"%s %d %s" % (sha256(text).hexdigest().encode(), len(text), text)


def _encoded(record: Record) -> bytes:
    intent = record.intent
    told = None if intent is None else [
        intent.token,
        [[step.path, step.old, step.new] for step in intent.steps],
        list(intent.made),
        intent.reference,
        intent.commit,
        list(intent.paths),
    ]  # fmt: skip
    return json.dumps([told, record.pending]).encode()


def _decoded(text: bytes) -> Record:
    told, pending = json.loads(text)
    if told is None:
        return Record(None, pending)
    token, steps, made, reference, commit, paths = told
    return Record(
        Intent(token, tuple(Step(*step) for step in steps), tuple(made), reference, commit, tuple(paths)), pending
    )
