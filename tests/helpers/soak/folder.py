"""The folder that everybody works on: real files, two branches, and pages whose right content is known."""

from __future__ import annotations

import random
import threading
from pathlib import Path

from support import Corpora, GitRepo, eventually, new_repo

BRANCHES = ("main", "side")
QUESTIONS = (
    "compiler error", "module", "how do I install a module", "vector", "get-childitem", "template", "iterator",
    "exception handling", "pipeline", "tide module", '"copy constructor"', "linker -warning", "remoting",
)  # fmt: skip
"""Queries, each of which is always answered by a page."""


class SharedFolder:
    """A repository in which servers, editors and Git work in turns.

    `turn` is held by whoever changes something, so that at any moment it is known what the repository must hold.
    """

    def __init__(self, repo: GitRepo, chance: random.Random) -> None:
        self.repo = repo
        self.turn = threading.Lock()
        self.branch = BRANCHES[0]
        self.known: dict[str, dict[str, str]] = {name: {} for name in BRANCHES}
        """Contents of the pages written through a server, by branch."""
        self.files = [path for path in repo.git("ls-files", "-z").split("\0") if path.endswith(".md")]
        self._chance = chance

    @property
    def pages(self) -> dict[str, str]:
        """Contents of the pages written through a server on the current branch, by path without suffix."""
        return self.known[self.branch]

    def save(self) -> None:
        """An editor saves a file: a new one, or one that was there."""
        file = self.repo.path / self._outside()
        file.parent.mkdir(exist_ok=True)
        words = " ".join(self._chance.choices(("tide", "harbour", "vector", "quay", "module"), k=200))
        file.write_text(f"# {file.stem}\n\n{words} [[page-{self._chance.randrange(40)}]]\n")

    def move(self) -> None:
        """A file gets another name by hand, or goes away."""
        file, other = self.repo.path / self._outside(), self.repo.path / self._outside()
        if file.exists() and self._chance.random() < 0.7:
            file.rename(other)
        else:
            file.unlink(missing_ok=True)

    def switch(self) -> None:
        """Commit uncommitted files by hand, and check out the other branch."""
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "--message", "By hand")
        other = BRANCHES[self.branch == BRANCHES[0]]
        self._git("switch", "--quiet", other)
        self.branch = other

    def _outside(self) -> str:
        return f"outside/note-{self._chance.randrange(60)}.md"

    def _git(self, *arguments: str) -> None:
        """A command that finds Git's index taken by a server is given again, as a person would."""

        def done() -> bool:
            try:
                self.repo.git(*arguments)
            except AssertionError as error:
                if "index.lock" in str(error):
                    return False
                raise
            return True

        eventually(done)


def shared_folder(place: Path, corpora: Corpora, count: int, chance: random.Random) -> SharedFolder:
    """`count` real files, evenly out of two corpora, and a second branch on which some differ."""
    answers = " ".join(question.replace("-warning", "").replace('"', "") for question in QUESTIONS)
    files: dict[str, str | bytes] = {"answers.md": f"# Answers\n\n{answers}\n"}
    for name in ("cpp-docs", "powershell-docs"):
        folder = corpora(name)
        paths = sorted(path for path in folder.rglob("*.md") if not _is_hidden(path.relative_to(folder)))
        chosen = paths[:: max(1, len(paths) * 2 // count)][: count // 2]
        files |= {f"{name}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in chosen}
    repo = new_repo(place, files)
    repo.git("switch", "--quiet", "--create", "side")
    differing = chance.sample(sorted(files), max(4, count // 50))
    gone, changed = differing[::4], [path for number, path in enumerate(differing) if number % 4]
    for path in gone:
        (repo.path / path).unlink()
    repo.commit("Differ", **{path: (repo.path / path).read_bytes() + b"\nOn the side.\n" for path in changed})
    repo.git("switch", "--quiet", "main")
    return SharedFolder(repo, chance)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
