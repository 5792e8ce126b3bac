"""Each section has the commit since which the page holds its text, and no version is read twice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.ports import Store
from commonplace.index import open_index
from commonplace.services.collections import Collection
from commonplace.services.past import section_blame
from commonplace.store import open_store
from injection.wrapped_stores import WrappedHistory
from support import MakeRepo

PAGE = Address("notes/page.md")


def page_of(texts: list[str]) -> str:
    return "# Page\n\n" + "".join(f"## Section {number}\n\n{text}\n\n" for number, text in enumerate(texts))


class CountedHistory(WrappedHistory):
    """A history that records the commits whose versions are read."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.reads: list[str] = []

    def versions(self, address: Address) -> Iterator[tuple[Commit, bytes]]:
        for commit, raw in self.real.versions(address):
            self.reads.append(commit.id)
            yield commit, raw


def test_blame_is_that_of_every_version_and_reads_only_new_ones(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo = git_repo(files={"other.md": "# Other\n"})
    chosen = random.Random(7)
    texts, since = ["same"] * 6, [""] * 6
    store = open_store(repo.path, commit="manual", state_dir=tmp_path / "state")
    index = open_index(store, tmp_path / "cache")
    index.sync()
    history = CountedHistory(store)
    collection = Collection("repo", history.store(), index)
    for number in range(30):
        place = chosen.randrange(5)
        texts[place] = chosen.choice(["again", f"text {number}"])
        before = page_of(texts) if number == 0 else (repo.path / PAGE.path).read_text()
        commit = repo.commit(**{PAGE.path: page_of(texts), "other.md": f"{number}\n"})
        since[place] = commit if number == 0 or page_of(texts) != before else since[place]
        since = [element or commit for element in since]
        history.reads.clear()
        changes = section_blame(collection, PAGE)
        assert [change.commit.id if change.commit else "" for change in changes[1:]] == since
        assert len(history.reads) <= 2, number
    repo.write(PAGE.path, page_of([*texts[:-1], "not committed"]))
    assert [change.commit is None for change in section_blame(collection, PAGE)] == [False] * 6 + [True]
    index.close()


def test_a_rewritten_history_is_not_blamed_on_commits_that_are_gone(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo = git_repo(files={PAGE.path: page_of(["one"])})
    repo.commit(**{PAGE.path: page_of(["two"])})
    store = open_store(repo.path, commit="manual", state_dir=tmp_path / "state")
    index = open_index(store, tmp_path / "cache")
    index.sync()
    collection = Collection("repo", store, index)
    gone = section_blame(collection, PAGE)[1].commit
    repo.git("commit", "--quiet", "--amend", "--message", "Another subject")
    now = section_blame(collection, PAGE)[1].commit
    assert now is not None
    assert now.message.strip() == "Another subject"
    assert now != gone
    index.close()


def test_a_section_that_was_carried_to_another_page_has_the_commit_that_wrote_it(
    git_repo: MakeRepo, tmp_path: Path
) -> None:
    texts = [f"{word} is a text that is long enough to be known again elsewhere." for word in ("One", "Two", "Six")]
    short = "## Short\n\nYes.\n\n"
    repo = git_repo(files={"other.md": "# Other\n", PAGE.path: page_of(texts[:1])})
    first = repo.git("rev-parse", "HEAD").strip()
    second = repo.commit(**{PAGE.path: page_of(texts) + short})
    carried = f"## Section 2\n\n{texts[2]}\n\n"
    repo.commit(**{PAGE.path: page_of(texts[:2]), "other.md": f"# Other\n\n{carried}{short}"})
    last = repo.commit(
        **{PAGE.path: "# Page\n", "all.md": page_of(texts[:2]) + carried + short, "other.md": "# Other\n"}
    )
    repo.commit(**{PAGE.path: "# Page\n\nMore.\n"})
    store = open_store(repo.path, commit="manual", state_dir=tmp_path / "state")
    index = open_index(store, tmp_path / "cache")
    index.sync()
    collection = Collection("repo", store, index)
    for _ in range(2):
        changes = section_blame(collection, Address("all.md"))
        assert [change.commit.id if change.commit else "" for change in changes[1:]] == [first, second, second, last]
    index.close()
