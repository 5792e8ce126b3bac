"""Questions about the past of a base of 10,000 files, 1,000 commits ago, and the blame of a page with 1,000 commits."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.measuring import Row, Spent, Work, median_spent, spent
from benchmarks.trees import generated_tree, real_tree
from commonplace.bootstrap import Application
from commonplace.domain.addresses import Address
from commonplace.domain.query import SearchQuery
from commonplace.index import open_past
from commonplace.services.collections import Collection
from commonplace.index.past.states import IndexedPast
from commonplace.services.past import section_blame
from commonplace.services.past.section_blame import forget_blame
from commonplace.settings import default_settings

PART = "past"
COMMITS = 1_000
"""Commits after the first, each of which changes one page and a section of `often.md`."""
GENERATED = (10_000, 5)
"""Files and sections of each where no corpus is at hand."""
SECTIONS = 20
"""Sections of the page that every commit changes."""
FIRST_SECOND = 1_600_000_000
MINUTE = 60
OFTEN = "often.md"


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = real_tree(work.folder) or generated_tree(work.folder, *GENERATED)
    write_history(tree.folder)
    settings = replace(default_settings(), cache_dir=work.folder / "cache", state_dir=work.folder / "state")
    application = Application([tree.folder], settings)
    try:
        application.sync()
        (collection,) = application.services.collections
        collection.store.history.touched()  # a server reads the history in the background when it starts
        yield from _questions(work, collection, f"{tree.files:,} files, {COMMITS:,} commits apart")
        yield from _blame(work, collection)
    finally:
        application.close()


def write_history(folder: Path) -> None:
    """Make a folder a repository: one commit of all files, then `COMMITS` that change a page each."""
    pages = sorted(path for path in folder.rglob("*.md") if "/." not in f"/{path.relative_to(folder)}")
    _git(folder, ["init", "--quiet", "--initial-branch=main"])
    (folder / OFTEN).write_bytes(_often(0))
    _git(folder, ["add", "--all"])
    stamp = f"{FIRST_SECOND} +0000"
    person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    _git(folder, [*person, "commit", "--quiet", "--message", "Begin", "--date", stamp])
    _git(folder, ["fast-import", "--quiet"], b"".join(_commits(folder, pages)))
    _git(folder, ["reset", "--quiet", "--hard", "main"])


def _commits(folder: Path, pages: list[Path]) -> Iterator[bytes]:
    chance = random.Random(COMMITS)
    texts: dict[str, bytes] = {}
    for number in range(1, COMMITS + 1):
        page = chance.choice(pages)
        name = page.relative_to(folder).as_posix()
        texts[name] = texts.get(name, page.read_bytes()) + f"\nLine {number}.\n".encode()
        yield (
            f"commit refs/heads/main\ncommitter A <a@example.org> {FIRST_SECOND + MINUTE * number} +0000\n"
            f"data 2\nc\n{'from refs/heads/main^0\n' if number == 1 else ''}"
        ).encode()
        for path, text in ((name, texts[name]), (OFTEN, _often(number))):
            yield f'M 100644 inline "{path}"\ndata {len(text)}\n'.encode() + text + b"\n"


def _often(number: int) -> bytes:
    """A page of which each commit changes one section in turn; its first section is as old as the page."""
    sections = [f"## Part {one}\n\nText of {_last(number, one)}.\n" for one in range(SECTIONS)]
    return "\n".join(["# Often\n\nAs it began.\n", *sections]).encode()


def _last(number: int, section: int) -> int:
    """The last commit up to `number` that changed a section."""
    return max(number - (number - section) % SECTIONS, 0)


def _questions(work: Work, collection: Collection, what: str) -> Iterator[Row]:
    """The first question at the first commit, and later ones; what they leave on disk."""
    assert collection.past is not None
    commit = collection.past.commits.latest(FIRST_SECOND + MINUTE / 2)
    assert commit is not None
    cache = work.folder / "cache"
    costs: list[Spent] = []
    for _ in range(max(work.runs, 1)):
        past = open_past(collection.store, cache)
        assert past is not None
        with closing(past):
            costs.append(spent(partial(_ask, past, commit.id)))
            later = median_spent(20, partial(_ask, past, commit.id))
        states = cache / collection.store.identity / "past"
        size = sum(file.stat().st_size for file in states.rglob("*") if file.is_file() and file.stat().st_nlink == 1)
        shutil.rmtree(states)  # the next run begins without any past state
    first = sorted(costs, key=lambda cost: cost.cpu)[len(costs) // 2]
    shown = f"{first.wall:.2f} s; {size / 1e6:.0f} MB of its own on disk"
    yield Row(PART, f"first question at a date, {what}", first.cpu, "CPU s", "< 2", shown)
    shown = f"{1000 * later.wall:.1f} ms"
    yield Row(PART, f"later question at a date, {what}", 1000 * later.cpu, "CPU ms", "< 50", shown)


def _ask(past: IndexedPast, commit: str) -> None:
    with past.opened(commit) as (_, index):
        index.search(SearchQuery(text="memory allocation", limit=10))


def _blame(work: Work, collection: Collection) -> Iterator[Row]:
    """The blame of a page that every commit changed, without and with what an earlier one found."""
    address = Address(OFTEN)

    def first() -> None:
        forget_blame()
        section_blame(collection, address)

    what = f"a page with {COMMITS:,} commits, dates known"
    cost = median_spent(max(work.runs, 5), first)
    yield Row(PART, f"first section blame of {what}", 1000 * cost.cpu, "CPU ms", "<= 50", f"{1000 * cost.wall:.1f} ms")
    cost = median_spent(20, lambda: section_blame(collection, address))
    yield Row(PART, f"later section blame of {what}", 1000 * cost.cpu, "CPU ms", "<= 50", f"{1000 * cost.wall:.1f} ms")


def _git(folder: Path, arguments: list[str], given: bytes = b"") -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, input=given)
