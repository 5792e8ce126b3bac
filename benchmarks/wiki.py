"""A wiki of 1,010 notes: listing, links and orphans. Each answer is first compared with a brute-force count."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.measuring import Row, Work, milliseconds, percentile
from commonplace.bootstrap import Application
from commonplace.settings import load_settings
from commonplace.toolsets.wiki.rules import NoteFilter, Wiki
from commonplace.toolsets.wiki.service import WIKI_KEY
from commonplace.toolsets.wiki.service.note_queries import orphans

PART = "wiki"
NOTES = 1_010
HUBS = 10
ROUNDS = 30
REACH = "< 50"


class WrongAnswerError(AssertionError):
    """An answer of the wiki differs from the brute-force count."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected answers about the generated notes; paths as the wiki names them."""

    orphans: set[str]
    links: dict[str, list[str]]
    """Targets of each note's links, in order of first occurrence, by note."""
    categories: dict[str, str]


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part.

    Raises:
        WrongAnswerError: an answer is wrong.
    """
    folder = work.folder / "wiki"
    expected = _made(folder)
    state, cache = str(work.folder / "state"), str(work.folder / "cache")
    settings = load_settings({"HOME": str(work.folder), "XDG_CACHE_HOME": cache, "XDG_STATE_HOME": state})
    application = Application([folder], settings)
    try:
        application.sync()
        wiki = application.services.of(WIKI_KEY)
        _check(wiki, expected)
        yield from _measured(wiki)
    finally:
        application.close()


def _measured(wiki: Wiki) -> Iterator[Row]:
    some = [f"Notes/note {number}" for number in random.Random(1).sample(range(NOTES), ROUNDS)]
    writes = [partial(wiki.notes.write, f"New/{number}", "New.\n", message="Write") for number in range(ROUNDS)]
    kinds: dict[str, list[Callable[[], object]]] = {
        "list all": [partial(wiki.notes.list, NoteFilter())] * ROUNDS,
        "list a category": [partial(wiki.notes.list, NoteFilter(category="trend"))] * ROUNDS,
        "links of a note": [partial(wiki.queries.links, path) for path in some],
        "links of a hub's favourite": [partial(wiki.queries.links, "Notes/note 7")] * ROUNDS,
        "all links": [wiki.queries.graph] * ROUNDS,
        "orphans": [partial(orphans, wiki)] * ROUNDS,
        "read a note": [partial(wiki.notes.read, path) for path in some],
        "write a note, one commit": list(writes),
    }
    for name, pieces in kinds.items():
        began = time.process_time()
        times = milliseconds(pieces)
        cpu = 1000 * (time.process_time() - began) / len(pieces)
        detail = f"{cpu:.1f} CPU ms, p90 {percentile(times, 90):.1f} ms"
        reach = "< 25" if name.startswith("write") else REACH
        yield Row(PART, f"{name}, wiki of {NOTES:,} notes", percentile(times, 50), "ms", reach, detail)


def _check(wiki: Wiki, expected: Expected) -> None:
    listed = {note.path: note.category for note in wiki.notes.list(NoteFilter()).notes}
    if listed != expected.categories:
        raise WrongAnswerError("list")
    if {note.path for note in orphans(wiki)} != expected.orphans:
        raise WrongAnswerError("orphans")
    incoming: dict[str, set[str]] = {path: set() for path in expected.links}
    for source, targets in expected.links.items():
        for target in targets:
            incoming[target].add(source)
    for path, targets in expected.links.items():
        links = wiki.queries.links(path)
        if list(links.links_to) != targets or list(links.linked_from) != sorted(incoming[path]):
            raise WrongAnswerError(f"links of {path}")


def _made(folder: Path) -> Expected:
    """Create a repository of notes with random links, every fifth to the same note; return the expected answers."""
    (folder / "Notes").mkdir(parents=True)
    choose = random.Random(6)
    expected = Expected(set(), {}, {})
    led_to: set[str] = set()
    for number in range(NOTES):
        path = f"Notes/note {number}"
        targets = [f"Notes/note {choose.randrange(NOTES)}" for _ in range(30 if number < HUBS else 4)]
        targets += ["Notes/note 7"] if number % 5 == 0 else []
        category = "index" if number < HUBS else choose.choice(["trend", "actor", "event"])
        led_to |= set(targets) if number < HUBS else set()
        expected.links[path] = [target for target in dict.fromkeys(targets) if target != path]
        expected.categories[path] = category
        links = " ".join(f"[[{target}]]" for target in targets)
        text = f"---\ncategory: {category}\nlast_updated: 2026-03-{number % 28 + 1:02}\n---\nNote {number}. {links}\n"
        (folder / f"{path}.md").write_text(text, encoding="utf-8")
    for command in (["init", "-q"], ["config", "user.name", "b"], ["config", "user.email", "b@example.org"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-qm", "Begin"], cwd=folder, check=True)
    expected.orphans.update({f"Notes/note {number}" for number in range(HUBS, NOTES)} - led_to)
    return expected
