"""Ledger of written words, their readers and their place, for tests that nothing unseen is lost.

Every write contains a unique word. A word that a step removes from the files is accounted for in three cases: the
step's writer had been shown the word, the step's answer names bytes that contain it, or Git's history has it.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.store.discovery import open_store
from support import GitRepo

WORD = re.compile(r"\bunique\d+x\b")
REVISION = re.compile(r"\b[0-9a-f]{40}\b")


@dataclass
class Ledger:
    """The words of one folder."""

    repo: GitRepo
    state: Path
    """Folder of the servers' trash."""
    shown: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The words that each writer was shown or wrote."""
    owed: dict[str, str] = field(default_factory=dict)
    """Words that went unseen and that no answer named, with the step; the history must have them."""
    counts: Counter[str] = field(default_factory=Counter)
    """Counts of the words' outcomes, and of rejected writes."""
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def word(self, writer: str) -> str:
        """A new word, which its writer knows."""
        word = f"unique{next(self._numbers)}x"
        self.shown[writer].add(word)
        return word

    def show(self, writer: str, text: str) -> None:
        """A writer is shown a text."""
        self.shown[writer].update(WORD.findall(text))

    def step(self, writer: str, name: str, act: Callable[[], str]) -> None:
        """Do one step, which returns its answer, and account for each word that it took away."""
        before = self.words()
        answer = act()
        self.counts["steps"] += 1
        gone = before - self.words()
        self.counts["taken away"] += len(gone)
        unseen = gone - self.shown[writer]
        self.counts["taken away unseen"] += len(unseen)
        named = unseen & self._named(answer) if unseen else set[str]()
        self.counts["named by an answer"] += len(named)
        for word in unseen - named:
            self.owed[word] = name

    def words(self) -> set[str]:
        """The words in the files now."""
        return {word for file in self._pages() for word in WORD.findall(file.read_text())}

    def lost(self, listed_trash: str = "") -> dict[str, str]:
        """The words that are nowhere, with the step that took each away.

        Args:
            listed_trash: What `commonplace restore` says at the end, for what a server took away between two calls:
                there was no answer that could name it then.
        """
        listed = self.repo.git("rev-list", "--objects", "--all")
        blobs = "\n".join({line.split(" ")[0] for line in listed.splitlines() if line.endswith(".md")})
        shown = subprocess.run(
            ["git", "cat-file", "--batch"], cwd=self.repo.path, input=blobs, capture_output=True, text=True, check=True
        )
        there, history = self.words(), set(WORD.findall(shown.stdout))
        self.counts["in the history"] += len((self.owed.keys() - there) & history)
        left = {word: step for word, step in self.owed.items() if word not in there | history}
        named = self._named(listed_trash) & left.keys() if listed_trash else set[str]()
        self.counts["listed by restore"] += len(named)
        return {word: step for word, step in left.items() if word not in named}

    def _pages(self) -> Iterator[Path]:
        for folder, below, files in os.walk(self.repo.path):
            if ".git" in below:
                below.remove(".git")  # Git packs and prunes there meanwhile
            yield from (Path(folder, file) for file in files if file.endswith(".md"))

    def _named(self, answer: str) -> set[str]:
        """The words in the bytes that an answer names, in the trash or in Git."""
        trash = open_store(self.repo.path, commit="manual", state_dir=self.state).trash
        revisions = set(REVISION.findall(answer))
        items = [item for item in trash.items() if item.revision in revisions] if trash else []
        contents = [trash.content(item).decode() for item in items] if trash else []
        return {word for content in contents for word in WORD.findall(content)}
