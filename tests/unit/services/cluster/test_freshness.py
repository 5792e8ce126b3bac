"""The commits that a caller needs and an answer contains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError, NotFoundError, UnavailableError
from commonplace.index import open_index
from commonplace.replication import Follower
from commonplace.services.cluster import (
    MAX_COMMITS,
    NeededCommit,
    commits_before,
    contained_commits,
    parse_needed,
    wait_for_commits,
)
from commonplace.services.collections import Collection, Collections
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from indexed import Indexed
from remotes.fixed import COMMIT, FixedReplica
from remotes.replicas import push, team


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


@each_case("text", ["", ",", "abc", COMMIT.upper(), COMMIT[:-1], f"{COMMIT}0", f"a={COMMIT};b", "x" * 99_999])
def test_another_form_is_refused_with_the_one_that_is_valid(text: str) -> None:
    with pytest.raises(InvalidInputError, match="Invalid at_least") as caught:
        parse_needed(text)
    assert len(str(caught.value)) < 200


def test_so_many_commits_may_be_named_and_no_more() -> None:
    assert len(parse_needed(",".join([COMMIT] * MAX_COMMITS))) == MAX_COMMITS
    with pytest.raises(InvalidInputError, match=f"1 to {MAX_COMMITS} commits"):
        parse_needed(",".join([COMMIT] * (MAX_COMMITS + 1)))


def test_what_an_answer_names_can_be_sent_back(collection: Collection) -> None:
    named = contained_commits([collection, replace(collection, name="plain", replica=None)], {})
    assert parse_needed(named) == [NeededCommit("a, b=ü", COMMIT)]
    wait_for_commits(Collections(lambda: [collection]), named, 0.0)
    assert contained_commits([], {}) == ""


def test_an_answer_does_not_name_what_came_after_it_was_begun(collection: Collection) -> None:
    replica = FixedReplica()
    served = [replace(collection, name="a", replica=replica)]
    before = commits_before(served)
    replica.now = replace(replica.now, commit="cd" * 20)
    assert contained_commits(served, before) == f"a={COMMIT}"
    assert contained_commits(served, {}) == f"a={'cd' * 20}", "one that was opened meanwhile"


@pytest.mark.parametrize("related", [True, False])
def test_an_answer_after_a_forced_push_does_not_name_a_dropped_commit(tmp_path: Path, *, related: bool) -> None:
    work, remote = team(tmp_path)
    branch = work.git("branch", "--show-current")
    first = work.git("rev-parse", "HEAD")
    dropped = push(work, "b.md", "# Dropped\n")
    follower = Follower(ReplicaClone(tmp_path / "one", parse_source(str(remote))), 3600)
    follower.fetch_once()
    store = follower.store()
    served = [Collection("team", store, open_index(store, tmp_path / "cache"), replica=follower)]
    before = commits_before(served)
    assert before == {store.identity: dropped}
    work.git("reset", "--quiet", "--hard", first)
    if not related:
        work.git("checkout", "--quiet", "--orphan", "anew")
        work.git("branch", "--quiet", "--delete", "--force", branch)
        work.git("branch", "--quiet", "--move", branch)
    push(work, "c.md", "# Kept\n", "--force")
    follower.clone.fetch()  # the thread that follows the remote indexes the commit after this
    assert contained_commits(served, before) == (f"team={first}" if related else "")
    served[0].index.close()


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
