"""Two agents and a person write into the same pages: each section names the one who wrote its text.

No two write into one section at a time, so that the script knows who was last; into one page they do. What an agent
carries to another page stays its author's.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from forms import edited, page
from serving import Server, create_key, served
from support import SOAK, Amount, GitRepo, new_repo

SEED = 4_242
SAMPLED, WHOLE = 12, 450
SECONDS = 8.0 if SOAK else 0.0
"""Mean seconds between two acts of one writer."""
EVERY = 8
"""Number of acts of the person between two comparisons."""
AUTHORS = {"planner": "Bo, through planner 1", "scribe": "Bo, through scribe 1", "": "Ada"}
"""The author that a section names, by the client; the person has none."""


@dataclass
class Part:
    """A section as the script knows it."""

    heading: str
    paragraphs: list[str]
    author: str

    @property
    def markdown(self) -> str:
        return f"## {self.heading}\n\n" + "".join(f"{text}\n\n" for text in self.paragraphs)


@dataclass
class Base:
    """A server, and what its pages must have."""

    server: Server
    repo: GitRepo
    keys: dict[str, str]
    pages: dict[str, list[Part]]
    busy: set[str] = field(default_factory=set[str])
    """Headings of the sections into which someone writes, and names of pages that are moved."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    changed: threading.Condition = field(default_factory=threading.Condition)
    number: int = 0

    def tool(self, client: str, name: str, /, **arguments: object) -> str:
        """The text of a tool's answer, which must be none of an error."""
        result = self.server.call("notes", name, arguments, key=self.keys["Bo"], client=client)
        assert not result.get("isError"), (name, arguments, result)
        return str(result["content"][0]["text"])

    def new_text(self, who: str) -> str:
        """A text that no other section has."""
        with self.changed:
            self.number += 1
            return f"Text {self.number} of {who or 'the person'}, with words enough to be known again on another page."

    @contextmanager
    def section(self, chance: random.Random) -> Generator[tuple[str, Part]]:
        """A page and one of its sections, into which nobody else writes meanwhile."""
        with self.changed:
            while not (free := self._free()):
                self.changed.wait()
            name, part = chance.choice(free)
            self.busy |= {part.heading}
        try:
            yield name, part
        finally:
            with self.changed:
                self.busy -= {part.heading}
                self.changed.notify_all()

    def _free(self) -> list[tuple[str, Part]]:
        return [
            (name, part)
            for name, parts in self.pages.items()
            for part in parts
            if name not in self.busy and part.heading not in self.busy
        ]

    @contextmanager
    def still(self, chance: random.Random) -> Generator[str]:
        """A page into which nobody writes meanwhile."""
        with self.changed:
            name = chance.choice(sorted(self.pages.keys() - self.busy))
            self.busy |= {name}
            while any(part.heading in self.busy for part in self.pages[name]):
                self.changed.wait()
        try:
            yield name
        finally:
            with self.changed:
                self.busy -= {name}
                self.changed.notify_all()

    @contextmanager
    def quiet(self) -> Generator[None]:
        """Nobody writes meanwhile."""
        with self.changed:
            while self.busy:
                self.changed.wait()
            yield

    def note(self, kind: str) -> None:
        with self.changed:
            self.counts[kind] = self.counts.get(kind, 0) + 1


def act_of_an_agent(base: Base, client: str, chance: random.Random) -> None:
    kind = chance.choice(["section", "section", "append", "append", "replace", "insert", "move", "carry"])
    if kind == "move":
        moved(base, client, chance)
    else:
        with base.section(chance) as (name, part):
            if kind == "carry":
                carried(base, client, name, part)
            else:
                written(base, client, kind, name, part)
    base.note(f"{client} {kind}")


def written(base: Base, client: str, kind: str, name: str, part: Part) -> None:
    text, author = base.new_text(client), AUTHORS[client]
    change: dict[str, object] = {"do": kind, "section": part.heading, "text": text}
    after, new = [text], Part(f"Part {text.split()[1]}", [text], author)
    if kind == "append":
        after = [*part.paragraphs, text]
    elif kind == "replace":
        change = {"do": kind, "old": part.paragraphs[-1], "text": text}
        after = [*part.paragraphs[:-1], text]
    elif kind == "insert":
        change["text"] = new.markdown
    base.tool(client, "edit", page=name, changes=[change])
    with base.changed:
        if kind == "insert":
            parts = base.pages[name]
            parts.insert(parts.index(part) + 1, new)
        else:
            part.paragraphs, part.author = after, author


