"""Queries about the past of a base of 10,000 files, 1,000 commits ago, and the blame of a page with 1,000 commits."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

from benchmarks.measuring import Row, Spent, Work, median_spent, spent
from benchmarks.trees import generated_tree, real_tree
from commonplace.bootstrap import Application
from commonplace.domain.addresses import Address
from commonplace.domain.query import SearchQuery
from commonplace.index import open_past
from commonplace.index.past import IndexedPast
from commonplace.services.collections import Collection
from commonplace.services.past import moment_of, section_blame
from commonplace.services.past.section_blame import forget_blame
from commonplace.settings import default_settings

PART = "past"
COMMITS = 1_000
"""Number of commits after the first. Each changes one page and a section of `often.md`."""
GENERATED = (10_000, 5)
"""Number of files, and of sections per file, if no corpus is available."""
SECTIONS = 20
"""Number of sections, of about 400 bytes each, in the page that every commit changes."""
FIRST_SECOND = 1_600_000_000
MINUTE = 60
OFTEN = "often.md"
"""Name of the page that every commit changes, in the largest folder."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = real_tree(work.folder) or generated_tree(work.folder, *GENERATED)
    often = write_history(tree.folder)
    settings = replace(default_settings(), cache_dir=work.folder / "cache", state_dir=work.folder / "state")
    application = Application([tree.folder], settings)
    try:
        application.sync()
        (collection,) = application.services.collections
        collection.store.history.touched()  # a server reads the history in the background when it starts
        yield from _questions(work, collection, f"{tree.files:,} files, {COMMITS:,} commits apart")
        yield from _blame(work, collection, often)
    finally:
        application.close()


def write_history(folder: Path) -> Address:
    """Make a folder a repository: one commit of all files, then `COMMITS` that change two pages each.

    Returns:
        Address of the page that all commits change.
    """
    pages = sorted(path for path in folder.rglob("*.md") if "/." not in f"/{path.relative_to(folder)}")
    largest = Counter(page.parent for page in pages).most_common(1)[0][0]
    often = Address((largest / OFTEN).relative_to(folder).as_posix())
    _git(folder, ["init", "--quiet", "--initial-branch=main"])
    (largest / OFTEN).write_bytes(_often(0))
    _git(folder, ["add", "--all"])
    stamp = f"{FIRST_SECOND} +0000"
    person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    _git(folder, [*person, "commit", "--quiet", "--message", "Begin", "--date", stamp])
    _git(folder, ["fast-import", "--quiet"], b"".join(_commits(folder, pages, often)))
    _git(folder, ["reset", "--quiet", "--hard", "main"])
    return often


def _commits(folder: Path, pages: list[Path], often: Address) -> Iterator[bytes]:
    chance = random.Random(COMMITS)
    texts: dict[str, bytes] = {}
    for number in range(1, COMMITS + 1):
        page = chance.choice(pages)
        name = page.relative_to(folder).as_posix()
        texts[name] = texts.get(name, page.read_bytes()) + f"\nLine {number}.\n".encode()
        above = "from refs/heads/main^0\n" if number == 1 else ""
        when = FIRST_SECOND + MINUTE * number
        yield f"commit refs/heads/main\ncommitter A <a@example.org> {when} +0000\ndata 2\nc\n{above}".encode()
        for path, text in ((name, texts[name]), (often.path, _often(number))):
            yield f'M 100644 inline "{path}"\ndata {len(text)}\n'.encode() + text + b"\n"


def _often(number: int) -> bytes:
    """A page of which each commit changes one section in turn; its introduction never changes."""
    sections = [f"## Part {section}\n\n{f'Text of {_last(number, section)}. ' * 28}\n" for section in range(SECTIONS)]
    return "\n".join(["# Often\n\nAs it began.\n", *sections]).encode()


def _last(number: int, section: int) -> int:
    """The last commit up to `number` that changed a section."""
    return max(number - (number - section) % SECTIONS, 0)


def _questions(work: Work, collection: Collection, what: str) -> Iterator[Row]:
    """Times of the first query at the first commit and of later ones, and their disk usage."""
    begun = datetime.fromtimestamp(FIRST_SECOND + MINUTE / 2, UTC)
    commit = moment_of(collection, begun.isoformat()).commit
    cache = work.folder / "cache"
    states = cache / collection.store.identity / "past"
    costs: list[Spent] = []
    later, size = Spent(0, 0), 0
    for _ in range(max(work.runs, 1)):
        with closing(cast("IndexedPast", open_past(collection.store, cache))) as past:
            costs.append(spent(partial(_ask, past, commit.id)))
            later = median_spent(20, partial(_ask, past, commit.id))
        size = sum(file.stat().st_size for file in states.rglob("*") if file.is_file() and file.stat().st_nlink == 1)
        shutil.rmtree(states)  # the next run starts without any past state
    first = sorted(costs, key=lambda cost: cost.cpu)[len(costs) // 2]
    shown = f"{first.wall:.2f} s; {size / 1e6:.0f} MB of its own on disk"
    yield Row(PART, f"first question at a date, {what}", first.cpu, "CPU s", "< 2", shown)
    shown = f"{1000 * later.wall:.1f} ms"
    yield Row(PART, f"later question at a date, {what}", 1000 * later.cpu, "CPU ms", "< 50", shown)


def _ask(past: IndexedPast, commit: str) -> None:
    with past.opened(commit) as (_, index):
        index.search(SearchQuery(text="memory allocation", limit=10))


def _blame(work: Work, collection: Collection, address: Address) -> Iterator[Row]:
    """The blame of a page that every commit changed, without a cache and with one."""

    def first() -> None:
        forget_blame()
        section_blame(collection, address)

    what = f"a page with {COMMITS:,} commits, dates known"
    cost = median_spent(max(work.runs, 5), first)
    yield Row(PART, f"first section blame of {what}", 1000 * cost.cpu, "CPU ms", "<= 50", f"{1000 * cost.wall:.1f} ms")
    cost = median_spent(20, lambda: section_blame(collection, address))
    yield Row(PART, f"later section blame of {what}", 1000 * cost.cpu, "CPU ms", "<= 50", f"{1000 * cost.wall:.1f} ms")


def _git(folder: Path, arguments: list[str], given_content: bytes = b"") -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, input=given_content)
