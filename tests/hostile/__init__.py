"""Hostile arguments: paths that lead out, or into Git's own folder, and words that Git could take for options."""

from __future__ import annotations

import random
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from support import GitRepo

CANARY = "canary-7f3a-outside"
PARTS = (
    "..", ".", "...", "", "a", "notes", "secret.md", "secret", ".git", ".GIT", "git~1", ".git.", ".git ", ".Git::$DATA",
    ".gitattributes", ".gitmodules", "config", "hooks", "HEAD", "%2e%2e", "%2E%2E%2F", "..%2f", "..\\", "C:", "C:\\",
    "\\\\host\\share", "//host", "/etc/passwd", "/", "\0", "\n", "\r\n", "a.", "a ", " a", "e\u0301", "\u00e9",
    "\uff0e\uff0e", "\u2024\u2024", "\u202e", "\ufeff", "con", "aux.md", "~", "~root", "$HOME", "-rf", "--output=x",
    "x" * 300, "\u2215", "\uff0f", ".commonplace-1", ".obsidian", "\U0001f600", "a:b", "a*?", "|x", "`id`", "$(id)",
)  # fmt: skip
SEPARATORS = ("/", "/", "/", "\\", "//", "/./", "%2f", "", "\u2215")
OPTIONS = (
    "--output={out}", "--output", "-o{out}", "--upload-pack=touch {out}", "--receive-pack=touch {out}",
    "--exec=touch {out}", "-c core.pager=touch {out}", "-ccore.fsmonitor=touch {out}", "--git-dir={out}",
    "--work-tree={out}", "--no-index", "--ext-diff", "--textconv", "--all", "--not", "--stdin", "--help",
    "--version", "-h", "-", "--", "-1", "-rf", "@", "@{{-1}}", "HEAD", "HEAD~1", "HEAD:a.md", ":/Begin", "main",
    "refs/heads/main", "main..other", "^main", "ext::sh -c touch% {out}", "fd::17", "file://{out}",
    "ssh://-oProxyCommand=touch%20{out}/x", "{out}", "$(touch {out})", "`touch {out}`", "; touch {out}",
    "| touch {out}", "\n--output={out}", "0" * 40, "f" * 41, "\0", "", " ", "deadbeef; ls", "x" * 5_000, "\ud800",
)  # fmt: skip
"""Revisions, branches and names as one that is no such thing; `{out}` is a file that must not come to be."""


def path_string(chance: random.Random, outside: str) -> str:
    """A path at random, of parts that have led out of folders elsewhere; `outside` is a file that exists."""
    pieces = [chance.choice((*PARTS, outside)) for _ in range(chance.randint(1, 5))]
    text = pieces[0]
    for piece in pieces[1:]:
        text += chance.choice(SEPARATORS) + piece
    return chance.choice(("", "", "../", "../../", "/")) + text + chance.choice(("", "", ".md", "/", ".", " "))


@dataclass(frozen=True, slots=True)
class Ground:
    """A place with secrets beside the folders that are served; whatever lies outside these stays as it is."""

    place: Path
    before: dict[str, str]
    repos: tuple[GitRepo, ...]
    known: frozenset[str]
    """Files of the repositories at the start, including `.gitignore` of a store of projects."""

    @property
    def secret(self) -> str:
        """A file outside, which no answer may repeat."""
        return str(self.place / "secret.md")

    @property
    def out(self) -> str:
        """A path at which a command that is run by mistake would leave a file."""
        return str(self.place / "made-by-mistake")

    def assert_untouched(self) -> None:
        """Nothing came, went or changed outside, nor in Git's own folders, and what was written is none of Git's."""
        assert _guarded(self.place, self.repos) == self.before
        for repo in self.repos:
            repo.git("fsck", "--strict", "--no-dangling")
            for written in _listed(repo) - self.known:
                parts = [part.lower().rstrip(". ") for part in written.split("/")]
                assert not any(part.startswith(".git") for part in parts), written


def hostile_ground(place: Path, *repos: GitRepo) -> Ground:
    """Put secrets beside the repositories, which lie in this place, and remember what is there."""
    for name in ("secret.md", "secret"):
        (place / name).write_text(CANARY)
    return Ground(place, _guarded(place, repos), repos, frozenset().union(*map(_listed, repos)))


def _listed(repo: GitRepo) -> set[str]:
    return set(repo.git("ls-files", "-z", "--cached", "--others").split("\0"))


def _guarded(place: Path, repos: tuple[GitRepo, ...]) -> dict[str, str]:
    """Every file outside, and what no write may touch of Git's own."""
    outside = (path for path in place.rglob("*") if path.is_file() and not _is_within(path, repos))
    own = (
        path
        for repo in repos
        for path in (
            repo.path / ".git" / "config",
            *(repo.path / ".git").glob("hooks/*"),
            *(repo.path / ".git").glob("info/*"),
        )
        if path.is_file()
    )
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in (*outside, *own)}


def _is_within(path: Path, repos: tuple[GitRepo, ...]) -> bool:
    return any(path.is_relative_to(repo.path) for repo in repos) or "own" in path.parts
