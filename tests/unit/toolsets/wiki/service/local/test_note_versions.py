"""Revisions of a note compared and brought back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import ConflictError, NotFoundError, PreconditionError
from commonplace.domain.revisions import Conditions
from commonplace.toolsets.wiki.rules import Wiki
from commonplace.toolsets.wiki.service.local import local_wiki
from commonplace.toolsets.wiki.service.notes import WikiOptions
from indexed import Indexed
from support import GitRepo, new_repo


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """`Page` has three states and is there; `gone` had one."""
    repo = new_repo(tmp_path / "base", {"Page.md": "one\n", "gone.md": "old\n"})
    repo.commit("Two", **{"Page.md": "two\n"})
    (repo.path / "gone.md").unlink()
    repo.commit("Three", **{"Page.md": "three\n"})
    return repo


@pytest.fixture
def base(repo: GitRepo, tmp_path: Path) -> Iterator[Indexed]:
    del repo
    with Indexed(tmp_path) as made:
        yield made


@pytest.fixture
def wiki(base: Indexed) -> Wiki:
    return local_wiki(base.collection, WikiOptions())


def test_the_differences_are_between_two_revisions_or_to_now(wiki: Wiki, repo: GitRepo) -> None:
    first = repo.git("rev-parse", "HEAD~2")
    diff = wiki.versions.diff("page", first, repo.git("rev-parse", "HEAD~1"))
    assert diff.path == "Page"
    assert "-one" in diff.diff
    assert "+two" in diff.diff
    assert "+three" in wiki.versions.diff("Page", first).diff
    assert wiki.versions.diff("Page", repo.git("rev-parse", "HEAD")).diff == ""
    assert "-old" in wiki.versions.diff("gone", first, repo.git("rev-parse", "HEAD")).diff


def test_a_note_that_never_was_is_told_from_a_revision_that_it_has_not(wiki: Wiki) -> None:
    with pytest.raises(NotFoundError) as no_page:
        wiki.versions.diff("never", "1234567")
    assert no_page.value.kind == "page"
    with pytest.raises(NotFoundError) as no_revision:
        wiki.versions.diff("Page", "1234567")
    assert no_revision.value.kind == "revision"
    with pytest.raises(NotFoundError) as not_restored:
        wiki.versions.restore("never", "1234567", message="x")
    assert not_restored.value.kind == "page"


def test_an_old_text_is_written_again_as_a_commit_of_its_own(wiki: Wiki, repo: GitRepo) -> None:
    saved = wiki.versions.restore("page", repo.git("rev-parse", "HEAD~2"), message="Back")
    assert (saved.path, saved.created, saved.unchanged) == ("Page", False, False)
    assert saved.revision == repo.git("rev-parse", "HEAD")
    assert wiki.notes.read("Page").content == "one\n"
    assert repo.git("log", "-1", "--format=%s") == "Back"
    again = wiki.versions.restore("Page", saved.revision, message="Back")
    assert again.unchanged


def test_a_note_that_is_gone_comes_back(wiki: Wiki, repo: GitRepo) -> None:
    saved = wiki.versions.restore("gone", repo.git("rev-parse", "HEAD~1"), message="Back")
    assert saved.created
    assert wiki.notes.read("gone").content == "old\n"


def test_text_that_no_commit_has_is_not_overwritten(wiki: Wiki, base: Indexed, repo: GitRepo) -> None:
    base.update("Page.md", "only here\n")
    with pytest.raises(ConflictError):
        wiki.versions.restore("Page", repo.git("rev-parse", "HEAD~2"), message="Back")
    assert wiki.notes.read("Page").content == "only here\n"


def test_conditions_are_about_the_note_as_it_is(wiki: Wiki, repo: GitRepo) -> None:
    first, head = repo.git("rev-parse", "HEAD~2"), repo.git("rev-parse", "HEAD")
    with pytest.raises(PreconditionError):
        wiki.versions.restore("Page", first, message="x", conditions=Conditions(match=frozenset({first})))
    with pytest.raises(PreconditionError):
        wiki.versions.restore("gone", first, message="x", conditions=Conditions(match=frozenset({"*"})))
    wiki.versions.restore("Page", first, message="x", conditions=Conditions(match=frozenset({head})))
    assert wiki.notes.read("Page").content == "one\n"
