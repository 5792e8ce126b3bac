"""Parts that tests use by name: `from support import GitRepo`. Fixtures made of them stand in `conftest.py`."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import resource
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2
import pytest
from pygit2.enums import FileStatus

from commonplace.settings import default_settings
from remotes import canary

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("SHARED_MATERIAL", ROOT.parent / "shared"))
"""Folder of material that is not part of the project: corpora and retrieval sets."""
UNPACKED = ROOT / ".cache" / "corpora"
"""Kept between sessions: a corpus is unpacked once and then only read."""

SOAK = os.environ.get("SOAK", "") not in {"", "0"}
"""Whether long runs are made whole (`make soak`) instead of sampled (`make test`)."""

MODELS = default_settings().model_dir
"""Folder of the model installed by `make test`; read before tests get a separate environment."""

Corpora = Callable[[str], Path]
Amount = Callable[[int, int], int]
MakeRepo = Callable[..., "GitRepo"]
"""The types of the fixtures `corpora`, `amount` and `git_repo`."""


def unpacked_corpus(name: str) -> Path:
    """The folder of a corpus, unpacked by whichever process comes first; skips the test where it is absent."""
    archive = SHARED / "corpora" / f"{name}.tar.xz"
    if not archive.is_file():
        pytest.skip(f"needs the corpus {name} beside the project (../shared/corpora)")
    target = UNPACKED / f"{name}-{archive.stat().st_size}"
    if not target.is_dir():
        UNPACKED.mkdir(parents=True, exist_ok=True)
        with (UNPACKED / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_dir():
                _unpack(archive, target)
    folders = [entry for entry in target.iterdir() if entry.is_dir()]
    return folders[0] if len(folders) == 1 else target


def _unpack(archive: Path, target: Path) -> None:
    """Unpack beside the target and rename, so that a half-unpacked corpus is never taken for a whole one."""
    beside = target.with_name(f"{target.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # the oldest Pythons of 3.11 have none
        tar.extractall(beside)  # noqa: S202 - our own archives
    beside.rename(target)


@dataclass(frozen=True, slots=True)
class GitRepo:
    """A real repository in a temporary folder."""

    path: Path

    def git(self, *args: str) -> str:
        """The output of the git command without the last line end. A failure raises an error with git's message.

        A canary in the work tree is neither shown by `git status` nor added.
        """
        if args[:2] in {("add", "--all"), ("add", "-A")} and len(args) == 2:
            args = (*args, "--", ".", canary.EXCEPT)
        done = subprocess.run(["git", *args], cwd=self.path, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            raise AssertionError(f"git {' '.join(args)} ended with {done.returncode}: {done.stderr}")
        lines = done.stdout.splitlines(keepends=True)
        shown = (line for line in lines if "status" not in args or not line.endswith(f"{canary.NAME}\n"))
        return "".join(shown).removesuffix("\n")

    def write(self, path: str, content: str | bytes) -> Path:
        """Put a file in place, byte for byte."""
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, message: str = "Change", **files: str | bytes) -> str:
        """Stage everything (after writing `files`, whose names may come as `**{"a/b.md": ...}`); the commit's id."""
        for path, content in files.items():
            self.write(path, content)
        if commit := _quickly_committed(self.path, message):
            return commit
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")


def new_repo(path: Path, files: Mapping[str, str | bytes] | None = None) -> GitRepo:
    """A new repository, with one commit when there are files."""
    repo = GitRepo(path)
    repo.path.mkdir(parents=True)
    _begin(repo, files)
    return repo


def digests(folder: Path) -> dict[str, str]:
    """Digest of each file of a folder by its path, without those of Git, which are not looked at."""
    paths = (Path(at) / name for at, folders, names in os.walk(folder) if _without_git(folders) for name in names)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
        if path.is_file()
    }


def _without_git(folders: list[str]) -> bool:
    folders[:] = [name for name in folders if name != ".git"]
    return True


def trust(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the user's own configuration name a folder as safe: its hooks may run."""
    for name, value in {"COUNT": "1", "KEY_0": "safe.directory", "VALUE_0": str(folder)}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)


def example_repo(path: Path) -> GitRepo:
    """The example as somebody's repository, with one commit."""
    shutil.copytree(ROOT / "examples" / "kb", path)
    repo = GitRepo(path)
    _begin(repo, None)
    return repo


def _begin(repo: GitRepo, files: Mapping[str, str | bytes] | None) -> None:
    """Make it a repository with a writer, and with a commit of these files and of all that is there."""
    for path, content in _empty_repository().items() if is_plain_environment() else ():
        file = repo.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content) if content is not None else file.mkdir(exist_ok=True)
    if not (repo.path / ".git").exists():
        repo.git("init", "--quiet", "--initial-branch=main")
    with (repo.path / ".git/config").open("a") as configuration:  # `git config` would be a process for each
        configuration.write(WRITER)
    for path, content in (files or {}).items():
        repo.write(path, content)
    if any(path.name != ".git" for path in repo.path.iterdir()):
        repo.commit("Begin")


