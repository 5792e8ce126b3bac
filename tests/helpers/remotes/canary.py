"""A file that nobody writes through the product: it lies in every served Git folder, and no commit may ever hold it.

The helpers that start the product (`agent`, `serving`, `shell`) plant it in each folder that they serve. After every
acceptance test it is looked for in the repositories of these folders and in their remotes, and once more at the end.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pygit2

NAME = "canary.env"
CONTENT = b"TOKEN=nobody asked for this to be committed\n"
BLOB = hashlib.sha1(b"blob %d\0%b" % (len(CONTENT), CONTENT), usedforsecurity=False).hexdigest()
EXCEPT = f":(exclude,glob)**/{NAME}"
"""Pathspec for `git add --all` of a test itself, which the product does not run."""

_CHECKOUT = Path(__file__).resolve().parents[3]
_URL = re.compile(r"^\s*url\s*=\s*(?:file://)?(/.*\S)\s*$", re.MULTILINE)
_planted: dict[Path, Path] = {}
"""Git's own folder by the folder that is served."""
_names: dict[str, Path | None] = {}
"""The folder by the name that was given for it; None for one that is no usable folder or lies in no repository."""
_used: set[Path] = set()
"""Folders that were named since the last look into repositories."""
_told: set[Path] = set()
"""Repositories that hold it and were told, so that one mistake fails one test."""


def plant(places: Iterable[str | Path]) -> None:
    """Put the canary into those of the places that are folders of a Git work tree with a commit, and lack it.

    The project's own checkout gets none: a developer could commit it.
    """
    for place in places:
        name = os.fspath(place)
        folder = _names.get(name)
        if folder is None and (name not in _names or os.path.exists(f"{name}/.git")):
            folder = _names[name] = _plant(Path(name))
        if folder:
            _used.add(folder)
        elif not os.path.isdir(name):  # it may be made later, in a repository
            _names.pop(name, None)  # a test calls from several threads


def _plant(folder: Path) -> Path | None:
    usable = folder.is_absolute() and os.path.isdir(folder)
    usable = usable and not folder.resolve().is_relative_to(_CHECKOUT)  # examples are served where they lie
    if usable and (own := _git_folder(folder.resolve())):
        with suppress(OSError):  # one that may not be written
            (folder / NAME).write_bytes(CONTENT)
            _planted[folder] = own
            return folder
    return None


def found(*, packed: bool = False) -> list[str]:
    """The repositories of planted folders, and their remotes on this machine, in which a commit now holds the canary.

    Args:
        packed: Whether to look into packs, too, and into all repositories instead of those that were named since the
            last look.
    """
    repositories = {own for folder, own in _planted.items() if (packed or folder in _used) and own.is_dir()}
    _used.clear()
    repositories |= {remote for own in repositories for remote in _remotes(own)}
    has_blob = _has_packed if packed else _has_loose
    suspects = [path for path in repositories if has_blob(path)]
    held = [suspect for suspect in suspects if suspect not in _told and holds(suspect)]
    _told.update(held)
    return [str(path) for path in held]


def _has_loose(repository: Path) -> bool:
    return (repository / "objects" / BLOB[:2] / BLOB[2:]).exists()


def _has_packed(repository: Path) -> bool:
    try:
        return pygit2.Oid(hex=BLOB) in pygit2.Repository(str(repository)).odb
    except pygit2.GitError:  # Git itself is asked
        return True


def holds(repository: Path) -> bool:
    """Whether a commit of a repository, on a branch or in a reflog, holds the canary."""
    git = ["git", "-C", str(repository)]
    if subprocess.run([*git, "cat-file", "-e", BLOB], capture_output=True, check=False).returncode:
        return False
    searched = [*git, "log", "--all", "--reflog", "--format=%H", f"--find-object={BLOB}"]
    return bool(subprocess.run(searched, capture_output=True, check=True).stdout.strip())


def planted() -> int:
    """Number of folders with a canary."""
    return len(_planted)


def _git_folder(folder: Path) -> Path | None:
    """Git's own folder for all work trees of a repository that has a commit."""
    place = next((path for path in (folder, *folder.parents) if (path / ".git").exists()), None)
    if place is None:
        return None
    if _is_plain(place / ".git"):
        return place / ".git"
    places = ["git", "-C", str(place), "rev-parse", "--path-format=absolute", "--git-common-dir", "HEAD"]
    done = subprocess.run(places, capture_output=True, text=True, check=False)
    return Path(done.stdout.splitlines()[0]) if done.returncode == 0 else None


def _is_plain(own: Path) -> bool:
    """Whether Git's own folder is an ordinary one with a commit of its branch: Git need not be started to say so."""
    try:
        head = (own / "HEAD").read_text()
        is_sound = (own / "config").read_text().startswith("[core]\n\trepositoryformatversion = 0\n")
        is_own = own.parent.stat().st_uid == own.stat().st_uid == os.geteuid()
        return is_sound and is_own and len((own / head.removeprefix("ref: ").strip()).read_text()) == len(BLOB) + 1
    except (OSError, UnicodeDecodeError):
        return False


def _remotes(own: Path) -> list[Path]:
    with suppress(OSError, UnicodeDecodeError):
        urls = _URL.findall((own / "config").read_text())
        return [place for url in urls if (place := Path(url)).is_dir()]
    return []
