"""Fetch and push through a temporary bare repository, and the packs that they leave."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from urllib.parse import unquote

from commonplace.domain.errors import GitError, UnavailableError
from commonplace.store.disk.file_swap import storage_errors
from commonplace.store.git.layout import is_named_safe, read_small, repository_settings, require_plain_objects
from commonplace.store.git.repository import REPLACED, GitRepository
from commonplace.store.git.shared_modes import SHARED_REPOSITORY
from commonplace.store.git_command import GitResult, TimeLimits, try_git
from commonplace.store.names import checked_ref, is_object_id

# Fetch and push through a temporary bare repository: git never reads a served repository's configuration.
#
# Git runs many programs that a repository's configuration can name: hooks, helpers, filters, proxies. The temporary
# repository uses the served repository's objects; of its configuration, only the URLs of the one remote and HTTP
# headers are copied. The user's own configuration applies as always.


_HEADERS = re.compile(r"http\.(.+\.)?extraheader", re.DOTALL)
_SYMREF = re.compile(r"ref: (refs/heads/\S+)\tHEAD$", re.MULTILINE)
DEFAULT_BRANCH = "refs/heads/main"
"""Branch of a remote without commits whose HEAD is not known."""
_FILTER = re.compile(r"[a-z0-9:=+,.-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b"}
_HARMLESS = (
    "core.hooksPath=/dev/null", "core.alternateRefsCommand=true", "core.fsmonitor=false", "gc.auto=0",
    "receive.autogc=false", "receive.denyCurrentBranch=refuse", "maintenance.auto=false", "safe.bareRepository=all",
)  # fmt: skip
"""Settings with which git runs no program of the repository in which it runs."""
_UNPACK_LIMIT = "receive.unpackLimit=20"
"""Number of objects from which a remote on this machine stores a push as one pack.

