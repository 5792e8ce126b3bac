"""Git's ignore files, gitignore(5), matched in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from commonplace.domain.addresses import IGNORE_FILES
from commonplace.store.disk.ignore_rules import Pattern, parse_patterns, verdict
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree.pattern_file import configured_file, read_pattern_file

_GIT_FILE = IGNORE_FILES[1]
_CACHED_FILES = 256


class GitIgnoreRules:
    """The current ignore rules of one work tree. Each file is read only once, so an object serves one call."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._folders: dict[str, tuple[Pattern, ...]] = {}
        exclude = repository.common / "info" / "exclude"
        configured = configured_file(repository, "core.excludesfile", "ignore")
        self._shared = [(0, patterns) for file in (exclude, configured) if (patterns := _read(file, follow=True))]

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether a path, or a folder above it, is ignored.

        Raises:
            GitError: an ignore file is too large, or cannot be read.
        """
        parts = path.split("/")
        return any(
            self.ignores_entry(parts[:count], is_folder=is_folder or count < len(parts))
            for count in range(1, len(parts) + 1)
        )

    def ignores_entry(self, parts: Sequence[str], *, is_folder: bool) -> bool:
        """Whether an entry of a folder is ignored, by the parts of its path. The folder itself must not be ignored."""
        return bool(verdict([*self._files(parts[:-1]), *self._shared], parts, is_folder=is_folder))

    def _files(self, folder: Sequence[str]) -> Iterator[tuple[int, tuple[Pattern, ...]]]:
        for depth in range(len(folder), -1, -1):
            name = "/".join(folder[:depth])
            if name not in self._folders:
                self._folders[name] = _read(self._repository.root / name / _GIT_FILE, follow=False)
            if self._folders[name]:
                yield depth, self._folders[name]


def _read(file: Path, *, follow: bool) -> tuple[Pattern, ...]:
    raw = read_pattern_file(file, follow=follow)
    return _parsed(raw) if raw else ()


@lru_cache(maxsize=_CACHED_FILES)
def _parsed(raw: bytes) -> tuple[Pattern, ...]:
    return parse_patterns(raw.decode("utf-8", "surrogateescape"))
