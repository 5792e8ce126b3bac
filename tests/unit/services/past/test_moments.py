"""Moments as callers name them, and the collections as they were then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.query import SearchQuery
from commonplace.index import open_past
from commonplace.index.catalogue.other_files import DiskStore
from commonplace.services.collections import Collection, Collections
from commonplace.services.past import as_of, moment_of
from indexed import Indexed
from support import GitRepo, new_repo

DAYS = ("2025-01-10T12:00:00+00:00", "2025-02-10T12:00:00+00:00", "2025-03-10T00:00:00+00:00")
IDS: list[str] = []
"""Commits of those days, oldest first."""


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    place = tmp_path_factory.mktemp("moments")
    repo = GitRepo(new_repo(place / "base").path)
    with pytest.MonkeyPatch.context() as patch:
        for number, day in enumerate(DAYS):
            patch.setenv("GIT_AUTHOR_DATE", day)
            patch.setenv("GIT_COMMITTER_DATE", day)
            IDS.append(repo.commit(f"State {number}", **{"a.md": f"# State {number}\n"}))
    repo.git("tag", "v1", IDS[0])
    repo.git("tag", "2025-03-01", IDS[0])
    with Indexed(place) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            yield replace(base.collection, past=past)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("2025-01-10", 0),
        ("2025-02-09", 0),
        ("2025-02-10", 1),
        ("before 2025-02-10", 0),
        ("BEFORE  2025-02-11 ", 1),
        ("2025-02-10T11:59:59Z", 0),
        ("2025-02-10T12:00:00Z", 1),
        ("before 2025-02-10T12:00:00Z", 0),
        ("2025-03-10", 2),
        ("before 2025-03-10", 1),
        ("today", 2),
        ("yesterday", 2),
        ("7 days ago", 2),
        ("v1", 0),
        ("2025-03-01", 0),
    ],
)
def test_a_date_a_time_or_a_tag_means_the_commit_that_was_current_then(
    collection: Collection, text: str, state: int
) -> None:
    assert moment_of(collection, text).commit.id == IDS[state]


def test_a_commit_and_what_was_before_it(collection: Collection) -> None:
    assert moment_of(collection, IDS[1][:7].upper()).commit.id == IDS[1]
    moment = moment_of(collection, f"before {IDS[2]}")
    assert (moment.commit.id, moment.day) == (IDS[1], "2025-02-10")
    with pytest.raises(NotFoundError, match=f"nothing before {IDS[0]}: the history begins with it"):
        moment_of(collection, f"before {IDS[0]}")
    count = IDS.index(moment_of(collection, "HEAD").commit.id)
    with pytest.raises(NotFoundError, match=f"nothing at HEAD~200: the history begins {count} before HEAD"):
        moment_of(collection, "HEAD~200")


@pytest.mark.parametrize(
    "text", ["", "  ", "before", "before ", "HEAD~~", "v1^", "--all", "v1..main", "someday", "次", "a\0b", "x" * 5000]
)
def test_what_names_no_moment_says_what_does(collection: Collection, text: str) -> None:
    with pytest.raises(KnowledgeError) as error:
        moment_of(collection, text)
    assert isinstance(error.value, InvalidInputError | NotFoundError)
    assert len(str(error.value)) < 300
    assert error.value.hint


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("2999-01-01", InvalidInputError, "lies in the future"),
        ("9999-12-31", InvalidInputError, "lies in the future"),
        ("2020-01-01", NotFoundError, "no commit yet at 2020-01-01"),
        ("before 2025-01-10", NotFoundError, "no commit yet before 2025-01-10"),
        ("0001-01-01", NotFoundError, "no commit yet"),
        ("0" * 40, NotFoundError, "0000000"),
    ],
)
def test_a_moment_of_the_future_or_before_everything_is_refused(
    collection: Collection, text: str, kind: type[KnowledgeError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        moment_of(collection, text)


def test_the_past_is_read_and_searched_as_it_was_and_cannot_be_written(collection: Collection) -> None:
    with as_of(Collections(lambda: [collection]), "2025-02-20") as past:
        (then,) = past.collections
        assert then.index.document(Address("a.md")).text == "# State 1\n"
        assert [hit.record.title for hit in then.index.search(SearchQuery(text="state")).hits] == ["State 1"]
        assert then.store.read_only_reason
        assert past.note == f"AS IT WAS at {IDS[1][:10]} of 2025-02-10, not as it is now"


def test_a_tag_is_that_of_one_of_several_collections(
    collection: Collection, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("untagged")
    new_repo(place / "base", {"b.md": "# B\n"})
    with Indexed(place) as untagged:
        past_states = open_past(untagged.store, untagged.cache)
        assert past_states is not None
        with closing(past_states):
            other = replace(untagged.collection, name="other", past=past_states)
            for order in ([other, collection], [collection, other]):
                with as_of(Collections(lambda order=order: order), "v1") as past:
                    assert [other_collection.name for other_collection in past.collections] == ["base"]
            with pytest.raises(InvalidInputError, match="is no moment"), as_of(Collections(lambda: [other]), "v1"):
                pass


def test_a_collection_that_had_no_commit_then_is_left_out(
    collection: Collection, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Indexed(tmp_path_factory.mktemp("plain"), {"b.md": "# B\n"}) as plain:
        both = Collections(lambda: [replace(plain.collection, name="plain"), collection])
        with as_of(both, "2025-01-31") as past:
            assert [other_collection.name for other_collection in past.collections] == ["base"]
        with pytest.raises(GitError, match="'plain': it is not in a Git repository"), as_of(both, "2020-01-01"):
            pass


def test_what_a_shallow_clone_lacks_is_not_known(collection: Collection, tmp_path: Path) -> None:
    assert isinstance(collection.store, DiskStore)
    GitRepo(tmp_path).git("clone", "--quiet", "--depth", "1", f"file://{collection.store.root}", "base")
    with Indexed(tmp_path) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            clone = replace(base.collection, past=past)
            assert moment_of(clone, "2025-03-10").commit.id == IDS[2]
            for text in ("2025-02-20", "before 2025-02-20"):
                with pytest.raises(NotFoundError, match=f"not known what was there .*{text}: the clone is shallow"):
                    moment_of(clone, text)
