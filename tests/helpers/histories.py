"""A corpus replayed as the history of a repository: pages come, change, move and go, on two branches that merge."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from commonplace.domain.ports import History
from commonplace.store import open_store
from support import GitRepo, new_repo

FIRST_SECOND = 1_600_000_000
HOUR = 3_600
PAGES = 150
"""Pages of the corpus that take part."""
MAX_PAGE_BYTES = 6_000
MERGE_EACH = 40
"""Commits after which a side branch of three commits is merged."""


def history(folder: Path) -> History:
    """The history of a folder in a repository."""
    return open_store(folder, commit="manual", state_dir=folder.parent / "state").history


class Replay:
    """The files of a branch while its history is written.

    Args:
        corpus: Folder of the pages.
        seed: The same history for the same seed.
    """

    def __init__(self, corpus: Path, seed: int) -> None:
        self._random = random.Random(seed)
        paths = [
            path for path in sorted(corpus.rglob("*.md")) if path.is_file() and path.stat().st_size < MAX_PAGE_BYTES
        ]
        chosen = paths[:: max(1, len(paths) // PAGES)][:PAGES]
        self._pages = {path.relative_to(corpus).as_posix(): path.read_bytes() for path in chosen}
        self._names = sorted(self._pages)
        self._mark = 0

    def stream(self, commits: int) -> Iterator[bytes]:
        """The history as `git fast-import` takes it."""
        files = {name: self._pages[name] for name in self._names[::2]} | {
            "img/plan.png": b"1",
            "README.md": b"# Base\n",
        }
        yield from self._commit("main", [("M", path, content) for path, content in files.items()])
        while self._mark < commits:
            if self._mark % MERGE_EACH == 0:
                yield from self._side_branch(files)
            else:
                yield from self._commit("main", [self._change(files)])

    def _side_branch(self, files: dict[str, bytes]) -> Iterator[bytes]:
        """Three commits beside one of the main line, and their merge. The side adds pages of its own names."""
        base = self._mark
        added: list[tuple[str, str, bytes]] = []
        for number in range(3):
            page = self._random.choice(self._names)
            added.append(("M", f"side{base}/{number}.md", self._pages[page] + b"\n[[README]]\n"))
            yield from self._commit("side", [added[-1]], parent=base if number == 0 else 0)
        side = self._mark
        yield from self._commit("main", [self._change(files)], parent=base)
        files.update({path: content for _, path, content in added})
        yield from self._commit("main", added, merged=side)

    def _change(self, files: dict[str, bytes]) -> tuple[str, str, bytes]:
        pages = sorted(path for path in files if path.endswith(".md"))
        path = self._random.choice(pages)
        match self._random.randrange(10):
            case 0:
                path = self._random.choice(self._names)
                files[path] = self._pages[path]
            case 1 if len(pages) > PAGES // 4:
                return "D", path, files.pop(path)
            case 2:
                path = f"img/p{self._random.randrange(5)}.png"
                if files.pop(path, None) is not None:
                    return "D", path, b""
                files[path] = b"2"
            case 3:
                new = f"moved/{self._random.randrange(60)}.md"
                files[new] = files.pop(path)
                return "R", f"{path} {new}", b""
            case 4:
                path = ".commonplaceignore"
                files[path] = b"" if files.get(path) else b"side*/\nmoved/1*.md\n"
            case 5:
                files[path] = self._pages[self._random.choice(self._names)]
            case _:
                other = self._random.choice(pages)
                line = f"\nSee [[{other.removesuffix('.md')}]], ![[p{self._mark % 5}.png]] and words{self._mark}.\n"
                files[path] = files[path] + line.encode()
        return "M", path, files[path]

    def _commit(
        self, branch: str, changes: list[tuple[str, str, bytes]], *, parent: int = 0, merged: int = 0
    ) -> Iterator[bytes]:
        self._mark += 1
        who = f"A <a@example.org> {FIRST_SECOND + HOUR * self._mark} +0000"
        yield f"commit refs/heads/{branch}\nmark :{self._mark}\ncommitter {who}\ndata 6\nchange\n".encode()
        if parent:
            yield f"from :{parent}\n".encode()
        if merged:
            yield f"merge :{merged}\n".encode()
        for kind, path, content in changes:
            names = " ".join(f'"{name}"' for name in path.split(" ")) if kind == "R" else f'"{path}"'
            if kind == "M":
                yield f"M 644 inline {names}\ndata {len(content)}\n".encode() + content + b"\n"
            else:
                yield f"{kind} {names}\n".encode()


def replayed(corpus: Path, path: Path, *, commits: int, seed: int) -> GitRepo:
    """A repository with a corpus's replayed history, checked out at its end."""
    repo = new_repo(path)
    stream = b"".join(Replay(corpus, seed).stream(commits))
    subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=path, input=stream, check=True, timeout=300)
    repo.git("reset", "--quiet", "--hard", "main")
    return repo
