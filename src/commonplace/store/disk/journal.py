"""The journal records a transaction's intent before its first change, so that recovery can finish or undo it.

One small file per lock, overwritten in place. A checksum distinguishes a complete record from a torn one; a torn record
means that nothing else was done yet.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import stat
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from commonplace.domain.changes import Revision
from commonplace.store.disk.durable import Unsynced, write_all
from commonplace.store.disk.own_files import PRIVATE, open_own, unshared
from commonplace.store.names import is_object_id, is_ref, is_tree_path

MAX_JOURNAL_BYTES = 256_000_000
"""Maximum size of a journal in bytes."""
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_TOKEN = re.compile(r"[0-9A-Za-z]{1,64}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JournalStep:
    """The change of one file; its path is relative to the root (the work tree's, or the folder's without Git)."""

    path: str
    old: Revision
    """Revision of the old bytes; "" for no file."""
    new: Revision
    """Revision of the new bytes; "" for no file."""


@dataclass(frozen=True, slots=True)
class JournalIntent:
    """One transaction, recorded from before its first change on disk until after its last."""

    token: str
    """Random text in the name of every temporary file of this transaction."""
    steps: tuple[JournalStep, ...] = ()
    made: tuple[str, ...] = ()
    """Folders that the transaction creates, outermost first."""
    reference: str = ""
    """The branch of the commit; "" without a commit."""
    commit: str = ""
    """The last commit. Its objects are written before the journal."""
    paths: tuple[str, ...] = ()
    """Paths that the commits change, relative to the repository: the index entries to update."""
    base: str | None = ""
    """The commit that the branch was at; "" for none. None (a journal of an older version) means `commit`'s parent."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """The whole content of the journal."""

    intent: JournalIntent | None = None
    pending: dict[str, str] = field(default_factory=dict[str, str])
    """Index entries that are still to be updated (path to the old blob id, "" for none)."""

    def __bool__(self) -> bool:
        return self.intent is not None or bool(self.pending)


EMPTY_RECORD = JournalRecord()


class Journal:
    """The journal of one lock. Every call except `is_empty` needs that lock."""

    def __init__(self, path: Path, mode: Callable[[], int] = lambda: PRIVATE) -> None:
        """Create the journal.

        Args:
            path: Its file.
            mode: Returns the mode that the file gets.
        """
        self._path = path
        self._mode = mode

    @property
    def is_empty(self) -> bool:
        """Whether there is certainly nothing to repair. Opens no file."""
        try:
            return self._path.stat().st_size == 0
        except (FileNotFoundError, NotADirectoryError):
            return True

    def read(self) -> JournalRecord:
        """The record of the last writer; `EMPTY_RECORD` after a clean end or a torn record.

        Raises:
            UnsharedFileError: another user does not share the journal.
            OSError: the journal cannot be read.
        """
        try:
            raw = self._content()
        except FileNotFoundError:
            return EMPTY_RECORD
        digest, _, rest = raw.partition(b" ")
        length, _, rest = rest.partition(b" ")
        text = rest[: int(length)] if length.isdigit() else b""
        if sha256(text).hexdigest().encode() != digest:
            return EMPTY_RECORD
        try:
            return _decoded(text)
        except (
            ValueError,
            TypeError,
        ):  # the checksum matches but the content is invalid: written by another program
            _log.warning("the journal of interrupted writes was not written by commonplace and is ignored")
            return EMPTY_RECORD

    def write(self, record: JournalRecord, unsynced: Unsynced | None = None) -> None:
        """Replace the record. It is durable when `unsynced` has been synced.

        Raises:
            UnsharedFileError: another user does not share the journal. Nothing was written.
            OSError: the record cannot be written.
        """
        descriptor = self._opened()
        with ExitStack() as closing:
            closing.callback(os.close, descriptor)
            if record:
                write_all(descriptor, _framed(_encoded(record)))
            else:
                os.ftruncate(descriptor, 0)
            if unsynced is not None:
                closing.pop_all()
                unsynced.keep(descriptor)

    def _content(self) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError as error:
            raise unshared(self._path) from error
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_JOURNAL_BYTES:
                raise OSError(errno.EINVAL, "the journal is not a regular file, or too large")
            return file.read()

    def _opened(self) -> int:
        """Open the file for writing. A file with other hard links is replaced by a new one."""
        try:
            descriptor = open_own(self._path, _FLAGS, self._mode())
        except PermissionError as error:
            raise unshared(self._path) from error
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            return descriptor
        os.close(descriptor)
        self._path.unlink()
        return open_own(self._path, _FLAGS | os.O_EXCL, self._mode())


def _framed(text: bytes) -> bytes:
    """A record with its checksum and length; the length excludes the remains of a longer record."""
    return b"%s %d %s" % (sha256(text).hexdigest().encode(), len(text), text)


def _encoded(record: JournalRecord) -> bytes:
    intent = record.intent
    reported_values = None if intent is None else [
        intent.token,
        [[step.path, step.old, step.new] for step in intent.steps],
        list(intent.made),
        intent.reference,
        intent.commit,
        list(intent.paths),
        intent.base,
    ]  # fmt: skip
    return json.dumps([reported_values, record.pending]).encode()


def _decoded(text: bytes) -> JournalRecord:
    """Decode and validate a record, which may come with a repository from anywhere.

    Raises:
        ValueError, TypeError: the text is not a record, or names paths or refs that are never written.
    """
    record, pending = json.loads(text)
    for path, identifier in dict(pending).items():
        _require(is_tree_path(path) and _is_revision(identifier))
    if record is None:
        return JournalRecord(None, pending)
    token, steps, made, reference, commit, paths, *rest = record
    intent = JournalIntent(
        token,
        tuple(JournalStep(*step) for step in steps),
        tuple(made),
        reference,
        commit,
        tuple(paths),
        rest[0] if rest else None,
    )
    _require_valid(intent)
    return JournalRecord(intent, pending)


def _require_valid(intent: JournalIntent) -> None:
    _require(bool(_TOKEN.fullmatch(intent.token)) and (not intent.reference or is_ref(intent.reference)))
    _require(all(map(is_tree_path, [*intent.made, *intent.paths, *(step.path for step in intent.steps)])))
    revisions = (revision for step in intent.steps for revision in (step.old, step.new))
    _require(all(map(_is_revision, [intent.commit, intent.base or "", *revisions])))


def _is_revision(text: str) -> bool:
    """Whether a text is an object id, or "" for none."""
    return not text or is_object_id(text)


def _require(fulfilled: bool) -> None:
    if not fulfilled:
        raise ValueError
