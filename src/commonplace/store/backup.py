"""Backup of what is in no remote: keys, limits, audit, activity, trash and settings, and proposals of served folders.

A backup is a compressed tar with a list of its files and their digests. It is consistent while servers run: files that
are replaced are replaced whole, and files that are appended to are read under the lock of their writers.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import cast

from commonplace.domain.errors import GitError, InvalidInputError, StorageError
from commonplace.domain.private_files import private_folder
from commonplace.store.git.layout import find_repository
from commonplace.store.git_command import run_git

LIST = "backup.json"
STATE, SETTINGS, KEYS, BASES = "state", "settings/config.toml", "keys/keys.json", "bases"
PROPOSALS = ("refs/heads/proposals", "refs/commonplace/proposals")
MAX_FILE_BYTES = 512_000_000
"""Maximum size in bytes of one file of a backup that is restored."""
_TEMPORARY = (".lock", ".part", ".sock", ".tmp")


def write_backup(out: Path, state: Path, files: Mapping[str, Path], folders: Sequence[Path]) -> list[str]:
    """Write a backup; returns the names of what is in it.

    Args:
        out: The file to write; must not exist.
        state: The state folder.
        files: Further files by their name in the backup; those that do not exist are left out.
        folders: Served folders, whose refs of proposals are taken.

    Raises:
        StorageError: a file cannot be read, or the backup cannot be written.
        InvalidInputError: the file exists.
    """
    if out.exists():
        raise InvalidInputError(f"{out.name} exists.", kind="path", hint="Name a file that does not exist.")
    digests: dict[str, str] = {}
    try:
        with tempfile.NamedTemporaryFile(dir=out.absolute().parent, prefix=f".{out.name}.") as beside:
            with tarfile.open(fileobj=beside, mode="w:gz") as archive:
                for name, content in _contents(state, files, folders):
                    digests[name] = sha256(content).hexdigest()
                    _add(archive, name, content)
                _add(archive, LIST, json.dumps({"version": 1, "files": digests}, indent=2).encode())
            beside.flush()
            os.fsync(beside.fileno())
            os.link(beside.name, out)
    except OSError as error:
        raise StorageError(f"The backup cannot be written: {error.strerror}.", kind="path") from error
    return sorted(digests)


def restore_backup(source: Path, state: Path, files: Mapping[str, Path], folders: Sequence[Path]) -> list[str]:
    """Put back what a backup has; returns the names. Nothing is written unless all of it is whole.

    Args:
        source: The backup.
        state: The state folder; it must not have keys or an audit yet.
        files: Where further files go, by their name in the backup. Files that exist are left as they are.
        folders: Served folders, into which the proposals of the folder of the same name are fetched.

    Raises:
        InvalidInputError: the file is not a whole backup, or the state folder is in use.
        StorageError: a file cannot be written.
    """
    contents = _checked(source)
    used = [name for name in ("keys.json", "audit") if (state / name).exists()]
    if used:
        raise InvalidInputError(
            f"The state folder has {' and '.join(used)} already. Nothing was restored.",
            kind="path",
            hint="Restore into an empty state folder (XDG_STATE_HOME), before the server starts.",
        )
    try:
        for name, content in contents.items():
            place = state / name.removeprefix(f"{STATE}/") if name.startswith(f"{STATE}/") else files.get(name)
            if place is not None and not place.exists():
                _put(place, content)
        _restore_proposals(contents, folders)
    except OSError as error:
        raise StorageError(f"The backup cannot be restored: {error.strerror}.", kind="path") from error
    return sorted(contents)


def _contents(state: Path, files: Mapping[str, Path], folders: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    yield from _state(state)
    for name, path in files.items():
        if path.is_file():
            yield name, _read(path)
    for folder in folders:
        if bundle := _bundle(folder):
            yield f"{BASES}/{folder.resolve().name}.bundle", bundle


def _state(state: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(state.rglob("*")) if state.is_dir() else ():
        if path.is_file() and not path.is_symlink() and path.suffix not in _TEMPORARY:
            with suppress(FileNotFoundError):  # removed since, such as an old file of the trash
                yield f"{STATE}/{path.relative_to(state).as_posix()}", _read(path)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # the logs are appended to under a lock
        return file.read()


def _bundle(folder: Path) -> bytes:
    """The refs of the proposals of a folder's repository as a bundle of Git; empty without any."""
    if find_repository(folder) is None:
        return b""
    if not run_git(folder, ["for-each-ref", "--count=1", *(f"{prefix}/" for prefix in PROPOSALS)]).strip():
        return b""
    with tempfile.TemporaryDirectory(prefix="commonplace-") as place:
        file = Path(place) / "bundle"
        run_git(folder, ["bundle", "create", "--quiet", str(file), *(f"--glob={prefix}/*" for prefix in PROPOSALS)])
        return file.read_bytes()


def _restore_proposals(contents: Mapping[str, bytes], folders: Sequence[Path]) -> None:
    for folder in folders:
        content = contents.get(f"{BASES}/{folder.resolve().name}.bundle")
        if content is None:
            continue
        with tempfile.TemporaryDirectory(prefix="commonplace-") as place:
            file = Path(place) / "bundle"
            file.write_bytes(content)
            run_git(
                folder,
                ["fetch", "--quiet", "--no-tags"],
                [str(file), *(f"{prefix}/*:{prefix}/*" for prefix in PROPOSALS)],
            )


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o600
    archive.addfile(member, io.BytesIO(content))


def _checked(source: Path) -> dict[str, bytes]:
    """The files of a backup by name, after their digests were compared."""
    try:
        with tarfile.open(source, "r:gz") as archive:
            contents = {member.name: _content(archive, member) for member in archive}
        listed = cast("dict[str, str]", json.loads(contents.pop(LIST))["files"])
    except (OSError, EOFError, tarfile.TarError, ValueError, KeyError, TypeError, GitError) as error:
        raise _damaged(source) from error
    if {name: sha256(content).hexdigest() for name, content in contents.items()} != listed:
        raise _damaged(source)
    return contents


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    path = PurePosixPath(member.name)
    file = archive.extractfile(member) if member.isreg() and member.size <= MAX_FILE_BYTES else None
    if file is None or path.is_absolute() or ".." in path.parts:
        raise ValueError(member.name)
    return file.read()


def _put(place: Path, content: bytes) -> None:
    private_folder(place.parent)
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _damaged(source: Path) -> InvalidInputError:
    return InvalidInputError(
        f"{source.name} is not a whole backup. Nothing was restored.", kind="path", hint="Take an earlier one."
    )
