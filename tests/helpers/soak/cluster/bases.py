"""Bases of generated pages: some that nobody changes, whose answers are known, and some that are written."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support import new_repo

STILL_PAGES = 500
GROUPS = 50
WRITTEN_PAGES = 40
VOCABULARY = 4000
WORDS = 120
SENTENCE = 30


@dataclass(frozen=True, slots=True)
class Base:
    """One base. All its pages are in a folder of its name, and have its mark in their text."""

    name: str

    @property
    def mark(self) -> str:
        """A word that no other base has."""
        return f"{self.name}mark"

    @property
    def written(self) -> list[str]:
        """Paths of the pages that are written, without `.md`."""
        return [f"{self.name}/written-{number}" for number in range(WRITTEN_PAGES)]

    @property
    def group_size(self) -> int:
        """Number of pages that have the word of a group."""
        return STILL_PAGES // GROUPS

    def group(self, number: int) -> str:
        """The word of a group of pages that nobody changes, like no other word."""
        return hashlib.sha256(f"{self.name} {number}".encode()).hexdigest()[:16]

    def first_text(self, page: str) -> str:
        """The text that a written page has at the beginning."""
        return f"# {page}\n\n{self.mark} nobody has written yet\n"

    def files(self) -> Mapping[str, str]:
        """All pages by path."""
        chance = random.Random(self.name)
        still = {f"{self.name}/still-{number}.md": self._still_text(number, chance) for number in range(STILL_PAGES)}
        return still | {f"{page}.md": self.first_text(page) for page in self.written}

    def remote(self, folder: Path) -> Path:
        """A new bare repository with the pages, to which all may push."""
        bare = folder / "git" / f"{self.name}.git"
        work = new_repo(folder / "work" / self.name, dict(self.files()))
        work.git("clone", "--quiet", "--bare", str(work.path), str(bare))
        work.git("--git-dir", str(bare), "config", "http.receivepack", "true")
        return bare

    def _still_text(self, number: int, chance: random.Random) -> str:
        words = [word(chance) for _ in range(WORDS)]
        sentences = [" ".join(words[at : at + SENTENCE]) for at in range(0, WORDS, SENTENCE)]
        sections = "\n\n".join(f"## Part {at}\n\n{text}." for at, text in enumerate(sentences))
        return f"# Still {number}\n\n{self.mark} {self.group(number % GROUPS)}\n\n{sections}\n"


def word(chance: random.Random) -> str:
    """A word, some far more often than others."""
    return f"term{min(VOCABULARY, int(chance.paretovariate(0.6)))}"
