"""What changed since a moment, in every face that tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.faces.cli.pages import located
from commonplace.faces.mcp.toolset import Call
from commonplace.index import open_past
from commonplace.services.brief import brief
from commonplace.services.collections import Collections
from commonplace.services.history import restore_last
from commonplace.services.past import since_of
from commonplace.services.services import Services
from commonplace.toolsets.notes.mcp.changes import changes
from commonplace.toolsets.notes.mcp.parameters import NotesChanges, NotesRestore, NotesSearch
from commonplace.toolsets.notes.mcp.queries import search
from commonplace.toolsets.notes.mcp.resources import summarize_changes
from commonplace.toolsets.notes.mcp.restoration import restore
from indexed import Indexed
from support import GitRepo, new_repo


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """A branch into which an older branch was merged in 2026, and an older commit was picked."""
    repo = new_repo(tmp_path / "base")

    def commit(day: str, *, made: str = "", **files: str) -> None:
        for role, date in (("AUTHOR", made or day), ("COMMITTER", day)):
            monkeypatch.setenv(f"GIT_{role}_DATE", f"{date}T12:00:00Z")
        repo.commit(day, **files)

    commit("2024-01-01", **{"a.md": "# A\n\nzebra\n", "gone.md": "# Gone\n"})
    repo.git("checkout", "--quiet", "-b", "side")
    repo.git("rm", "--quiet", "gone.md")
    commit("2024-06-01", **{"merged.md": "# Merged\n\nzebra\n"})
    repo.git("checkout", "--quiet", "-")
    commit("2025-01-01", **{"b.md": "# B\n\nzebra\n"})
    repo.git("tag", "v1")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-01T12:00:00Z")
    repo.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    commit("2026-01-02", made="2024-07-01", **{"picked.md": "# Picked\n\nzebra\n"})
    return repo


@pytest.fixture
def call(repo: GitRepo, tmp_path: Path) -> Iterator[Call]:
    del repo
    with Indexed(tmp_path) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            services = Services(collections=Collections(lambda: [replace(base.collection, past=past)]))
            yield Call(services=services, tier="read", progress=lambda *_: None)


def told(call: Call, since: str) -> dict[str, str]:
    """What each face tells of what is new since a moment."""
    own = brief(call.services, "", None, since=since_of(call.services.collections, since)).changed
    return {
        "changes": str(changes(call, NotesChanges(since=since))),
        "of a page": str(changes(call, NotesChanges(since=since, page="merged.md"))),
        "deleted": str(changes(call, NotesChanges(since=since, deleted=True))),
        "of a deleted page": str(changes(call, NotesChanges(since=since, deleted=True, page="gone"))),
        "search": str(search(call, NotesSearch(query="zebra", since=since))),
        "prompt": summarize_changes(call, {"since": since}),
        "brief": " ".join(page.address.path for page in own),
    }


NEW = {
    **{key: {"merged.md", "picked.md", "gone.md"} for key in ("changes", "prompt", "brief")},
    **{key: {"gone.md"} for key in ("deleted", "of a deleted page")},
    "of a page": {"2024-06-01 12:00 (merged or picked since)"},
    "search": {"merged.md", "picked.md"},
}


def test_new_is_what_came_into_the_branch_since_in_every_face_however_old_it_is(call: Call) -> None:
    for state in ("the history has not been read", "read"):
        for since in ("2025-06-01", "v1", "HEAD~2", "before HEAD~1"):
            for face, text in told(call, since).items():
                assert all(name in text for name in NEW[face]), (state, since, face)
                assert "b.md" not in text, (state, since, face)
                assert "[1] a.md" not in text, (state, since, face)
        call.services.collections.members[0].store.history.touched()
    assert all("merged.md" not in text for text in told(call, "2026-01-02").values())


def test_a_moment_that_is_none_or_in_the_future_is_refused_in_every_face(call: Call) -> None:
    for text, sentence in (("2999-01-01", "lies in the future: it is "), ("someday", "is no moment of the past")):
        for face in (
            lambda since: changes(call, NotesChanges(since=since)),
            lambda since: changes(call, NotesChanges(since=since, deleted=True)),
            lambda since: search(call, NotesSearch(query="zebra", since=since)),
            lambda since: since_of(call.services.collections, since),
        ):
            with pytest.raises(InvalidInputError, match=sentence):
                face(text)
    with pytest.raises(InvalidInputError, match="is no moment"):
        search(call, NotesSearch(query="zebra", until="someday"))
    assert "picked.md" in str(search(call, NotesSearch(query="zebra", until="HEAD")))


def test_changes_are_told_while_the_first_index_is_being_built(call: Call) -> None:
    (collection,) = call.services.collections.members
    collection.index.__dict__["_ready"] = Event()
    answer = str(changes(call, NotesChanges()))
    assert answer.startswith("base: The index is still being built")
    assert "What is not committed is not known yet.\n" in answer
    assert "Merge" in answer
    assert "gone.md deleted" in str(changes(call, NotesChanges(deleted=True)))
    assert "(beginning)" not in str(changes(call, NotesChanges(page="merged.md", sections=True)))


def test_sections_of_a_page_that_is_gone_name_its_deletion(call: Call) -> None:
    with pytest.raises(NotFoundError, match=r"gone\.md is not there, .* It was deleted on 2024-06-01") as refused:
        changes(call, NotesChanges(page="gone.md", sections=True))
    assert "restore" in (refused.value.hint or "")


def test_a_diff_that_is_cut_names_the_call_that_shows_the_page(call: Call, repo: GitRepo) -> None:
    repo.commit("Long", **{"long.md": "# Long\n\n" + "walrus boats\n" * 200})
    head = repo.git("rev-parse", "HEAD")[:17]
    *_, more, _ = str(changes(call, NotesChanges(diff=True, max_tokens=300))).split("\n")
    assert more.endswith(f'a larger max_tokens. Next: read {{"page": "long.md", "at": "{head}"}}')


def test_a_shallow_clone_says_in_each_face_that_it_does_not_know_what_was_before(repo: GitRepo, tmp_path: Path) -> None:
    clone = tmp_path / "clone" / "base"
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(clone))
    with Indexed(clone.parent) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            services = Services(collections=Collections(lambda: [replace(base.collection, past=past)]))
            call = Call(services=services, tier="write", progress=lambda *_: None)
            early = since_of(services.collections, "2020-01-01")
            for number, face in enumerate(
                (
                    lambda: changes(call, NotesChanges()),
                    lambda: changes(call, NotesChanges(since="2020-01-01")),
                    lambda: changes(call, NotesChanges(by="Ann")),
                    lambda: changes(call, NotesChanges(deleted=True)),
                    lambda: changes(call, NotesChanges(page="a.md", sections=True)),
                    lambda: changes(call, NotesChanges(since="HEAD~3")),
                    lambda: changes(call, NotesChanges(page="gone.md")),
                    lambda: restore(call, NotesRestore(page="gone.md")),
                    lambda: located(services.collections, "gone.md"),
                    lambda: restore_last(base.collection, ("gone.md", ""), lambda: Address("gone.md")),
                    lambda: "\n".join(brief(services, "", None, since=early).unknown),
                )
            ):
                try:
                    text = str(face())
                except NotFoundError as refused:
                    text = refused.advice
                assert text.lower().count("the clone is shallow") == 1, (number, text)
                assert "git fetch --unshallow" in text, (number, text)
                assert "no author" not in text, number
                assert "No deleted" not in text, number


def test_without_history_each_argument_that_needs_one_is_named(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        call = Call(services=Services(collections=base.collections), tier="read", progress=lambda *_: None)
        for arguments, name, is_listed in (
            (NotesChanges(by="Ann"), "by", False),
            (NotesChanges(deleted=True), "deleted", False),
            (NotesChanges(diff=True), "diff", True),
            (NotesChanges(), "", True),
        ):
            text = str(changes(call, arguments))
            assert (f"base: it is not in a Git repository; {name} cannot be known." in text) == bool(name), text
            assert ("a.md" in text) == is_listed, text
            assert "No deleted" not in text
