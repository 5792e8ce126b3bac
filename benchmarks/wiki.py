"""Listing, links and orphans of a wiki of 1,010 notes, in process and right: `python -m benchmarks.wiki`."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from commonplace.bootstrap import Workplace
from commonplace.domain.wiki import Wanted, Wiki
from commonplace.services.wiki.orphans import orphans
from commonplace.settings import load_settings

NOTES = 1_010
HUBS = 10
ROUNDS = 15


def main() -> int:
    """Print one JSON object of medians in milliseconds; 1 when an answer differs from the brute-force count."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "wiki"
        expected = _made(folder)
        settings = load_settings({"HOME": scratch, "XDG_CACHE_HOME": f"{scratch}/cache", "XDG_STATE_HOME": scratch})
        workplace = Workplace([folder], settings)
        try:
            workplace.sync()
            wiki = workplace.services.wiki
            right = {note.path for note in orphans(wiki)} == expected
            figures = {
                "list_notes_ms": _median(lambda: wiki.notes.list(Wanted())),
                "list_category_ms": _median(lambda: wiki.notes.list(Wanted(category="trend"))),
                "get_links_ms": _median(lambda: wiki.finding.links("Notes/note 7")),
                "find_orphaned_notes_ms": _median(lambda: orphans(wiki)),
                "read_note_ms": _median(lambda: wiki.notes.read("Notes/note 7")),
                "write_note_ms": _written(wiki),
            }
        finally:
            workplace.close()
    print(json.dumps({"notes": NOTES, "orphans": len(expected), "right": right, **figures}, indent=2))
    return 0 if right else 1


def _made(folder: Path) -> set[str]:
    """A repository of notes with random links; the paths of its orphans, by brute force."""
    (folder / "Notes").mkdir(parents=True)
    choose = random.Random(6)
    led_to: set[str] = set()
    for number in range(NOTES):
        targets = [f"Notes/note {choose.randrange(NOTES)}" for _ in range(30 if number < HUBS else 4)]
        category = "index" if number < HUBS else choose.choice(["trend", "actor", "event"])
        if number < HUBS:
            led_to |= set(targets)
        links = " ".join(f"[[{target}]]" for target in targets)
        text = f"---\ncategory: {category}\nlast_updated: 2026-03-{number % 28 + 1:02}\n---\nNote {number}. {links}\n"
        (folder / "Notes" / f"note {number}.md").write_text(text, encoding="utf-8")
    for command in (["init", "-q"], ["config", "user.name", "b"], ["config", "user.email", "b@example.org"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-qm", "Begin"], cwd=folder, check=True)
    return {f"Notes/note {number}" for number in range(HUBS, NOTES)} - led_to


def _median(call: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return round(statistics.median(taken) * 1000, 2)


def _written(wiki: Wiki) -> float:
    number = iter(range(1_000_000))
    return _median(lambda: wiki.notes.write(f"New/{next(number)}", "New.\n", message="Write"))


if __name__ == "__main__":
    sys.exit(main())
