"""Parts that tests use by name: `from support import GitRepo`. Fixtures made of them stand in `conftest.py`."""

from __future__ import annotations

import fcntl
import hashlib
import os
import resource
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

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
    repo.git("init", "--quiet", "--initial-branch=main")
    with (repo.path / ".git/config").open("a") as configuration:  # `git config` would be a process for each
        configuration.write("[user]\n\tname = Test Writer\n\temail = writer@example.org\n")
    for path, content in (files or {}).items():
        repo.write(path, content)
    if any(path.name != ".git" for path in repo.path.iterdir()):
        repo.git("add", "--all")
        repo.git("commit", "--quiet", "--allow-empty", "--message", "Begin")


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
