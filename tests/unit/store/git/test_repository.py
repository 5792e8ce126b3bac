"""A repository that is asked again and again holds nothing of what it was asked."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from commonplace.store.git.repository import GitRepository
from support import new_repo

ROUNDS = 1_000
KEPT = 30_000
"""Bytes that may be left after so many rounds: a text for each takes 49 or more.

Lists that Python keeps for reuse take some 10,000 in all, however many rounds there are.
"""


def kept_by(act: Callable[[], object]) -> int:
    """Bytes of Python objects that are left when something was done many times."""
    act()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(ROUNDS):
            act()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    repo = new_repo(tmp_path_factory.mktemp("asked") / "repo", {"folder/a.md": "1\n"})
    return GitRepository(repo.path / ".git", repo.path)


def fresh(text: str) -> str:
    """An equal text that is another object."""
    return "".join(text)[:1] + text[1:]


def test_the_current_commit_leaves_nothing_behind(repository: GitRepository) -> None:
    assert kept_by(lambda: repository.head) < KEPT


@pytest.mark.parametrize("name", ["refs/heads/main", "refs/heads/missing"])
def test_the_tip_of_a_branch_leaves_nothing_behind(repository: GitRepository, name: str) -> None:
    assert kept_by(lambda: repository.tip(fresh(name))) < KEPT


@pytest.mark.parametrize("name", ["folder", "missing"])
def test_an_entry_of_a_tree_leaves_nothing_behind(repository: GitRepository, name: str) -> None:
    tree = str(repository.commit(repository.head).tree_id)
    assert kept_by(lambda: repository.child(tree, fresh(name))) < KEPT


def test_the_settings_and_objects_leave_nothing_behind(repository: GitRepository) -> None:
    head = repository.head
    assert kept_by(lambda: (repository.has_object(fresh(head)), repository.content(fresh(head)))) < KEPT
    assert kept_by(lambda: repository.setting(fresh("core.bare"))) < KEPT
