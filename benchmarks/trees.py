"""The measured folders: real corpora if they are available, and generated trees of any size."""

from __future__ import annotations

import os
import random
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import Work

SHARED = Path(os.environ.get("SHARED_MATERIAL", Path(__file__).resolve().parents[2] / "shared"))
CORPORA = ("cpp-docs", "powershell-docs")

_CONSONANTS, _VOWELS = "bcdfglmnprstvz", "aeiou"
_ENDINGS = ("", "s", "ed", "ing", "er")


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder of Markdown, and questions that it answers."""

    name: str
    folder: Path
    files: int
    questions: Sequence[str]


def real_tree(place: Path, name: str = CORPORA[0]) -> Tree | None:
    """A corpus beside the project, unpacked; None if it is not available."""
    archive = SHARED / "corpora" / f"{name}.tar.xz"
    if not archive.is_file():
        return None
    target = place / name
    if not target.is_dir():
        with tarfile.open(archive) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)  # missing in the oldest 3.11
            tar.extractall(target)  # noqa: S202 - our own archives
    paths = [path for path in sorted(target.rglob("*.md")) if "/." not in f"/{path.relative_to(target)}"]  # as served
    return Tree(name, target, len(paths), _questions_about(paths))


def tree_of(work: Work, files: int, sections: int = 10) -> Tree:
    """The first corpus; in a trial, or if it is not available, a generated tree of `files` files."""
    real = None if work.files else real_tree(work.folder)
    return real or generated_tree(work.folder, work.size(files), sections)


def generated_tree(place: Path, files: int, sections: int) -> Tree:
    """A tree of `files` documents with `sections` headings each, links, frontmatter, and word frequencies as in prose.

    The same arguments give the same tree on every machine.
    """
    chance = random.Random(f"{files}/{sections}")
    words = _vocabulary(chance)
    folder = place / f"tree-{files}-{sections}"
    prose = _prose(chance, words)
    questions: list[str] = []
    for number in range(files):
        file = folder / f"area{number % 40:02}" / f"topic{number % 7}" / f"page-{number:06}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        title = " ".join(chance.choices(words[200:], k=3)).capitalize()
        file.write_text(_document(chance, number, files, sections, (title, prose)), encoding="utf-8")
        if number % max(files // 200, 1) == 0:
            start = chance.randrange(len(prose) - 40)
            rare = [word for word in prose[start : start + 40] if word not in words[:50]]
            questions.append(f"how do I {' '.join(rare[:4])} in {title.lower()}?")
            questions.append(" ".join(rare[4:6]))
    return Tree(f"generated tree, {files:,} files, {files * sections:,} sections", folder, files, questions)


def skewed_prose(chance: random.Random) -> list[str]:
    """A sequence of words with skewed frequencies, as in any text."""
    return _prose(chance, _vocabulary(chance))


def _prose(chance: random.Random, words: Sequence[str]) -> list[str]:
    weights = [1 / (rank + 3) for rank in range(len(words))]
    return chance.choices(words, weights, k=200_000)


def _document(chance: random.Random, number: int, files: int, sections: int, words: tuple[str, Sequence[str]]) -> str:
    title, prose = words
    lines = [
        "---",
        f"title: {title}",
        f"type: {chance.choice(['note', 'guide', 'reference', 'decision'])}",
        f"tags: [{chance.choice(prose)}, area/{number % 40}]",
        f"date: 20{chance.randrange(10, 26)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
        f"owner: person {chance.randrange(200)}",
        "---",
        f"# {title}",
        "",
    ]
    for section in range(sections - 1):
        start = chance.randrange(len(prose) - 120)
        text = prose[start : start + chance.randrange(30, 110)]
        if section % 3 == 0:
            text = [*text, f"[[page-{chance.randrange(files):06}]]"]
        lines += [f"## {' '.join(text[:3]).capitalize()}", "", f"{' '.join(text)}.", ""]
    return "\n".join(lines)


def _vocabulary(chance: random.Random) -> list[str]:
    stems = {
        "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randrange(1, 5)))
        for _ in range(12_000)
    }
    # Sorted, because the order of a set differs between processes.
    words = sorted(stem + ending for stem in sorted(stems) for ending in chance.sample(_ENDINGS, 3))
    chance.shuffle(words)
    return words


def _questions_about(paths: Sequence[Path]) -> list[str]:
    """Titles of real documents, as words and as questions."""
    chance = random.Random(1)
    questions: list[str] = []
    for path in chance.sample(list(paths), min(200, len(paths))):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        title = next((line[2:] for line in lines if line.startswith("# ")), path.stem)
        questions += [title.replace("`", ""), f"how do I use {title.replace('`', '')} in my program?"]
    return questions
