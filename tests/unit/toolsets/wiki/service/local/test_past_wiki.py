"""A wiki as it was at a moment of its history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.index import open_past
from commonplace.services.collections import Collections
from commonplace.services.services import ServiceProvider, Services
from commonplace.toolsets.wiki.rules import NoteFilter
from commonplace.toolsets.wiki.service import WIKI_KEY
from commonplace.toolsets.wiki.service.local import local_wiki, wiki_at
from commonplace.toolsets.wiki.service.notes import WikiOptions
from indexed import Indexed
from support import GitRepo, new_repo


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    repo = new_repo(tmp_path / "base", {"a.md": "old walrus [[b]]\n"})
    repo.git("tag", "first")
    repo.commit("Later", **{"a.md": "new kiwi\n", "b.md": "# B\n"})
    return repo


@pytest.fixture
def services(repo: GitRepo, tmp_path: Path) -> Iterator[Services]:
    del repo
    with Indexed(tmp_path) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            collection = replace(base.collection, past=past)
            wiki: ServiceProvider[Any] = ServiceProvider(WIKI_KEY, lambda _: local_wiki(collection, WikiOptions()))
            yield Services(collections=Collections(lambda: [collection]), providers=(wiki,))


def test_now_is_the_wiki_as_it_is(services: Services) -> None:
    for at in ("", " "):
        with wiki_at(services, at) as state:
            assert (state.commit, state.notes.read("a").content) == ("", "new kiwi\n")


def test_a_tag_or_a_commit_is_the_wiki_as_it_was(services: Services, repo: GitRepo) -> None:
    first = repo.git("rev-parse", "first")
    for at in ("first", first[:10], f"before {repo.git('rev-parse', 'HEAD')[:10]}"):
        with wiki_at(services, at) as state:
            assert state.commit == first
            assert state.notes.read("a").content == "old walrus [[b]]\n"
            assert [hit.path for hit in state.queries.search("walrus", 5).hits] == ["a"]
            assert [note.path for note in state.notes.list(NoteFilter()).notes] == ["a"]
            assert [node.path for node in state.queries.graph().nodes if not node.exists] == ["b"]


@pytest.mark.parametrize("at", ["no-such-tag", "1234567", "--help", "HEAD~99"])
def test_a_text_that_names_no_moment_is_not_found(services: Services, at: str) -> None:
    with pytest.raises(NotFoundError) as refused, wiki_at(services, at):
        pass
    assert refused.value.kind == "revision"


def test_a_folder_without_git_and_another_server_have_no_past_here(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "x\n"}) as base:
        wiki: ServiceProvider[Any] = ServiceProvider(WIKI_KEY, lambda _: local_wiki(base.collection, WikiOptions()))
        with (
            pytest.raises(NotFoundError),
            wiki_at(Services(collections=base.collections, providers=(wiki,)), "yesterday"),
        ):
            pass
        elsewhere = Services(collections=Collections(list), providers=(wiki,))
        with pytest.raises(InvalidInputError) as refused, wiki_at(elsewhere, "yesterday"):
            pass
        assert "revision" in refused.value.hint


def test_a_page_is_found_in_the_past_by_the_name_that_it_has_now(services: Services, repo: GitRepo) -> None:
    repo.git("mv", "a.md", "c.md")
    repo.git("commit", "-qm", "Renamed")
    collection = next(iter(services.collections))
    with wiki_at(services, "first") as state:
        assert state.path_then("a") == "a"
    collection.index.sync()
    with wiki_at(services, "first") as state:
        assert [state.path_then(path) for path in ("c", "a", "b", "never")] == ["a", "a", "b", "never"]
        assert state.notes.read(state.path_then("c")).content == "old walrus [[b]]\n"
        assert state.queries.links(state.path_then("c")).links_to == ("b",)
