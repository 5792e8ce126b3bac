"""Writes a vault of any size as Obsidian would have it: every way of linking, in three languages, from a seed.

Every link knows which file it means, because it is made from that file: this is what the tests hold the product to.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import relpath
from urllib.parse import quote

WORDS = {
    "en": (
        "harbour",
        "tide",
        "ledger",
        "crew",
        "rope",
        "winter",
        "lantern",
        "map",
        "anchor",
        "letter",
        "Storm",
        "Salt",
    ),
    "de": (
        "Hafen",
        "Gezeiten",
        "Größe",
        "Überfahrt",
        "Seil",
        "Straße",
        "Lotse",
        "Möwe",
        "Anker",
        "Brücke",
        "Öl",
        "Kai",
    ),
    "ja": ("港", "潮位", "灯台", "航海日誌", "船員", "係留", "手紙", "冬", "地図", "海図", "霧", "錨"),
}
FOLDERS = (
    "",
    "Projects",
    "Projects/Deep/Er",
    "Notizen",
    "Notizen/Jahr 2024",
    "日誌",
    "日誌/二月",
    "Zettel",
    "archive/old",
)
HEADINGS = {
    "en": ("Plan", "Notes", "Open ends"),
    "de": ("Plan", "Übersicht", "Fragen"),
    "ja": ("計画", "覚え書き", "質問"),
}
TAGS = ("#area/sea", "#area/sea/deep", "#状態/下書き", "#größe", "#status/open")
ATTACHMENTS = tuple(f"{folder}{name}" for folder in ("", "files/", "files/2024/") for name in ("chart.png", "plan.pdf"))
OTHERS = ("files/Skizze Hafen.png", "日誌/写真.jpg", "files/board.canvas", "files/2024/voice.m4a")


@dataclass(frozen=True, slots=True)
class Written:
    """A link as it stands in a note, and the file that it means; None: none that there is."""

    text: str
    means: str | None


@dataclass(slots=True)
class Note:
    """One note of the vault."""

    path: str
    language: str
    aliases: tuple[str, ...] = ()
    links: list[Written] = field(default_factory=list[Written])

    @property
    def name(self) -> str:
        """Name of the note in links."""
        return self.path.rpartition("/")[2].removesuffix(".md")

    @property
    def folder(self) -> str:
        """Folder of the note; "" for the root."""
        return self.path.rpartition("/")[0]


class Vault:
    """A vault in the making.

    Args:
        seed: The same for the same vault.
        notes: How many.
    """

    def __init__(self, seed: int, notes: int) -> None:
        self._chance = random.Random(seed)
        self.notes = self._named(notes)
        self.others = (*ATTACHMENTS, *OTHERS)
        self._names = Counter(note.name.casefold() for note in self.notes)
        for note in self.notes:
            note.links = [self._link(note) for _ in range(self._chance.randint(2, 7))]

    def write(self, root: Path) -> None:
        """Put the vault into a folder, with what else Obsidian keeps there."""
        for note in self.notes:
            self._put(root, note.path, self._text(note))
        for other in self.others:
            self._put(root, other, "not text")
        self._put(
            root, ".obsidian/app.json", json.dumps({"newLinkFormat": "shortest", "attachmentFolderPath": "files"})
        )
        self._put(root, ".obsidian/templates/daily.md", "# Template [[nowhere at all]]\n")
        self._put(root, ".trash/gone.md", "# Gone [[nowhere at all]]\n")

    def _put(self, root: Path, path: str, text: str) -> None:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _named(self, count: int) -> list[Note]:
        notes: dict[str, Note] = {}
        while len(notes) < count:
            language = self._chance.choice(tuple(WORDS))
            words = self._chance.sample(WORDS[language], self._chance.randint(1, 3))
            number = self._chance.choice(("", "", f" {self._chance.randint(1, 400)}"))
            folder = self._chance.choice(FOLDERS)
            name = (" " if language != "ja" else "").join(words) + number
            path = f"{folder}/{name}.md".lstrip("/")
            if path.casefold() not in {note.casefold() for note in notes} if len(notes) < 50 else path not in notes:
                aliases = (f"{name} ({language})", words[0].upper()) if self._chance.random() < 0.3 else ()
                notes[path] = Note(path, language, aliases)
        return list({note.path.casefold(): note for note in notes.values()}.values())

    def _link(self, source: Note) -> Written:
        if self._chance.random() < 0.12:
            return self._attachment(source)
        if self._chance.random() < 0.04:
            number = self._chance.randint(1, 10**9)
            return Written(f"[[no such note {number}]]", None)
        target = self._chance.choice(self.notes)
        ways: tuple[Callable[[Note, Note], Written], ...] = (
            self._shortest, self._shortest, self._absolute, self._relative, self._other_case, self._markdown,
            self._here, self._by_hand,
        )  # fmt: skip
        return self._chance.choice(ways)(source, target)

    def _shortest(self, source: Note, target: Note) -> Written:
        """A link in Obsidian's default form: the name if it is unique, else the path from the root."""
        path = target.name if self._names[target.name.casefold()] == 1 else target.path.removesuffix(".md")
        return self._wiki(path, source, target)

    def _absolute(self, source: Note, target: Note) -> Written:
        path = target.path if self._chance.random() < 0.5 else target.path.removesuffix(".md")
        return self._wiki(path, source, target)

    def _relative(self, source: Note, target: Note) -> Written:
        path = relpath(target.path, source.folder or ".").removesuffix(".md")
        return self._wiki(path if path.startswith("../") else f"./{path}", source, target)

    def _by_hand(self, source: Note, target: Note) -> Written:
        """A bare name that several notes may have: that at the top, else that beside, else the shortest path."""
        same = [note for note in self.notes if note.name.casefold() == target.name.casefold()]
        top = [note for note in same if not note.folder]
        beside = [note for note in same if note.folder == source.folder]
        shortest = sorted(same, key=lambda note: len(note.path))
        if not (top or beside) and len(shortest) > 1 and len(shortest[0].path) == len(shortest[1].path):
            return self._absolute(source, target)  # which of the two is meant is nowhere documented
        return self._wiki(target.name, source, (top or beside or shortest)[0])

    def _other_case(self, source: Note, target: Note) -> Written:
        change = self._chance.choice((str.lower, str.upper))
        whole = change(target.path.removesuffix(".md"))
        if whole.casefold() != target.path.removesuffix(".md").casefold():  # ß has no capital of its own
            whole = target.path.removesuffix(".md")
        return self._wiki(whole, source, target)

    def _markdown(self, source: Note, target: Note) -> Written:
        path = relpath(target.path, source.folder or ".")
        text = f"[{target.name}]({quote(path)})" if self._chance.random() < 0.5 else f"[{target.name}](<{path}>)"
        return Written(text, target.path)

    def _here(self, source: Note, target: Note) -> Written:
        del target
        return Written(f"[[#{HEADINGS[source.language][0]}]]", source.path)

    def _wiki(self, path: str, source: Note, target: Note) -> Written:
        headings = HEADINGS[target.language]
        behind = self._chance.choice(("", "", f"#{headings[1]}", f"#{headings[1]}#{headings[2]}", "#^block-1"))
        label = self._chance.choice(("", "", f"|{source.name}", *(f"|{alias}" for alias in target.aliases)))
        if label and self._chance.random() < 0.2:
            return Written(f"\n\n| a | b |\n|---|---|\n| [[{path}{behind}\\{label}]] | x |\n\n", target.path)
        embed = "!" if self._chance.random() < 0.15 else ""
        return Written(f"{embed}[[{path}{behind}{label}]]", target.path)

    def _attachment(self, source: Note) -> Written:
        path = self._chance.choice(self.others)
        name = path.rpartition("/")[2]
        same = [other for other in self.others if other.rpartition("/")[2] == name]
        size = self._chance.choice(("", "|200", "|100x145"))
        way = self._chance.randint(0, 3)
        if way == 0:
            return Written(f"![[{path}{size}]]", path)
        if way == 1:
            return Written(f"![]({quote(relpath(path, source.folder or '.'))})", path)
        # A bare name means the file at the top, else the one beside the note, else the one with the shortest path.
        beside = f"{source.folder}/{name}".lstrip("/")
        means = name if name in same else beside if beside in same else min(same, key=len)
        return Written(f"![[{name if way == 2 else name.upper()}{size}]]", means)

    def _text(self, note: Note) -> str:
        headings = HEADINGS[note.language]
        lines = [f"# {headings[0]}", "", " ".join(self._chance.choices(WORDS[note.language], k=12)), ""]
        lines += [f"## {headings[1]}", "", f"### {headings[2]}", "", f"A block of {note.name}. ^block-1", ""]
        lines += [
            f"{self._chance.choice(WORDS[note.language])} {link.text} {self._chance.choice(TAGS)}"
            for link in note.links
        ]
        lines += ["", "```", "[[no link in code]] #no/tag", "```", ""]
        block = ["---", *(["aliases:", *(f'  - "{alias}"' for alias in note.aliases)] if note.aliases else [])]
        return "\n".join([*block, "tags: [kind/note]", "---", *lines])
