"""A folder of a test as one of several clones of a remote: what the test changes is pushed, what others push arrives.

Under a deployment with replicas a test's folder is what a person's clone is to the server: another copy. The helpers
that start the product put the remote between both, so that a test reads and changes files as it does with a folder.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from remotes.canary import NAME as CANARY

BRANCH = "refs/heads/main"
TAGS = "refs/tags/*"
OUTSIDE = "Change files outside"
"""Subject of the commits of what a test changed in a folder and did not commit."""

_State = tuple[tuple[str, ...], tuple[tuple[str, int, int, int], ...]]


@dataclass(slots=True)
class Checkout:
    """A folder and its bare remote."""

    folder: Path
    remote: Path
    own: Path
    """Git's folder: that of the folder, or one beside the remote if the folder is no repository of its own."""
    tip: str = ""
    """The commit that folder and remote had after the last exchange."""
    refs: tuple[str, ...] = ()
    """Commit and tags of the folder then."""
    state: _State = ((), ())
    """The files and the commit of the folder then."""
    pushes: int = 0
    """Number of pushes of what a test changed."""
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def url(self) -> str:
        """The remote's URL."""
        return f"file://{self.remote}"

    def git(self, *arguments: str, check: bool = True) -> str:
        """The output of git in this folder."""
        line = ["git", f"--git-dir={self.own}", f"--work-tree={self.folder}", *arguments]
        done = subprocess.run(
            line, cwd=self.folder, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(arguments)}: {done.stderr}")
        return done.stdout.rstrip("\n")

    def push_changes(self) -> None:
        """Commit what the test has changed since the last exchange, and push it with the folder's tags."""
        if not self.folder.is_dir() or self._state() == self.state:
            return
        if self._is_dirty():
            self.git("add", "--all", "--", ".", f":(exclude,glob)**/{CANARY}")
            self.git("commit", "--quiet", "--no-verify", "--allow-empty", "--message", OUTSIDE)
        refs = self._refs()
        if refs and refs != self.refs:
            self.git("push", "--quiet", "--force", "--prune", str(self.remote), f"HEAD:{BRANCH}", f"{TAGS}:{TAGS}")
            self.tip, self.refs = refs[0].partition(" ")[0], refs
            self.pushes += 1
        self.state = self._state()

    def pull(self) -> None:
        """Take in what the server has pushed."""
        tip = _tip(self.remote)
        if not tip or tip == self.tip or not self.folder.is_dir():
            return
        self.git("fetch", "--quiet", str(self.remote), BRANCH)
        self.git("reset", "--quiet", "--hard", "FETCH_HEAD")
        self.tip, self.refs, self.state = tip, self._refs(), self._state()

    def _is_dirty(self) -> bool:
        lines = self.git("status", "--porcelain", "--untracked-files=all").splitlines()
        return any(not line.endswith(CANARY) for line in lines)

    def _state(self) -> _State:
        rows: list[tuple[str, int, int, int]] = []
        for place, folders, files in os.walk(self.folder):
            folders[:] = [folder for folder in folders if folder != ".git"]
            for name in files:
                path = os.path.join(place, name)  # noqa: PTH118 - of text
                stat = os.lstat(path)
                rows.append((path, stat.st_mtime_ns, stat.st_size, stat.st_ino))
        return self._refs(), tuple(sorted(rows))

    def _refs(self) -> tuple[str, ...]:
        """The folder's commit and its tags; none without a commit."""
        lines = self.git("show-ref", "--head", "--tags", check=False).splitlines()
        return tuple(lines) if lines and lines[0].endswith(" HEAD") else ()


def new_checkout(folder: Path, place: Path) -> Checkout:
    """Put a remote behind a folder; it has the folder's branch, or a first commit of its files.

    Args:
        folder: The folder.
        place: An empty folder for the remote.
    """
    remote = place / f"{folder.name}.git"
    _run("git", "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    own = folder / ".git"
    made = Checkout(folder, remote, own if (own / "HEAD").is_file() else place / "own")
    if made.own != own:
        _run("git", "init", "--quiet", "--bare", "--initial-branch=main", str(made.own))
        _run("git", f"--git-dir={made.own}", "config", "core.bare", "false")
    made.push_changes()
    made.pushes = 0
    return made


def _run(*line: str) -> None:
    subprocess.run(line, check=True, capture_output=True)


def _tip(remote: Path) -> str:
    """The commit of the remote's branch; "" if there is none."""
    file = remote / BRANCH
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        line = ["git", f"--git-dir={remote}", "rev-parse", "--verify", "--quiet", BRANCH]
        return subprocess.run(line, capture_output=True, text=True, check=False).stdout.strip()
