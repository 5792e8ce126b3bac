"""The folder of a publication: written only where it differs, and never anything that is not of a publication."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Any, cast

from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.domain.json import Json, finite_json, mapping_of

MANIFEST = ".commonplace-publish.json"
"""File that lists what was written; a folder with other files and without it is refused."""
FORMAT = 1
START_NAMES = frozenset({"index", "readme", "home"})
"""Names of pages that say nothing about whose publication a folder has."""
_ODD_PARTS = frozenset({"", ".", ".."})
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755
_DAY_NS = 86_400_000_000_000


class OutputFolder:
    """The output of one publication.

    Args:
        path: The folder; it is created if it is missing.
        base: The folder of the base.
        cache: Folder for the sizes and times of the written files, by which the next publication knows without reading
            them that they have not changed; None to read them.

    Raises:
        InvalidInputError: kind "output": the folder is a link, has files of something else, or is, contains or is in
            the base, or its manifest is not one.
        StorageError: it cannot be read or written.
    """

    def __init__(self, path: Path, base: Path, cache: Path | None = None) -> None:
        self.path = path.absolute()
        self.written = 0
        self.removed = 0
        self.foreign: set[str] = set()
        """Files of the last publication that somebody else has changed since; they are left."""
        self._files: dict[str, str] = {}
        self._plain_folders: set[str] = set()
        """Folders inside this one that are not reached by a link, seen while looking for unchanged files."""
        _require_apart(self.path, base)
        self._seen = _SeenFiles(cache / "published" / content_digest(os.fsencode(self.path))) if cache else None
        manifest = self._opened()
        self.earlier: Mapping[str, str] = manifest.get("files", {})
        """Digests of the files of the last publication by name."""
        self.state: Mapping[str, Any] = manifest.get("state", {})
        """The state that the last finished publication passed to `finish`; empty for none."""
        self.private: Mapping[str, Json] = self._seen.state_of(self._manifest_digest()) if self._seen else {}
        """The state that it passed and that is not published, if the cache still has it."""

    def _manifest_digest(self) -> str:
        try:
            return content_digest((self.path / MANIFEST).read_bytes())
        except OSError as error:
            raise _failed(self.path, error) from error

    def _opened(self) -> Mapping[str, Any]:
        """The manifest of the last publication; empty for a new folder."""
        try:
            if self.path.is_symlink():
                raise _refused(self.path, "is a link", "Name the folder itself")
            if self.path.exists() and not self.path.is_dir():
                raise _refused(self.path, "is a file", "Name a folder")
            _make(self.path)
            names = os.listdir(self.path)  # noqa: PTH208 - only whether there are any
            if names and MANIFEST not in names:
                raise _refused(self.path, "has files that no publication wrote", "Name an empty folder, or a new one")
            manifest = _manifest(self.path / MANIFEST) if names else {}
        except OSError as error:
            raise _failed(self.path, error) from error
        if manifest is None:
            raise _refused(
                self.path, f"has a {MANIFEST} that no publication wrote", "Name an empty folder, or a new one"
            )
        if not names:
            self._save({})
        return manifest

    def require_same(self, earlier: Collection[str], now: Collection[str]) -> None:
        """Check that the last publication was one of the same base.

        Args:
            earlier: Its pages.
            now: The pages of the base, with their former paths.

        Raises:
            InvalidInputError: kind "output": no page is in both, besides those that any base may have.
        """
        telling = {path for path in earlier if PurePosixPath(path).stem.casefold() not in START_NAMES}
        if telling and telling.isdisjoint(now):
            example = min(telling)
            raise _refused(
                self.path,
                f"has the publication of another folder, with {example}",
                "Remove it first, if it may go; or name another folder",
            )

    def put(self, output: str, content: bytes) -> None:
        """Write a file, unless the last publication wrote the same bytes."""
        digest = self._files[output] = content_digest(content)
        if self.earlier.get(output) == digest and self._is_unchanged(output):
            return
        self.written += 1
        try:
            self._replace(output, content)
        except OSError as error:
            raise _failed(self.path, error) from error

    def _replace(self, output: str, content: bytes) -> None:
        file = self.path / output
        link = self._link_above(output)
        if link is not None:
            raise _refused(link, "is a link", "Remove it")
        _make(file.parent)
        new = file.with_name(f"{MANIFEST}.new")
        new.unlink(missing_ok=True)  # it may be a link
        with new.open("xb") as stream:
            stream.write(content)
        new.chmod(_FILE_MODE)
        new.replace(file)
        if self._seen is not None and output != MANIFEST:
            self._seen.add(output, self._files[output], file.lstat())

    def _folders(self, output: str) -> list[Path]:
        """The folders that a file lies in, inside this one, the innermost first."""
        return [self.path / folder for folder in PurePosixPath(output).parents][:-1]

    def _link_above(self, output: str) -> Path | None:
        """The folder of a file that is a link; None for none."""
        return next((folder for folder in reversed(self._folders(output)) if folder.is_symlink()), None)

    def _is_unchanged(self, output: str) -> bool:
        """Whether a file of the last publication lies where it was written, as it was written."""
        folder = output.rpartition("/")[0]
        if folder not in self._plain_folders:
            if self._link_above(output):
                return False
            self._plain_folders.add(folder)
        try:
            return self._has(output, self.earlier[output])
        except OSError:
            return False

    def _has(self, output: str, digest: str) -> bool:
        """Whether a file has this content."""
        if self._seen is not None and self._seen.has(output, digest, os.lstat(f"{self.path}/{output}")):
            return True
        descriptor = os.open(f"{self.path}/{output}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb", buffering=0) as stream:  # noqa: PTH123 - a descriptor
            status = os.fstat(descriptor)
            has_content = S_ISREG(status.st_mode) and content_digest(stream.read()) == digest
        if has_content and self._seen is not None:
            self._seen.add(output, digest, status)
        return has_content

    def keeps(self, *outputs: str) -> bool:
        """Keep files of the last publication, all or none. Returns whether all are there, unchanged."""
        if not all(output in self.earlier and self._is_unchanged(output) for output in outputs):
            return False
        self._files.update((output, self.earlier[output]) for output in outputs)
        return True

    def forget(self, beginning: str) -> None:
        """Keep no files of this beginning, also none that were written until now."""
        dropped = {name: digest for name, digest in self._files.items() if name.startswith(beginning)}
        self._files = {name: digest for name, digest in self._files.items() if name not in dropped}
        self.earlier = {**self.earlier, **dropped}

    def names(self, beginning: str) -> Sequence[str]:
        """The files of a beginning that this publication has written or kept."""
        return [name for name in self._files if name.startswith(beginning)]

    def has(self, output: str) -> bool:
        """Whether this publication has written or kept a file."""
        return output in self._files

    def digest(self, output: str) -> str:
        """The digest of a file that this publication has written or kept."""
        return self._files[output]

    def finish(self, state: Mapping[str, object], private: Mapping[str, Json] | None = None) -> None:
        """Remove the files of earlier publications that this one has not, and write the manifest.

        Args:
            state: What the next publication needs to know; it lies in the folder, and so is published.
            private: What it needs to know and nobody may read; it lies in the cache, and may be lost.
        """
        self.sweep()
        self._save(state, private)

    def sweep(self, besides: str = " ") -> None:
        """Remove the files of earlier publications that this one has not written until now, unless they were changed.

        Args:
            besides: Beginning of the names of files that stay.
        """
        for output in sorted(self.earlier.keys() - self._files.keys()):
            if output.startswith(besides):
                continue
            file = self.path / output
            if not self._is_unchanged(output):
                if file.is_symlink() or file.exists():
                    self.foreign.add(output)
                continue
            try:
                file.unlink()
                self.removed += 1
                for folder in self._folders(output):
                    folder.rmdir()
            except OSError:
                continue  # the folder has other files

    def _save(self, state: Mapping[str, object], private: Mapping[str, Json] | None = None) -> None:
        manifest = {"format": FORMAT, "files": dict(sorted(self._files.items())), "state": state}
        text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        content = text.encode("utf-8", "surrogatepass")
        try:
            self._replace(MANIFEST, content)
        except OSError as error:
            raise _failed(self.path, error) from error
        if self._seen is not None:
            self._seen.save(content_digest(content), private or {})


UNUSED_DAYS = 60
"""Days after which the cached list of a folder that was not published again is removed."""
RECENT_NS = 2_000_000_000
"""Age in nanoseconds below which a file is read again: its times may not tell a change that follows at once."""


class _SeenFiles:
    """Identity, size and times of files whose content is known, and the private state of the publication.

    They are in the user's cache, not in the folder of a publication, whose bytes depend on the pages alone.

    Args:
        file: The file that stores them. One that cannot be read or has another form counts as empty.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stored: Mapping[str, Json] = {}
        with suppress(OSError, ValueError):
            self._stored = mapping_of(cast("Json", finite_json(file.read_bytes())))
        self._before: Mapping[str, object] = mapping_of(self._stored.get("files"))
        self._now: dict[str, list[str | int]] = {}

    def has(self, output: str, digest: str, status: os.stat_result) -> bool:
        """Whether a file is the one that had this digest, by its status."""
        entry = [digest, *_identity(status)]
        if self._now.get(output) != entry and self._before.get(output) != entry:
            return False
        self._now[output] = entry
        return True

    def add(self, output: str, digest: str, status: os.stat_result) -> None:
        """Note the status of a file with this digest."""
        self._now[output] = [digest, *_identity(status)]

    def state_of(self, manifest: str) -> Mapping[str, Json]:
        """The private state of the publication whose manifest has this digest; empty if that of another is stored."""
        return mapping_of(self._stored.get("state")) if self._stored.get("manifest") == manifest else {}

    def save(self, manifest: str, state: Mapping[str, Json]) -> None:
        """Store what was noted, without files that have just changed. A cache that cannot be written is left.

        Lists of other folders that were not used for `UNUSED_DAYS` are removed.

        Args:
            manifest: Digest of the manifest.
            state: The private state of its publication.
        """
        now = time.time_ns()
        old = {output: entry for output, entry in self._now.items() if cast("int", entry[-1]) < now - RECENT_NS}
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            stored = {"files": old, "manifest": manifest, "state": state}
            if stored != self._stored:
                new = self._file.with_suffix(f".{os.getpid()}")
                new.write_text(json.dumps(stored, separators=(",", ":")), encoding="ascii")
                new.replace(self._file)
            self._file.touch()
            for other in self._file.parent.iterdir():
                if other.stat().st_mtime_ns < now - UNUSED_DAYS * _DAY_NS:
                    other.unlink(missing_ok=True)