def carried(base: Base, client: str, name: str, part: Part) -> None:
    """Carry a section to the end of another page; it stays its author's."""
    with base.changed:
        targets = sorted(base.pages.keys() - base.busy - {name})
        if len(base.pages[name]) < 3 or not targets:
            return
        target = targets[base.number % len(targets)]
        base.busy |= {target}
    try:
        text = (base.repo.path / f"{name}.md").read_text().partition(f"## {part.heading}\n")[2].partition("\n## ")[0]
        old = f"## {part.heading}\n{text}".strip()
        steps = [
            {"do": "edit", "page": name, "changes": [{"do": "replace", "old": old, "text": ""}]},
            {"do": "edit", "page": target, "changes": [{"do": "append", "text": f"{old}\n"}]},
        ]
        base.tool(client, "transaction", steps=steps)
        with base.changed:
            base.pages[name].remove(part)
            base.pages[target].append(part)
    finally:
        with base.changed:
            base.busy -= {target}
            base.changed.notify_all()


def moved(base: Base, client: str, chance: random.Random) -> None:
    with base.still(chance) as name:
        target = f"{chance.choice(['plans', 'notes', 'done'])}/{name.rpartition('/')[2]}"
        if target != name:
            base.tool(client, "move", page=name, to=target)
            with base.changed:
                base.pages[target] = base.pages.pop(name)
                base.busy |= {target}
            with base.changed:
                base.busy -= {target}


def act_of_the_person(base: Base, chance: random.Random) -> None:
    """Replace the last paragraph of a section, or add one, in the browser's form of the whole page."""
    text, is_more = base.new_text(""), chance.random() < 0.5
    with base.section(chance) as (name, part):
        last = part.paragraphs[-1]
        new = f"{last}\n\n{text}" if is_more else text
        result = edited(
            base.server, f"/edit/{name}", lambda shown: shown.replace(last, new), text, key=base.keys["Ada"]
        )
        assert result in {"saved", "merged", "left"}, result
        if result != "left":
            with base.changed:
                part.paragraphs = [*part.paragraphs, text] if is_more else [*part.paragraphs[:-1], text]
                part.author = AUTHORS[""]
    base.note(f"person {result}")


def compare(base: Base) -> None:
    """Each page has the text that the script knows, and each of its sections the author, for agents and for people."""
    for name, parts in base.pages.items():
        text = (base.repo.path / f"{name}.md").read_text()
        expected_text = "".join(part.markdown for part in parts)
        assert text.split("\n\n", 1)[1].split() == expected_text.split(), name
        lines = base.tool("planner", "changes", page=name, sections=True, max_tokens=20_000).split("\n")
        named = [re.fullmatch(r"  - (Part \d+): \d{4}-\d\d-\d\d (.*) [0-9a-f]{10}", line) for line in lines]
        expected = [(part.heading, part.author) for part in parts]
        assert [(line[1], line[2]) for line in named if line] == expected, (name, lines)
        html = page(base.server, f"/sections/{name}", key=base.keys["Ada"])
        rows = re.findall(r'<li class="level-2".*?>(Part \d+)</a><p>(.*?)</p>', html, re.DOTALL)
        shown = [(heading, re.sub("<.*?>", "", who).rpartition(", ")[0]) for heading, who in rows]
        assert shown == [(heading, author.replace(",", "")) for heading, author in expected], html


@pytest.fixture
def base(tmp_path: Path, cache_dir: Path) -> Iterator[Base]:
    assert cache_dir.is_dir()
    pages = {
        f"notes/p{page_number}": [
            Part(
                f"Part {100_000 + 10 * page_number + number}",
                [f"The first text of part {number} of page {page_number}, with words enough."],
                "Test Writer",
            )
            for number in range(4)
        ]
        for page_number in range(6)
    }
    files: dict[str, str | bytes] = {
        f"{name}.md": f"# {name[-2:]}\n\n" + "".join(part.markdown for part in parts) for name, parts in pages.items()
    }
    repo = new_repo(tmp_path / "base", files)
    keys = {name: create_key(name, "--tier", "write") for name in ("Ada", "Bo")}
    with served(repo.path, "--commit", "auto") as server:
        page(server, "/p/notes/p0", key=keys["Ada"])
        yield Base(server, repo, keys, pages)


@pytest.mark.timeout(3 * 3_600)
def test_each_section_names_the_one_who_wrote_it(
    base: Base, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    acts = amount(SAMPLED, WHOLE)
    began = time.monotonic()

    def works(client: str) -> None:
        chance = random.Random(f"{SEED} {client}")
        for number in range(acts):
            time.sleep(chance.uniform(0.0, 2 * SECONDS))
            if client:
                act_of_an_agent(base, client, chance)
                continue
            act_of_the_person(base, chance)
            if number % EVERY == 0:
                with base.quiet():
                    compare(base)

    with ThreadPoolExecutor(3) as pool:
        for work in [pool.submit(works, client) for client in AUTHORS]:
            work.result()
    compare(base)
    assert sum(base.counts.values()) == 3 * acts
    assert {part.author for parts in base.pages.values() for part in parts} >= set(AUTHORS.values())
    assert base.repo.git("status", "--porcelain") == ""
    record_property("acts", str(base.counts))
    record_property("sections", sum(map(len, base.pages.values())))
    record_property("seconds", round(time.monotonic() - began))