Below it Git flushes each object as a file of its own; with its default of 100 objects a push of 16 writes takes 2 to 3
times as long.
"""
_HOOKS = frozenset(
    {
        "pre-receive",
        "update",
        "post-receive",
        "post-update",
        "reference-transaction",
        "proc-receive",
        "push-to-checkout",
    }
)


@dataclass(frozen=True, slots=True)
class RemoteTransfer:
    """A temporary repository with the objects of a served one and one remote."""

    folder: Path
    objects: Path
    remote: str
    local: Sequence[Path]
    """Folders of the remote, if it is on this machine."""
    started: Callable[[subprocess.Popen[bytes]], None] | None = None
    """Called with each git process; see `git_command.try_git`."""

    def fetch(
        self,
        references: str | Sequence[str],
        *,
        settings: Mapping[str, Sequence[str]],
        timeout: float | TimeLimits,
        prune: bool = False,
    ) -> GitResult:
        """Run git fetch. `tip` returns the fetched commit.

        Args:
            references: The refspec, or several.
            settings: Further configuration.
            timeout: Timeout in seconds, or a total timeout with one for the time without progress.
            prune: Whether to remove the refs that the remote does not have.

        Raises:
            GitError: git timed out or is not installed.
        """
        command = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap="]
        command += ["--progress"] * isinstance(timeout, TimeLimits) + ["--prune"] * prune
        return self._git([*command, self._end("upload-pack")], references, settings, timeout)

    def push(
        self,
        references: str | Sequence[str],
        options: Sequence[str] = (),
        *,
        settings: Mapping[str, Sequence[str]],
        timeout: float | TimeLimits,
    ) -> GitResult:
        """Run git push.

        Args:
            references: The refspec, or several.
            options: Further options.
            settings: Further configuration.
            timeout: Timeout in seconds, or a total timeout with one for the time without progress.

        Raises:
            GitError: git timed out or is not installed, or the remote is a folder with its own hooks.
        """
        self._require_harmless()
        command = ["push", "--porcelain", "--no-verify", "--no-signed", "--no-recurse-submodules"]
        progress = ["--progress"] if isinstance(timeout, TimeLimits) else []
        return self._git([*command, *progress, *options, self._end("receive-pack")], references, settings, timeout)

    def default_branch(self, settings: Mapping[str, Sequence[str]], timeout: float) -> str:
        """Full name of the branch that the remote's HEAD names; `refs/heads/main` if HEAD is unknown.

        Args:
            settings: Further configuration.
            timeout: Seconds.

        Raises:
            UnavailableError: the remote cannot be reached.
            GitError: git timed out or is not installed.
        """
        outcome = self._git(["ls-remote", "--symref", self._end("upload-pack")], "HEAD", settings, timeout)
        if outcome.code:
            raise UnavailableError(
                f"The remote cannot be read: {outcome.reason}. Nothing was written.",
                kind="remote",
                hint="Try again when it answers.",
                retry_after=1,
            )
        match = _SYMREF.match(outcome.output)
        return checked_ref(match[1]) if match else DEFAULT_BRANCH

    def list_tags(self, *, settings: Mapping[str, Sequence[str]], timeout: float) -> GitResult:
        """Run git ls-remote for the tags. It transfers no objects.

        Args:
            settings: Further configuration.
            timeout: Seconds.

        Raises:
            GitError: git timed out, printed too much or is not installed.
        """
        return self._git(["ls-remote", "--tags", "--quiet", self._end("upload-pack")], (), settings, timeout)

    def list_refs(self, patterns: Sequence[str], *, settings: Mapping[str, Sequence[str]], timeout: float) -> GitResult:
        """Run git ls-remote for the refs that match patterns. Git reads the names of all refs, so it is slow for many.

        Args:
            patterns: Patterns of full names.
            settings: Further configuration.
            timeout: Seconds.

        Raises:
            GitError: git timed out, printed too much or is not installed.
        """
        return self._git(["ls-remote", "--quiet", "--refs", self._end("upload-pack")], patterns, settings, timeout)

    def pack(self, listed: Path, timeout: float) -> GitResult:
        """Run git pack-objects: write a pack of objects that the repository has. The output is the pack's id.

        Args:
            listed: File with the ids of the objects, one a line.
            timeout: Seconds.

        Raises:
            GitError: git timed out or is not installed.
        """
        self._require_plain()
        command = ["pack-objects", "--quiet", "--threads=1", "--delta-base-offset", f"{self.objects}/pack/pack"]
        return try_git(
            self.folder, command, settings=_as_settings(_HARMLESS), timeout=timeout, started=self.started, stdin=listed
        )

    def tip(self, reference: str) -> str:
        """The commit that a fetch stored in a ref; "" if there is none."""
        text = (read_small(self.folder, reference) or "").strip()
        return text if is_object_id(text) else ""

    def tips(self, folder: str) -> dict[str, str]:
        """The commits of the refs directly below a folder (`refs/…/`), by full name."""
        lines = (line.partition(" ") for line in (self.folder / "packed-refs").read_text(errors="replace").splitlines())
        tips = {name: text for text, _, name in lines if name.rpartition("/")[0] + "/" == folder and is_object_id(text)}
        with suppress(FileNotFoundError), os.scandir(self.folder / folder) as entries:
            tips |= {folder + entry.name: self.tip(folder + entry.name) for entry in entries if entry.is_file()}
        return tips

    def _git(
        self,
        options: Sequence[str],
        references: str | Sequence[str],
        settings: Mapping[str, Sequence[str]],
        timeout: float | TimeLimits,
    ) -> GitResult:
        self._require_plain()
        return try_git(
            self.folder,
            options,
            [self.remote, *([references] if isinstance(references, str) else references)],
            settings={**_as_settings(_HARMLESS), **settings},
            timeout=timeout,
            started=self.started,
        )

    def _require_plain(self) -> None:
        with storage_errors("the exchange with the remote"):
            require_plain_objects(self.objects)

    def _end(self, program: str) -> str:
        """The option that names the program at the remote end."""
        if not self.local:
            return f"--{program}=git-{program}"
        settings: list[str] = [] if all(map(is_named_safe, self.local)) else list(_HARMLESS)
        if program == "receive-pack":
            settings.append(_UNPACK_LIMIT)
        return f"--{program}={' '.join(['git', *(f'-c {setting}' for setting in settings), program])}"

    def _require_harmless(self) -> None:
        """Reject a push to a folder on this machine that has hooks.

        Raises:
            GitError: the folder has hooks, and the user's own configuration does not trust it.
        """
        if any(_has_hooks(place) and not is_named_safe(place) for place in self.local):
            raise GitError(
                f"Nothing was pushed to {self.remote}: it is a folder with hooks, which are programs.",
                kind="repository",
                hint="If you trust it, say so: git config --global --add safe.directory with its full path.",
            )


@contextmanager
def exchange(
    repository: GitRepository,
    remote: str,
    tips: Iterable[str],
    started: Callable[[subprocess.Popen[bytes]], None] | None = None,
    *,
    refs: Mapping[str, str] | None = None,
) -> Generator[RemoteTransfer]:
    """A temporary repository for one fetch or push; deleted at the end of the block.

    Args:
        repository: The served repository.
        remote: Name of one of its remotes.
        tips: Commits that exist already; "" is ignored.
        started: Called with each process.
        refs: Further commits that exist already, by the names of the refs that the temporary repository has.

    Raises:
        GitError: the remote's URL is invalid.
        StorageError: the folder cannot be created.
    """
    with storage_errors("a temporary folder"):
        folder = Path(tempfile.mkdtemp(prefix="commonplace-"))
    try:
        settings = repository_settings(repository.gitdir, repository.common)
        own = _own_settings(settings, remote, repository.root)
        with storage_errors("a temporary folder"):
            _make(folder, repository.objects, own, _named(repository, tips) | dict(refs or {}))
            shallow = read_small(repository.common, "shallow")
            if shallow:
                (folder / "shallow").write_text(shallow, encoding="utf-8")
        addresses = [value for name, value in own if name.endswith("url")]
        local = [path for url in addresses if (path := _local(url))]
        yield RemoteTransfer(folder, repository.objects, remote, local, started)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _named(repository: GitRepository, tips: Iterable[str]) -> dict[str, str]:
    """The commits that the repository has, by names for them."""
    present = (tip for tip in tips if tip and repository.has_object(tip))
    return {f"refs/commonplace/tip-{number:04}": tip for number, tip in enumerate(present)}


def _as_settings(lines: Iterable[str]) -> dict[str, list[str]]:
    return {name: [value] for name, _, value in (line.partition("=") for line in lines)}


def _own_settings(settings: Iterable[tuple[str, str]], remote: str, root: Path) -> list[tuple[str, str]]:
    """The settings to copy from a repository's configuration."""
    prefix = f"remote.{remote}."
    found_settings: list[tuple[str, str]] = []
    for name, value in settings:
        key = name.removeprefix(prefix) if name.startswith(prefix) else ""
        if key in {"url", "pushurl"}:
            found_settings.append((name, _address(value, root)))
        elif name == SHARED_REPOSITORY or _HEADERS.fullmatch(name):
            found_settings.append((name, value))
        elif key == "promisor" and value.lower() in {"true", "yes", "on", "1"}:
            found_settings += [("extensions.partialclone", remote), (name, "true")]
        elif key == "partialclonefilter" and _FILTER.fullmatch(value):
            found_settings.append((name, value))
    return found_settings


