"""The history of a page in a repository of 100,000 commits: its newest commits, and all of a page with few."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measuring import Row, Work, median_spent
from commonplace.domain.addresses import Address
from commonplace.domain.past import StoreWithPast
from commonplace.store import open_store

PART = "history"
COMMITS = 100_000
PAGES = 1000
OFTEN = 100
"""One of every `OFTEN` commits changes the same page."""
FIRST_SECOND = 1_600_000_000
MINUTE = 60
RENAMES = 4
"""Number of commits of the renamed page; all but the first rename it."""
RENAME_EACH = 20
"""Number of commits from one rename to the next."""
RECENT = 500
"""Number of commits since the newest page was created."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    folder = work.folder / "repository"
    folder.mkdir()
    _git(folder, ["init", "--quiet", "--initial-branch=main"])
    _git(folder, ["fast-import", "--quiet"], b"".join(map(_commit, range(COMMITS))))
    _git(folder, ["reset", "--quiet", "--hard"])
    store = open_store(folder, commit="auto", state_dir=work.folder / "state")
    history = store.history

    def newest(page: str) -> Callable[[], object]:
        return lambda: history.log(Address(page), limit=20)

    yield _row(work, "20 commits of a page that is often changed", newest("often.md"))
    yield _row(work, "20 commits of one of 1,000 pages", newest("area7/page-7.md"))
    yield _row(work, "all commits of a page that is as old as the repository and was changed once", newest("first.md"))
    yield _row(work, "all commits of a page made lately", newest("last.md"))
    yield _row(work, "20 commits of the folder", lambda: history.log(None, limit=20))
    began, cpu = time.perf_counter(), time.process_time()
    history.touched()
    shown = f"once, in the background; {time.perf_counter() - began:.1f} s"
    yield Row(PART, f"dates of every page from {COMMITS:,} commits", time.process_time() - cpu, "CPU s", "", shown)
    yield _row(work, "all commits of a page made lately, when dates are known", newest("last.md"))
    renamed = "all commits of an old page that was renamed three times, when dates are known"
    yield _row(work, renamed, newest("renamed-3.md"), "<= 30")
    past = store.past if isinstance(store, StoreWithPast) else None
    if past is not None:

        def too_early() -> None:
            commit = past.latest(FIRST_SECOND + MINUTE)
            if commit is None or history.address_at(Address("last.md"), commit.id) is not None:
                raise RuntimeError("the page was there")

        yield _row(
            work, "refusal to read a page at a date before it was made, when dates are known", too_early, "<= 50"
        )


def _row(work: Work, name: str, act: Callable[[], object], target: str = "") -> Row:
    act()
    cost = median_spent(work.runs, act)
    return Row(PART, f"{name}, of {COMMITS:,}", 1000 * cost.cpu, "CPU ms", target, f"{1000 * cost.wall:.1f} ms")


def _commit(number: int) -> bytes:
    path = f"area{number % 20}/page-{number % PAGES}.md"
    path = "first.md" if number == 0 else "last.md" if number == COMMITS - RECENT else path
    path = path if number % OFTEN or path in {"first.md", "last.md"} else "often.md"
    text = f"# {path}\n\nVersion {number}.\n"
    above = f"from :{number}\n" if number else ""
    when = FIRST_SECOND + MINUTE * number
    return (
        f"commit refs/heads/main\nmark :{number + 1}\ncommitter A <a@example.org> {when} +0000\n"
        f"data 2\nc\n{above}M 100644 inline {path}\ndata {len(text)}\n{text}\n{_renamed(number)}"
    ).encode()


def _renamed(number: int) -> str:
    """The changes of a page that is made by the first commit, and renamed and edited by three of the next."""
    if number >= RENAMES * RENAME_EACH or number % RENAME_EACH:
        return ""
    version = number // RENAME_EACH
    text = "".join(f"Sentence {line} stays.\n" for line in range(20)) + f"Version {version}.\n"
    removed = f"D renamed-{version - 1}.md\n" if version else ""
    return f"{removed}M 100644 inline renamed-{version}.md\ndata {len(text)}\n{text}\n"


def _git(folder: Path, arguments: list[str], given_content: bytes = b"") -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, input=given_content)
