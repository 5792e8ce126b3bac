"""The commits that a caller needs and an answer contains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError, UnavailableError
from commonplace.services.cluster.freshness import (
    MAX_COMMITS,
    NeededCommit,
    contained_commits,
    parse_needed,
    wait_for_commits,
)
from commonplace.services.collections import Collection, Collections
from indexed import Indexed
from remotes.fixed import COMMIT, FixedReplica


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Indexed(tmp_path) as base:
        yield Collection("a, b=ü", base.store, base.index, replica=FixedReplica())


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        (COMMIT, [NeededCommit("", COMMIT)]),
        (f" {COMMIT} ,", [NeededCommit("", COMMIT)]),
        (f"a%2C%20b={COMMIT}, c={COMMIT}", [NeededCommit("a, b", COMMIT), NeededCommit("c", COMMIT)]),
        (f"a=b={COMMIT}", [NeededCommit("a=b", COMMIT)]),
    ],
)
def test_commits_are_read_with_the_names_of_their_collections(text: str, needed: list[NeededCommit]) -> None:
    assert parse_needed(text) == needed


@pytest.mark.parametrize(
    "text", ["", ",", "abc", COMMIT.upper(), COMMIT[:-1], f"{COMMIT}0", f"a={COMMIT};b", "x" * 99_999]
)
def test_another_form_is_refused_with_the_one_that_is_valid(text: str) -> None:
    with pytest.raises(InvalidInputError, match="Invalid at_least") as caught:
        parse_needed(text)
    assert len(str(caught.value)) < 200


def test_so_many_commits_may_be_named_and_no_more() -> None:
    assert len(parse_needed(",".join([COMMIT] * MAX_COMMITS))) == MAX_COMMITS
    with pytest.raises(InvalidInputError, match=f"1 to {MAX_COMMITS} commits"):
        parse_needed(",".join([COMMIT] * (MAX_COMMITS + 1)))


def test_what_an_answer_names_can_be_sent_back(collection: Collection) -> None:
    named = contained_commits([collection, replace(collection, name="plain", replica=None)])
    assert parse_needed(named) == [NeededCommit("a, b=ü", COMMIT)]
    wait_for_commits(Collections(lambda: [collection]), named, 0.0)
    assert contained_commits([]) == ""


def test_a_commit_that_does_not_come_and_one_that_is_gone_are_errors(collection: Collection) -> None:
    served = Collections(lambda: [collection])
    with pytest.raises(UnavailableError):
        wait_for_commits(served, "cd" * 20, 0.0)
    with pytest.raises(NotFoundError, match="no longer contains"):
        wait_for_commits(served, "0" * 40, 0.0)
    with pytest.raises(NotFoundError, match="no collection named 'other'"):
        wait_for_commits(served, f"other={COMMIT}", 0.0)


def test_among_several_collections_the_name_is_needed_and_one_without_a_remote_is_not_waited_for(
    collection: Collection,
) -> None:
    served = Collections(lambda: [collection, replace(collection, name="plain", replica=None)])
    wait_for_commits(served, f"plain={'cd' * 20}", 0.0)
    with pytest.raises(InvalidInputError, match="several collections are served") as caught:
        wait_for_commits(served, COMMIT, 0.0)
    assert caught.value.hint == "Send NAME=COMMIT."
