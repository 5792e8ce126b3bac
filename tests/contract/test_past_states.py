"""The base as it was answers as a fresh checkout of that commit does that is indexed from nothing.

What the present excludes stays excluded in the past. The present of one test excludes pages; that of the other excludes
nothing, so that a past state is all of a commit.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.domain.ports import Index, Store
from commonplace.domain.query import ListQuery
from commonplace.index import open_index, open_past
from commonplace.index.past import MAX_STATES, IndexedPast
from commonplace.store import open_store
from histories import replayed
from indexed import answers
from support import Amount, Corpora, GitRepo

WORDS = ("see", "command", "example", "value", "base")
SAMPLED, WHOLE = 90, 2_000
"""Commits of the replayed history."""
SEED = 20_261
IGNORE_FILE = ".commonplaceignore"
EXCLUDED = "side*/\n*s.md\n"


@pytest.fixture(scope="module", params=["cpp-docs", "powershell-docs"])
def repo(request: pytest.FixtureRequest, corpora: Corpora, tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    place = tmp_path_factory.mktemp("past")
    repo = replayed(corpora(request.param), place / "base", commits=_commits(), seed=SEED)
    repo.commit("Exclude nothing", **{IGNORE_FILE: ""})
    return repo


def _commits() -> int:
    from support import SOAK  # noqa: PLC0415 - a fixture of this module's scope cannot ask `amount`

    return WHOLE if SOAK else SAMPLED


def state_of(store: Store, index: Index) -> dict[str, object]:
    """Everything that a state answers: all that an index does, dates, and the bytes of each page."""
    records = index.list(ListQuery(limit=1000, sort="updated")).records
    return answers(index, WORDS) | {
        "dates": {record.address.path: (record.created, record.updated) for record in records},
        "texts": {record.address.path: store.read(record.address) for record in records},
    }


def fresh_state(repo: GitRepo, commit: str, place: Path, *, excluded: str = "") -> dict[str, object]:
    """The answers of a new checkout of a commit that is indexed from nothing.

    Args:
        repo: The repository.
        commit: The commit.
        place: A folder that does not exist, for the checkout.
        excluded: Patterns of excluded pages, in addition to those of the commit's own ignore file.
    """
    folder = place / repo.path.name
    repo.git("clone", "--quiet", "--no-checkout", str(repo.path), str(folder))
    GitRepo(folder).git("checkout", "--quiet", commit)
    if excluded:
        with (folder / IGNORE_FILE).open("a") as ignore_file:
            ignore_file.write(excluded)
    store = open_store(folder, commit="manual", state_dir=place / "state")
    store.history.touched()  # a long history may take longer to read than a query by date waits
    try:
        with closing(open_index(store, place / "cache")) as index:
            index.sync()
            return state_of(store, index)
    finally:
        shutil.rmtree(place)


@pytest.fixture
def past(repo: GitRepo, tmp_path: Path) -> Iterator[IndexedPast]:
    store = open_store(repo.path, commit="manual", state_dir=tmp_path / "state")
    with closing(open_index(store, tmp_path / "cache")) as live:
        live.sync()
        opened = open_past(store, tmp_path / "cache")
        assert opened is not None
        with closing(opened):
            yield opened


def sampled(repo: GitRepo, count: int) -> list[str]:
    """Random commits of the history, always the same ones."""
    return random.Random(SEED).sample(repo.git("rev-list", "main").splitlines(), count)


@pytest.fixture
def excluding(repo: GitRepo) -> Iterator[str]:
    """Patterns that the present's ignore file holds for the length of a test."""
    repo.write(IGNORE_FILE, EXCLUDED)
    yield EXCLUDED
    repo.write(IGNORE_FILE, "")


@pytest.mark.sampled(4)
def test_a_past_state_answers_as_a_fresh_checkout(
    past: IndexedPast, repo: GitRepo, amount: Amount, tmp_path: Path
) -> None:
    for number, commit in enumerate(sampled(repo, amount(6, 200))):
        with past.opened(commit) as (store, index):
            then = state_of(store, index)
        assert then == fresh_state(repo, commit, tmp_path / f"fresh{number}"), commit
    assert len(list((tmp_path / "cache").glob("*/past/*.lease"))) <= MAX_STATES


@pytest.mark.sampled(4)
def test_a_past_state_lacks_what_is_excluded_now(
    excluding: str, past: IndexedPast, repo: GitRepo, amount: Amount, tmp_path: Path
) -> None:
    left_out = 0
    for number, commit in enumerate(sampled(repo, amount(2, 20))):
        left_out += repo.git("ls-tree", "-r", "--name-only", commit).count("s.md\n")
        with past.opened(commit) as (store, index):
            then = state_of(store, index)
        assert then == fresh_state(repo, commit, tmp_path / f"fresh{number}", excluded=excluding), commit
    assert left_out > 0
