"""Recovery: finishes or undoes an interrupted transaction from its journal and the files that it left.

A transaction is finished if all of its new bytes exist and its files have not been changed since; otherwise it is
undone. Undoing never touches a file that has been changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from commonplace.store.disk.durable import sync_folders
from commonplace.store.disk.file_swap import FileSlot, remove_empty, remove_empty_above
from commonplace.store.disk.journal import JournalIntent, JournalRecord, JournalStep
from commonplace.store.git.commit_writer import GitWriter

_MENDING = "mending"
"""Token of a recovery without a transaction, which only updates index entries."""


class _State(Enum):
    """State of one file."""

    OLD = auto()
    NEW = auto()
    FOREIGN = auto()
    """Neither the old nor the new bytes: the file has been changed since."""


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """The result of a recovery."""

    messages: list[str]
    """One line for each action."""
    pending: dict[str, str]
    """Index entries that are still to be updated (see `journal.JournalRecord`)."""


@dataclass(frozen=True, slots=True)
class _File:
    step: JournalStep
    place: FileSlot
    state: _State
    ready: bool
    """Whether the new bytes are available: in place, beside the file, or not needed because the file is removed."""


def recover(root: Path, git: GitWriter | None, record: JournalRecord, abandoned: str = "") -> RecoveryReport:
    """Make the files, the branch and the index consistent. Needs the lock.

    Args:
        root: Root of the files.
        git: Git writer; None without a repository.
        record: Record of the journal.
        abandoned: Token of a transaction that was reported as failed: it is undone in any state.

    Raises:
        OSError, KnowledgeError: recovery is not possible now; it is safe to repeat.
    """
    intent = record.intent
    if intent is None:
        return _mend_index(git, record.pending)
    told = git.discard_left_over(intent.token, intent.reference) if git else []
    files = [_file(root, intent.token, number, step) for number, step in enumerate(intent.steps)]
    names = ", ".join(step.path for step in intent.steps) or "a commit"
    committed = bool(git and git.is_committed(intent.reference, intent.commit))
    if intent.token == abandoned and git and git.roll_back(intent):
        committed = False
    finished = committed or (intent.token != abandoned and _can_be_finished(files, git, intent))
    if finished:
        _finish(files)
        if git and intent.commit and not committed:
            git.commit_again(intent)
    else:
        _undo(files)
    told.append(f"{'finished' if finished else 'undid'} an interrupted write of {names}")
    _clean_up(root, intent, files)
    if git is None:
        return RecoveryReport(told, {})
    pending = record.pending | (git.outdated(intent) if finished else {})
    return RecoveryReport(told, git.repair_index(intent.token, pending))


def _mend_index(git: GitWriter | None, pending: dict[str, str]) -> RecoveryReport:
    if git is None:
        return RecoveryReport([], {})
    told = git.discard_left_over(_MENDING, "")
    left = git.repair_index(_MENDING, pending)
    waiting = f"; {len(left)} still wait for index.lock" if left else ""
    return RecoveryReport([*told, f"brought {len(pending) - len(left)} index entries up to date{waiting}"], left)


def _file(root: Path, token: str, number: int, step: JournalStep) -> _File:
    place = FileSlot(root, token, number, step.path)
    now = place.revision(place.name)
    state = _State.NEW if now == step.new else _State.OLD if now == step.old else _State.FOREIGN
    ready = state is _State.NEW or not step.new or place.revision(place.new) == step.new
    return _File(step, place, state, ready)


def _can_be_finished(files: Sequence[_File], git: GitWriter | None, intent: JournalIntent) -> bool:
    if intent.commit and not (git and git.is_written(intent.commit) and git.is_current(intent.reference)):
        return False
    if not any(file.state is _State.OLD for file in files):
        return bool(files)  # every file was renamed; those in the state FOREIGN were changed again afterwards
    return all(file.ready and file.state is not _State.FOREIGN for file in files)


def _finish(files: Sequence[_File]) -> None:
    for file in files:
        if file.state is not _State.OLD:
            continue
        if not file.step.new:
            file.place.rename(file.place.name, file.place.old)
        elif file.ready:
            file.place.rename(file.place.new, file.place.name)
    sync_folders({file.place.folder for file in files})


def _undo(files: Sequence[_File]) -> None:
    for file in files:
        if file.state is not _State.NEW:
            continue
        if not file.step.old:
            file.place.discard(file.place.name)
        elif file.place.revision(file.place.old) == file.step.old:
            file.place.rename(file.place.old, file.place.name)
    sync_folders({file.place.folder for file in files})


def _clean_up(root: Path, intent: JournalIntent, files: Sequence[_File]) -> None:
    for file in files:
        file.place.discard(file.place.new, file.place.old)
        if not file.step.new:
            remove_empty_above(root, file.step.path)
    remove_empty(root, reversed(intent.made))
