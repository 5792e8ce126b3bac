"""The folder of a publication: written only where it differs, and never anything that is not of a publication."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from commonplace.domain.errors import InvalidInputError, StorageError

MANIFEST = ".commonplace-publish.json"
"""File that lists what was written; a folder with other files and without it is refused."""
FORMAT = 1
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755


class OutputFolder:
    """The output of one publication.

    Args:
        path: The folder; it is created if it is missing.
        base: The folder of the base.

    Raises:
        InvalidInputError: kind "output": the folder is a link, has files of something else, or is, contains or is in
            the base.
        StorageError: it cannot be read or written.
    """

    def __init__(self, path: Path, base: Path) -> None:
        self.path = path.absolute()
        self.written = 0
        self.removed = 0
        self._files: dict[str, str] = {}
        _require_apart(self.path, base)
        manifest = self._opened()
        self.earlier: Mapping[str, str] = manifest.get("files", {})
        """Digests of the files of the last publication by name."""
        self.state: Mapping[str, Any] = manifest.get("state", {})
        """The state that the last finished publication passed to `finish`; empty for none."""

    def _opened(self) -> Mapping[str, Any]:
        """The manifest of the last publication; empty for a new folder."""
        try:
            if self.path.is_symlink():
                raise _refused(self.path, "is a link", "Name the folder itself")
            if self.path.exists() and not self.path.is_dir():
                raise _refused(self.path, "is a file", "Name a folder")
            self.path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            names = os.listdir(self.path)  # noqa: PTH208 - only whether there are any
            if names and MANIFEST not in names:
                raise _refused(self.path, "has files that no publication wrote", "Name an empty folder, or a new one")
            text = (self.path / MANIFEST).read_text(encoding="utf-8") if names else ""
        except OSError as error:
            raise _failed(self.path, error) from error
        try:
            loaded: object = json.loads(text) if text else {}
        except ValueError:
            loaded = {}
        manifest = cast("dict[str, Any]", loaded) if isinstance(loaded, dict) else {}
        if not names:
            self._save({})
        return manifest if manifest.get("format") == FORMAT else {}

    def put(self, output: str, content: bytes) -> None:
        """Write a file, unless the last publication wrote the same bytes."""
        digest = blake2b(content, digest_size=12).hexdigest()
        self._files[output] = digest
        if self.earlier.get(output) == digest and (self.path / output).is_file():
            return
        self.written += 1
        try:
            self._replace(output, content)
        except OSError as error:
            raise _failed(self.path, error) from error

    def _replace(self, output: str, content: bytes) -> None:
        file = self.path / output
        missing = [one for one in file.parents if one.is_relative_to(self.path) and not one.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=_FOLDER_MODE)
            folder.chmod(_FOLDER_MODE)
        if file.parent.resolve() != self.path.resolve() / Path(output).parent:
            raise _refused(file.parent, "is a link", "Remove it")
        new = file.with_name(f"{file.name}.new")
        new.write_bytes(content)
        new.chmod(_FILE_MODE)
        new.replace(file)

    def keeps(self, output: str) -> bool:
        """Keep a file of the last publication. Returns whether it is there."""
        digest = self.earlier.get(output)
        if digest is None or not (self.path / output).is_file():
            return False
        self._files[output] = digest
        return True

    def outdated(self, besides: str) -> bool:
        """Whether an earlier publication has files, besides those of this beginning, that this one has not written."""
        return any(not name.startswith(besides) for name in self.earlier.keys() - self._files.keys())

    def has(self, output: str) -> bool:
        """Whether this publication has written or kept a file."""
        return output in self._files

    def finish(self, state: Mapping[str, object]) -> None:
        """Remove the files of earlier publications that this one has not, and write the manifest."""
        self.sweep()
        self._save(state)

    def sweep(self, besides: str = " ") -> None:
        """Remove the files of earlier publications that this one has not written until now.

        Args:
            besides: Beginning of the names of files that stay.
        """
        for output in sorted(self.earlier.keys() - self._files.keys()):
            if output.startswith(besides):
                continue
            file = self.path / output
            try:
                if file.is_file() and not file.is_symlink():
                    file.unlink()
                    self.removed += 1
                for folder in file.parents:
                    if folder == self.path or any(folder.iterdir()):
                        break
                    folder.rmdir()
            except OSError:
                continue  # its folder is gone already, or is a link

    def _save(self, state: Mapping[str, object]) -> None:
        manifest = {"format": FORMAT, "files": dict(sorted(self._files.items())), "state": state}
        text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        try:
            self._replace(MANIFEST, text.encode("utf-8", "surrogatepass"))
        except OSError as error:
            raise _failed(self.path, error) from error


def _require_apart(path: Path, base: Path) -> None:
    resolved, own = path.resolve(), base.resolve()
    if resolved == own or resolved in own.parents:
        raise _refused(path, "is or contains the folder of the base", "Name another folder")
    if own in resolved.parents:
        raise _refused(path, "is in the folder of the base", "Name a folder beside it")


def _refused(path: Path, reason: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(
        f"Nothing was published: {path} {reason}.", kind="output", hint=f"{remedy}, such as {path.parent / 'site'}."
    )


def _failed(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be written: {error.strerror}.",
        kind="output",
        hint="Free space or change permissions, then publish again: it continues with what is missing.",
    )