def _address(url: str, root: Path) -> str:
    """The URL of a remote; a path is made absolute."""
    if not url or url.startswith("-") or _CONTROL.search(url):
        raise GitError(
            "The remote's address is not a valid address.", kind="repository", hint="Set it with git remote set-url."
        )
    return str(root / url) if _is_path(url) else url


def _is_path(url: str) -> bool:
    colon = url.find(":")
    return colon < 0 or 0 <= url.find("/") < colon


def _local(url: str) -> Path | None:
    """The folder that Git would open for a URL; None for a URL of another machine.

    Git ignores the host of a `file` URL, whatever it is.
    """
    if url.startswith("file://"):
        _, slash, path = url.removeprefix("file://").partition("/")
        return Path(os.path.realpath(unquote(slash + path)))
    return Path(os.path.realpath(url)) if _is_path(url) else None


def _make(folder: Path, objects: Path, settings: Iterable[tuple[str, str]], refs: Mapping[str, str]) -> None:
    """Create a bare repository with another one's objects, without `git init`, which would copy templates."""
    (folder / "refs").mkdir()
    (folder / "objects").symlink_to(objects)
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
    lines = [f"{tip} {name}\n" for name, tip in sorted(refs.items())]
    (folder / "packed-refs").write_text("".join(lines), encoding="utf-8")
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = true"]
    for name, value in settings:
        section, _, rest = name.partition(".")
        middle, _, key = rest.rpartition(".")
        header = f'[{section} "{_escaped(middle, plain=True)}"]' if middle else f"[{section}]"
        lines += [header, f'\t{key} = "{_escaped(value)}"']
    (folder / "config").write_text("\n".join([*lines, ""]), encoding="utf-8", errors="surrogateescape")


