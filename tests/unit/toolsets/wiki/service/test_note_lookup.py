"""Resolution of paths to notes, and the revision of a note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.toolsets.wiki.service import note_lookup
from indexed import Indexed
from support import GitRepo, new_repo

FILES = {
    "Iran.md": "---\ntitle: The country\n---\n# Iran\n",
    "Twice.md": "1\n",
    "TWICE.md": "2\n",
    "long.markdown": "# L\n",
    "In/Größe.md": "# G\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "base", FILES)


@pytest.fixture
def base(repo: GitRepo, tmp_path: Path) -> Iterator[Indexed]:
    del repo
    with Indexed(tmp_path) as made:
        yield made


def found(base: Indexed, path: str) -> str | None:
    address = note_lookup.find_note(base.collection, path)
    return address.path if address else None


def test_a_path_means_the_note_of_just_this_name_or_the_only_one_that_differs_in_case(base: Indexed) -> None:
    assert found(base, "Iran") == found(base, "iran") == found(base, "IRAN.md") == "Iran.md"
    assert found(base, "Twice") == "Twice.md"
    assert found(base, "twice") is None, "two notes are as near"
    assert found(base, "long") == "long.markdown"
    assert found(base, "in/gro\u0308ße") == "In/Größe.md"
    assert found(base, "none") is None


def test_a_note_that_the_index_was_not_told_of_is_found(base: Indexed) -> None:
    base.write("fresh.md", "# Fresh\n")
    assert found(base, "fresh") == "fresh.md"


@pytest.mark.parametrize("path", ["", "/Iran", "../Iran", "a//b", ".hidden", "a\0b"])
def test_what_is_no_path_is_refused(base: Indexed, path: str) -> None:
    with pytest.raises(InvalidInputError):
        note_lookup.find_note(base.collection, path)


def test_a_missing_note_is_told_with_what_was_asked(base: Indexed) -> None:
    with pytest.raises(NotFoundError) as refused:
        note_lookup.require_note(base.collection, "Irann")
    assert (refused.value.kind, refused.value.context["reference"]) == ("page", "Irann")


def test_the_revision_of_a_note_is_its_last_commit_and_of_changed_bytes_their_own(base: Indexed, repo: GitRepo) -> None:
    commit = repo.git("rev-parse", "HEAD")
    repo.commit("Another", **{"other.md": "x"})
    iran = Address("Iran.md")
    state = note_lookup.state_of(base.collection, iran)
    assert (state.revision, state.is_reproducible) == (commit, True)
    assert state.names == (commit, revision_of(FILES["Iran.md"].encode()))
    base.write("Iran.md", "changed\n")
    changed = note_lookup.state_of(base.collection, iran)
    assert changed.revision == revision_of(b"changed\n")
    assert changed.commit is not None
    assert changed.commit.id == commit
    base.write("new.md", "new\n")
    assert note_lookup.state_of(base.collection, Address("new.md")).commit is None
    with pytest.raises(NotFoundError):
        note_lookup.state_of(base.collection, Address("none.md"))


def test_line_ends_that_git_converts_make_no_other_revision(base: Indexed, repo: GitRepo) -> None:
    repo.git("config", "core.autocrlf", "true")
    base.write("Iran.md", FILES["Iran.md"].replace("\n", "\r\n"))
    state = note_lookup.state_of(base.collection, Address("Iran.md"))
    assert (state.revision, state.is_reproducible) == (repo.git("rev-parse", "HEAD"), False)


def test_a_note_is_current_by_either_name_and_any_beginning_of_seven_digits(base: Indexed) -> None:
    iran = Address("Iran.md")
    state = note_lookup.state_of(base.collection, iran)
    for name in state.names:
        note_lookup.require_current(base.collection, iran, state, name[:7].upper())
    with pytest.raises(ConflictError) as refused:
        note_lookup.require_current(base.collection, iran, state, "1" * 40)
    assert refused.value.context["current_revision"] == state.revision


@each_case("text", ["", "abc", "1" * 41, "HEAD", "--help", "g" * 40])
def test_a_text_that_can_be_no_revision_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        note_lookup.require_revision(text)
    assert refused.value.kind == "revision"


def test_a_note_is_called_by_its_title_and_one_that_is_gone_by_its_path(base: Indexed) -> None:
    assert note_lookup.name_at(base.collection, Address("Iran.md")) == "The country"
    assert note_lookup.name_at(base.collection, Address("In/none.md")) == "none"
    base.write("bom.md", "\ufeff---\ntitle: With a mark\n---\n")
    assert note_lookup.name_at(base.collection, Address("bom.md")) == "With a mark"


def test_moments_are_told_in_utc() -> None:
    assert note_lookup.moment(0) == "1970-01-01T00:00:00Z"
