"""Commits as people read them, and pages that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError
from commonplace.services.collections import Collection
from commonplace.services.site import changes
from indexed import Indexed
from support import GitRepo, new_repo

LINES = "".join(f"Line {number} of a page.\n" for number in range(20))
PAGE, GONE, MOVED = Address("page.md"), Address("gone.md"), Address("old name.md")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    place = tmp_path_factory.mktemp("changes")
    repo = new_repo(place / "base", {"page.md": "# Page\n\n## One\n\nA.\n\n## Two\n\nB.\n"})
    repo.commit(
        "Second",
        **{"page.md": "# Page\n\n## One\n\nA.\n\n## Two\n\nC 文.\n", "gone.md": "# Gone\n", "old name.md": LINES},
    )
    repo.git("rm", "--quiet", "gone.md", "old name.md")
    repo.commit("Third", **{"new name.md": LINES + "And more.\n"})
    repo.write("page.md", "# Page\n\n## One\n\nA.\n\n## Two\n\nC 文.\n\n## Three\n\nNot committed.\n")
    with Indexed(place) as base:
        yield base.collection


def subjects(collection: Collection, page: int) -> tuple[list[str], bool]:
    commits, older = changes.recent(collection, page)
    return [commit.message.strip() for commit in commits], older


def test_recent_commits_come_newest_first_and_page_by_page(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert subjects(collection, 1) == (["Third", "Second", "Begin"], False)
    assert subjects(collection, 2) == ([], False)
    monkeypatch.setattr(changes, "RECENT", 2)
    assert subjects(collection, 1) == (["Third", "Second"], True)
    assert subjects(collection, 2) == (["Begin"], False)


def test_a_commit_is_found_by_the_beginning_of_its_id(collection: Collection) -> None:
    (third, *_), _ = changes.recent(collection, 1)
    assert changes.commit_of(collection, third.id[:7]).id == third.id
    assert Address("new name.md") in changes.commit_of(collection, third.id).addresses
    with pytest.raises(NotFoundError):
        changes.commit_of(collection, "zzzz")


def test_the_versions_of_a_document_and_the_one_before(collection: Collection) -> None:
    (third, second, first), _ = changes.recent(collection, 1)
    assert changes.before(collection, PAGE, second.id) == first.id
    assert changes.before(collection, PAGE, first.id) == ""
    assert changes.before(collection, GONE, second.id) == ""
    assert changes.version(collection, PAGE, second.id).endswith("C 文.\n")
    assert changes.version(collection, PAGE, "").endswith("Not committed.\n")
    assert changes.version(collection, GONE, first.id) == changes.version(collection, GONE, "") == ""
    assert changes.version(collection, GONE, third.id) == ""


def test_a_page_that_is_gone_tells_its_last_commit_and_where_it_went(collection: Collection) -> None:
    (third, second, _), _ = changes.recent(collection, 1)
    gone, moved = changes.gone_page(collection, GONE), changes.gone_page(collection, MOVED)
    assert gone is not None
    assert moved is not None
    assert (gone.removed.id, gone.last, gone.renamed_to) == (third.id, second.id, None)
    assert moved.renamed_to == Address("new name.md")
    assert changes.gone_page(collection, Address("never.md")) is None


def test_a_folder_without_git_has_no_commits(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"page.md": "# Page\n"}) as base:
        assert changes.recent(base.collection, 1) == ((), False)
        assert changes.gone_page(base.collection, GONE) is None
        with pytest.raises(NotFoundError):
            changes.commit_of(base.collection, "abcdef1")


def test_a_new_commit_is_seen_at_once(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"page.md": "# Page\n"})
    with Indexed(tmp_path) as base:
        assert subjects(base.collection, 1)[0] == ["Begin"]
        GitRepo(repo.path).commit("More", **{"b.md": "# B\n"})
        base.index.sync()
        assert subjects(base.collection, 1)[0] == ["More", "Begin"]