def _escaped(text: str, *, plain: bool = False) -> str:
    """A quoted text of Git's configuration; in a section's name only quotes and backslashes are escaped."""
    escapes = {char: escape for char, escape in _ESCAPES.items() if not plain or char in '\\"'}
    return "".join(escapes.get(char, char) for char in text)


def _has_hooks(remote: Path) -> bool:
    gitdir = remote / ".git" if (remote / ".git").is_dir() else remote
    try:
        if any(name == "core.hookspath" for name, _ in repository_settings(gitdir, gitdir)):
            return True
        return any(name in _HOOKS for name in os.listdir(gitdir / "hooks"))  # noqa: PTH208 - names are enough
    except FileNotFoundError:
        return False
    except (OSError, GitError):
        return True


# Gathers the small packs and loose objects of a repository into one pack; every fetch and every write leaves more.
#
# A pack costs each process that reads it a descriptor and two maps, and libgit2 never closes it. Git's own `gc --auto`
# is switched off, because it would run with the repository's configuration; and it drops objects without a ref, which
# a reader of a dropped commit or a write before its push still uses. Here every object is retained.
#
# Nothing is locked: a replaced pack is removed by the next gathering, after its replacement was written, checked and
# flushed. A process that is killed leaves packs too many, which are gathered again.


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
        made = _packed(repository, remote, set(single).union(*map(_names, rewritten)), started)
        _record(objects, dict.fromkeys([made, *(pack.stem for pack in rewritten)]))
        for name in single:
            (objects / name[:2] / name[2:]).unlink(missing_ok=True)
    return True


def _small_packs(objects: Path) -> list[Path]:
    """The packs that may be rewritten, the smallest first; temporary files of killed processes are removed."""
    found_pairs: list[tuple[int, Path]] = []
    with os.scandir(objects / "pack") as entries:
        names = {entry.name: entry for entry in entries}
    for name, entry in names.items():
        _remove_if_left(entry)
        stem, suffix = os.path.splitext(name)  # noqa: PTH122 - names are enough
        whole = f"{stem}.idx" in names and not any(stem + other in names for other in _OTHERS_USE)
        if suffix == ".pack" and whole and (size := entry.stat(follow_symlinks=False).st_size) <= MAX_PACK_BYTES:
            found_pairs.append((size, Path(entry.path)))
    return [path for _, path in sorted(found_pairs)]


def _remove_if_left(entry: os.DirEntry[str]) -> None:
    """Remove a file that a killed process left."""
    with suppress(FileNotFoundError):
        if entry.name.startswith("tmp_") and time.time() - entry.stat(follow_symlinks=False).st_mtime > LEFT_SECONDS:
            Path(entry.path).unlink()


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
            folders = [name for name in os.listdir(objects) if len(name) == len(_COUNTED)]  # noqa: PTH208
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