WRITER = "[user]\n\tname = Test Writer\n\temail = writer@example.org\n"
ENVIRONMENT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
"""Variables of Git in a test that sets none of its own."""
STAGED_BY_GIT = frozenset({".gitattributes", ".gitmodules"})
"""Files that change how others are staged."""


def is_plain_environment() -> bool:
    """Whether no variable changes what Git does."""
    return {name: value for name, value in os.environ.items() if name.startswith("GIT_")} == ENVIRONMENT


@cache
def _empty_repository() -> Mapping[str, bytes | None]:
    """The files that `git init` makes, and its folders, without the samples of hooks."""
    with TemporaryDirectory() as place:
        GitRepo(Path(place)).git("init", "--quiet", "--initial-branch=main")
        paths = [path for path in sorted(Path(place).rglob("*")) if path.suffix != ".sample"]
        return {str(path.relative_to(place)): path.read_bytes() if path.is_file() else None for path in paths}


def _quickly_committed(folder: Path, message: str) -> str | None:
    """The commit of everything in a work tree that libgit2 stages as Git does; None for another, which stays as it is.

    `git add`, `git commit` and `git rev-parse` take ten times as long, and the suite commits some ten thousand times.
    """
    if not (is_plain_environment() and _is_plain_repository(folder / ".git") and re.fullmatch(r"\S(.*\S)?", message)):
        return None
    try:
        repository = pygit2.Repository(str(folder))
        changed = repository.status(untracked_files="all")
        names = {path.rpartition("/")[2] for path in (*changed, *(entry.path for entry in repository.index))}
        if names & {*STAGED_BY_GIT, ""} or FileStatus.CONFLICTED in set(changed.values()):
            return None
        return _committed(repository, changed, message)
    except (UnicodeError, OSError, pygit2.GitError):
        return None


def _is_plain_repository(own: Path) -> bool:
    """Whether Git's own folder has no configuration, hook or work in progress that changes what a commit is."""
    with suppress(OSError):
        plain = f"{(_empty_repository()['.git/config'] or b'').decode()}{WRITER}"
        configuration = (own / "config").read_text()
        sections = re.findall(r"^\[(\w+)", configuration.removeprefix(plain), re.MULTILINE)
        added = {path.name for path in own.iterdir() if path.name.endswith("_HEAD") or path.name.startswith("rebase")}
        return (
            configuration.startswith(plain)
            and {"remote", "branch"}.issuperset(sections)
            and not added.difference({"FETCH_HEAD", "ORIG_HEAD"})
            and not any((own / "hooks").iterdir())
            and not (own / "info/attributes").exists()
        )
    return False


def _committed(repository: pygit2.Repository, changed: Mapping[str, int], message: str) -> str:
    for path, state in changed.items():
        if state & FileStatus.WT_DELETED:
            repository.index.remove(path)
    for path, state in changed.items():
        if state & (FileStatus.WT_NEW | FileStatus.WT_MODIFIED | FileStatus.WT_TYPECHANGE) and (
            path.rpartition("/")[2] != canary.NAME
        ):
            repository.index.add(path)
    writer = pygit2.Signature("Test Writer", "writer@example.org")
    parents = [] if repository.head_is_unborn else [repository.head.target]
    tree = repository.index.write_tree()
    repository.index.write()  # with the tree that was just made, as Git keeps it
    return str(repository.create_commit("HEAD", writer, writer, f"{message}\n", tree, parents))


def eventually(check: Callable[[], bool], seconds: float = 60.0) -> None:
    """Ask again and again until the answer is yes; fails when it is not in time.

    The pauses leave the machine to what is waited for: they are twice as long as asking takes.
    """
    begin = asked = time.monotonic()
    while not check():
        now = time.monotonic()
        if now > begin + seconds:
            raise AssertionError(f"not within {seconds:g} s")
        time.sleep(min(max(0.02, 2 * (now - asked)), 0.5))
        asked = time.monotonic()


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended. A signal ends it when it next has a core: wait for that."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


def open_files(beginning: str) -> list[str]:
    """Open files of this process whose name has this prefix. Other threads may be opening files at the same time."""
    names: list[str] = []
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are enough
        with suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/self/fd/{number}"))  # noqa: PTH115 - as the system gives it
    return sorted(name for name in names if name.startswith(beginning))


@contextmanager
def no_more_files(free: int = 0) -> Iterator[None]:
    """Let this process open no more than so many files meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(free)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(held, default=-1) + 1, hard))
    for descriptor in held:
        os.close(descriptor)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
