"""Gathers the small packs and loose objects of a repository into one pack; every fetch and every write leaves more.

A pack costs each process that reads it a descriptor and two maps, and libgit2 never closes it. Git's own `gc --auto` is
switched off, because it would run with the repository's configuration; and it drops objects without a ref, which a
reader of a dropped commit or a write before its push still uses. Here every object is retained.

Nothing is locked: a replaced pack is removed by the next gathering, after its replacement was written, checked and
flushed. A process that is killed leaves packs too many, which are gathered again.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from commonplace.domain.errors import GitError
from commonplace.store.disk.file_swap import storage_errors
from commonplace.store.git.repository import REPLACED, GitRepository
from commonplace.store.remotes import exchange

MAX_PACKS = 50
"""Number of small packs, or of loose objects in a folder for two digits, above which they are gathered."""
MAX_PACK_BYTES = 16_000_000
"""Size in bytes above which a pack is large, and is never rewritten."""
GATHER_SECONDS = 60.0
"""Timeout in seconds of one gathering."""
LEFT_SECONDS = 3600.0
"""Age in seconds above which a temporary file of a killed git process is removed."""

_HEADER = b"\xfftOc\0\0\0\2"
_COUNTED = "17"
"""The folder of loose objects whose entries are counted, as Git does."""
_HEX_REST = 38
_OTHERS_USE = (".keep", ".promisor", ".bitmap", ".mtimes")
"""Files beside a pack for which Git has another use than its objects alone."""


def gather(
    repository: GitRepository, remote: str, started: Callable[[Popen[bytes]], None] | None = None, *, loose: bool
) -> bool:
    """Gather small packs if there are more than `MAX_PACKS`. Returns whether any were gathered.

    Args:
        repository: The repository.
        remote: Name of a remote of the repository.
        started: Called with each git process, so that it can be killed early.
        loose: Whether many loose objects are gathered, too.

    Raises:
        GitError: an object is damaged, or git timed out.
        StorageError: the repository cannot be written.
    """
    objects = repository.objects
    with storage_errors("the packs of the repository"):
        if (objects / "pack" / "multi-pack-index").exists():  # it names packs, and would have to be written again
            return False
        replaced = _replaced(objects)
        packs = [pack for pack in _small_packs(objects) if pack.stem not in replaced]
        single = _loose_objects(objects) if loose else []
        if len(packs) <= MAX_PACKS and not single:
            return False
        _remove(objects, replaced)
        rewritten = _uneven(packs) if len(packs) > MAX_PACKS else []
        names = {name for pack in rewritten for name in _names(pack)}
        made = _packed(repository, remote, names.union(single), started)
        _record(objects, [made, *(pack.stem for pack in rewritten if pack.stem != made)])
        for name in single:
            (objects / name[:2] / name[2:]).unlink(missing_ok=True)
    return True


def _small_packs(objects: Path) -> list[Path]:
    """The packs that may be rewritten, the smallest first; temporary files of killed processes are removed."""
    found: list[tuple[int, Path]] = []
    with os.scandir(objects / "pack") as entries:
        names = {entry.name: entry for entry in entries}
    for name, entry in names.items():
        with suppress(FileNotFoundError):
            if name.startswith("tmp_") and time.time() - entry.stat(follow_symlinks=False).st_mtime > LEFT_SECONDS:
                Path(entry.path).unlink()
        stem, suffix = os.path.splitext(name)  # noqa: PTH122 - names are enough
        whole = f"{stem}.idx" in names and not any(stem + other in names for other in _OTHERS_USE)
        if suffix == ".pack" and whole and (size := entry.stat(follow_symlinks=False).st_size) <= MAX_PACK_BYTES:
            found.append((size, Path(entry.path)))
    return [path for _, path in sorted(found)]


def _uneven(packs: list[Path]) -> list[Path]:
    """The smallest packs, without the largest ones that are each twice as large as all smaller ones together.

    So an object is rewritten a number of times that grows with the logarithm of the number of packs.
    """
    sizes = [pack.stat().st_size for pack in packs]
    last = len(sizes) - 1
    while last > MAX_PACKS // 2 and sizes[last] >= 2 * sum(sizes[:last]):
        last -= 1
    return packs[: last + 1]


def _loose_objects(objects: Path) -> list[str]:
    """The ids of all loose objects if there are many; none otherwise."""
    with suppress(FileNotFoundError):
        if len(os.listdir(objects / _COUNTED)) > MAX_PACKS:  # noqa: PTH208 - names are enough
            folders = [one for one in os.listdir(objects) if len(one) == len(_COUNTED)]  # noqa: PTH208
            return [
                folder + rest
                for folder in folders
                for rest in os.listdir(objects / folder)  # noqa: PTH208
                if len(rest) == _HEX_REST and set(rest) <= set("0123456789abcdef")
            ]
    return []


def _packed(
    repository: GitRepository, remote: str, names: set[str], started: Callable[[Popen[bytes]], None] | None
) -> str:
    """Write a pack of these objects; returns its name without suffix."""
    with tempfile.TemporaryDirectory(prefix="commonplace-") as folder, exchange(repository, remote, [], started) as own:
        listed = Path(folder) / "names"
        listed.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="ascii")
        outcome = own.pack(listed, GATHER_SECONDS)
    if outcome.code:
        raise GitError(f"The packs cannot be gathered: {outcome.reason}.", kind="repository")
    pack = repository.objects / "pack" / f"pack-{outcome.output.strip()}.pack"
    if not names.issubset(_names(pack)):
        raise GitError("The packs cannot be gathered: the new one lacks objects.", kind="repository")
    return pack.stem


def _names(pack: Path) -> list[str]:
    """The ids of the objects in a pack, from its index (version 2 of gitformat-pack(5))."""
    raw = pack.with_suffix(".idx").read_bytes()
    first = len(_HEADER) + 4 * 256
    count = int.from_bytes(raw[first - 4 : first])
    if not raw.startswith(_HEADER) or len(raw) < first + 20 * count:
        raise GitError(f"The index of {pack.stem} is damaged.", kind="repository", hint="Run git fsck to see more.")
    return [raw[at : at + 20].hex() for at in range(first, first + 20 * count, 20)]


def _replaced(objects: Path) -> set[str]:
    """Names of the packs whose objects are all in a newer pack."""
    try:
        made, *before = (objects / REPLACED).read_text(encoding="ascii").split()
    except (FileNotFoundError, ValueError):
        return set()
    return set(before) if (objects / "pack" / f"{made}.pack").exists() else set()


def _remove(objects: Path, names: Iterable[str]) -> None:
    for name in names:
        for suffix in (".idx", ".rev", ".pack"):  # the index first, so that nobody looks for objects in the pack
            (objects / "pack" / f"{name}{suffix}").unlink(missing_ok=True)


def _record(objects: Path, names: Iterable[str]) -> None:
    """Flush the names in the folder of packs, then write which packs are replaced."""
    folder = os.open(objects / "pack", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    path = objects / REPLACED
    path.parent.mkdir(exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text("".join(f"{name}\n" for name in names), encoding="ascii")
    beside.replace(path)