def _identity(status: os.stat_result) -> tuple[int, int, int, int, int]:
    """Mode, number, size and times of a file. They change with its content; only the kernel sets the last one."""
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _make(folder: Path) -> None:
    """Create a folder, and those above it, so that web servers can read it, whatever the process withholds."""
    for part in reversed((folder, *folder.parents)):
        if not part.exists():
            part.mkdir()
            part.chmod(_FOLDER_MODE)


def _manifest(file: Path) -> dict[str, Any] | None:
    """The manifest of a publication; None if the file has another form."""
    if file.is_symlink() or not file.is_file():
        return None
    try:
        loaded = finite_json(file.read_bytes())
    except ValueError:
        return None
    manifest = cast("dict[str, Any]", loaded) if isinstance(loaded, dict) else {}
    files, state = manifest.get("files"), manifest.get("state")
    if manifest.get("format") != FORMAT or not isinstance(files, dict) or not isinstance(state, dict):
        return None
    entries = cast("dict[str, Any]", files).items()
    return manifest if all(isinstance(digest, str) and _is_inside(name) for name, digest in entries) else None


def _is_inside(name: str) -> bool:
    """Whether a name is a relative, normalized path that leads to no folder above."""
    if not name.isascii():
        try:
            os.fsencode(name)
        except UnicodeEncodeError:
            return False
    return "\0" not in name and _ODD_PARTS.isdisjoint(name.split("/"))


def content_digest(content: bytes) -> str:
    """A digest of the bytes of a file, as the manifest has it."""
    return blake2b(content, digest_size=12).hexdigest()


def _require_apart(path: Path, base: Path) -> None:
    resolved, own = path.resolve(), base.resolve()
    if resolved == own or resolved in own.parents:
        raise _refused(path, "is or contains the folder of the base", "Name another folder")
    if own in resolved.parents:
        raise _refused(path, "is in the folder of the base", "Name a folder beside the base", own.parent)


def _refused(path: Path, reason: str, remedy: str, beside: Path | None = None) -> InvalidInputError:
    return InvalidInputError(
        f"Nothing was published: {path} {reason}.",
        kind="output",
        hint=f"{remedy}, such as {(beside or path.parent) / 'site'}.",
    )


def _failed(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be written: {error.strerror}.",
        kind="output",
        hint="Free space or change permissions, then publish again: it continues with what is missing.",
    )
