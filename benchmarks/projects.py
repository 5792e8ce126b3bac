"""The `projects` toolset: search in 1,000 documents, a durable write, and the overhead of the activity log."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measuring import Row, Work, median_spent, percentile
from benchmarks.trees import skewed_prose
from commonplace.domain.json import JsonObject
from commonplace.toolsets.projects.remote.setup import ActivityLogFile, open_project_store
from commonplace.toolsets.projects.rules.chapters import new_document, now_text
from commonplace.toolsets.projects.service import chapters, instructions, knowledge
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore

PART = "projects"
DOCUMENTS = 1000
ROUNDS = 21
LINES = 1000
"""Number of lines of the activity log."""
SENTENCE = "how do I keep a session in the cache of C# when the storage is away?"
QUERIES = ("C++", "C#", "Node.js", "中文", "e", "authentication", "authentication session storage cache", SENTENCE)
PROJECT = "bench"
NAMES = ("C++", "C#", "Node.js", "中文", "authentication", "storage", "session", "cache")


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    opened = open_project_store(work.folder / "home", work.folder / "state", IDENTITY)
    home = ProjectStore(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
    filled(home, DOCUMENTS)
    for query in QUERIES:
        yield timed(f"search {query!r} in {DOCUMENTS:,} documents", "< 10", lambda query=query: search(home, query))
    prose = skewed_prose(random.Random(DOCUMENTS))
    requested_numbers = iter(range(0, len(prose), 40))
    yield timed(
        f"search four other words each time in {DOCUMENTS:,} documents",
        "< 10",
        lambda: search(home, " ".join(prose[(at := next(requested_numbers)) : at + 4])),
    )
    yield timed("search after a chapter was changed", "", lambda: (update(home), search(home, "storage")))
    yield timed("update_chapter, durable, one commit", "p50 < 25", lambda: update(home))
    line: JsonObject = {
        "timestamp": now_text(),
        "method": "get_chapter",
        "success": True,
        "traceId": "0" * 32,
        "duration": 1.5,
    }
    yield timed("a line of the activity log, as a call waits for it", "", lambda: home.activity.record(line), 2000)
    opened.activity.close()
    cost = median_spent(work.runs, lambda: logged(work.folder / "activity.log", line))
    shown = f"{LINES:,} lines one after the other, by the thread that writes them"
    yield Row(PART, "a line of the activity log, written", 1000 * cost.cpu / LINES, "CPU ms", "", shown)


def logged(path: Path, line: JsonObject) -> None:
    """Write `LINES` lines, one after the other."""
    log = ActivityLogFile(path)
    for _ in range(LINES):
        log.record(line)
        time.sleep(0)
    log.close()


def filled(home: ProjectStore, documents: int) -> None:
    """Add a project with `documents` documents to the store."""
    instructions.update_main(home, PROJECT, "# Bench\n")
    where = Path(home.path) / home.folder(PROJECT) / knowledge.KNOWLEDGE
    where.mkdir()
    chance = random.Random(documents)
    prose = skewed_prose(chance)
    for number in range(documents):
        (where / f"document-{number}.md").write_bytes(document(chance, prose, number))


def document(chance: random.Random, prose: list[str], number: int) -> bytes:
    """A document of five chapters of about 60 words, with one of the rarer names in two of them."""

    def text() -> str:
        at = chance.randrange(len(prose) - 120)
        return " ".join(prose[at : at + chance.randrange(20, 110)])

    pairs = [(f"Chapter {n}", " ".join([text(), *chance.choices(NAMES, k=n % 2)])) for n in range(5)]
    return new_document(f"Document {number}", ["bench", chance.choice(prose)], "An introduction.", pairs, now_text())


def search(home: ProjectStore, query: str) -> object:
    """Search for the twenty best documents."""
    return knowledge.search_documents(home, PROJECT, query)


def update(home: ProjectStore) -> None:
    """Replace the text of a chapter."""
    chapters.update_chapter(home, (PROJECT, "document-1"), "Chapter 1", f"New text {time.perf_counter_ns()}", None)


def timed(name: str, reach: str, act: Callable[[], object], rounds: int = ROUNDS) -> Row:
    """The median time of a call in milliseconds, with the 99th percentile and CPU time as detail."""
    act()
    taken: list[float] = []
    used: list[float] = []
    for _ in range(rounds):
        began, cpu = time.perf_counter(), time.process_time()
        act()
        taken.append(1000 * (time.perf_counter() - began))
        used.append(1000 * (time.process_time() - cpu))
    taken.sort()
    shown = f"p99 {percentile(taken, 99):.3f} ms; {statistics.median(used):.3f} CPU ms"
    return Row(PART, name, percentile(taken, 50), "ms", reach, shown)
