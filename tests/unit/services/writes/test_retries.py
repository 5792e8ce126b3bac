"""A write that conflicts with a replica's older state is made on the remote's latest one, and only then refused."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.cluster import record_written
from commonplace.domain.errors import ConflictError, InvalidInputError, KnowledgeError, NotFoundError, UnavailableError
from commonplace.domain.revisions import revision_of
from commonplace.index import open_index
from commonplace.replication import Follower
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.retries import MAX_ATTEMPTS, call_on_latest, on_latest
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from remotes.replicas import push, team
from support import GitRepo

PAGE = Address("a.md")
OUTSIDE = "# Alpha\n\nwritten at another server\n"


@pytest.fixture
def work(tmp_path: Path) -> GitRepo:
    """A work tree whose remote is `team.git` beside it."""
    return team(tmp_path)[0]


@pytest.fixture
def behind(work: GitRepo, tmp_path: Path) -> Generator[Collection]:
    """A replica that writes and has not fetched the last push, which set the page to `OUTSIDE`."""
    follower = Follower(ReplicaClone(tmp_path / "one", parse_source(str(tmp_path / "team.git"))), 3600, writes=True)
    store = follower.store()
    collection = Collection("team", store, open_index(store, tmp_path / "cache"), replica=follower)
    collection.index.sync()
    push(work, "a.md", OUTSIDE)
    yield collection
    collection.index.close()


def test_what_was_read_at_another_server_is_no_conflict(behind: Collection, work: GitRepo, tmp_path: Path) -> None:
    seen = revision_of(OUTSIDE.encode())
    writes.replace(behind, PAGE, b"# Alpha\n\nthird\n", WriteRequest(expected=seen))
    assert work.git("--git-dir", str(tmp_path / "team.git"), "show", "HEAD:a.md") == "# Alpha\n\nthird"


def test_what_nobody_has_any_more_is_a_conflict_that_names_the_remotes_revision(behind: Collection) -> None:
    stale = revision_of(b"# Alpha\n\nfirst words\n")
    push_seen = revision_of(OUTSIDE.encode())
    with pytest.raises(ConflictError) as error:
        writes.delete(behind, PAGE, WriteRequest(expected=stale))
    assert error.value.context["current_revision"] == push_seen


def test_nothing_is_called_a_conflict_while_the_remote_cannot_be_read(behind: Collection, tmp_path: Path) -> None:
    (tmp_path / "team.git").rename(tmp_path / "elsewhere.git")
    with pytest.raises(UnavailableError, match="cannot be read"):
        writes.replace(behind, PAGE, b"# Alpha\n\nthird\n", WriteRequest(expected=revision_of(OUTSIDE.encode())))


def test_a_write_is_made_once_more_only_if_the_branch_has_moved(behind: Collection) -> None:
    made: list[str] = []

    def refused() -> None:
        made.append(behind.store.history.head())
        raise ConflictError("Refused.")

    for _ in range(2):
        with pytest.raises(ConflictError):
            on_latest(behind, refused)
    first, second, third = made
    assert first != second == third


def test_a_write_whose_document_others_keep_changing_is_made_again_a_few_times(
    behind: Collection, work: GitRepo
) -> None:
    made: list[str] = []

    def overtaken(times: int) -> str:
        made.append(behind.store.history.head())
        if len(made) <= times:
            push(work, "a.md", f"# Alpha\n\n{len(made)}\n")
            raise ConflictError("Overtaken.", current_revision=str(len(made)))
        return made[-1]

    assert on_latest(behind, lambda: overtaken(4)) == made[4]
    assert len(set(made)) == 5
    made.clear()
    with pytest.raises(ConflictError):
        on_latest(behind, lambda: overtaken(MAX_ATTEMPTS))
    assert len(made) == MAX_ATTEMPTS


def test_a_revision_that_is_not_the_current_one_is_refused_at_the_second_attempt(
    behind: Collection, work: GitRepo
) -> None:
    made: list[str] = []

    def refused() -> None:
        made.append(push(work, "b.md", f"# Beta\n\n{len(made)}\n"))
        raise ConflictError("Refused.", current_revision="ab")

    with pytest.raises(ConflictError):
        on_latest(behind, refused)
    assert len(made) == 2


def _calls(collection: Collection, error: KnowledgeError, *, wrote: bool = False) -> int:
    """How often a call is made that always fails so."""
    made: list[str] = []

    def refused() -> None:
        made.append("")
        if wrote:
            record_written(collection.store.identity, "ab" * 20)
        raise error

    with pytest.raises(type(error)):
        call_on_latest([collection], refused)
    return len(made)


def test_a_call_that_misses_something_is_made_once_more_if_the_branch_has_moved(
    behind: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.services.writes.retries.INDEX_SECONDS", 0.0)  # nothing indexes in this test
    assert _calls(behind, NotFoundError("There is no page.")) == 2
    assert _calls(behind, NotFoundError("There is no page.")) == 1


@pytest.mark.parametrize(
    ("error", "wrote"),
    [
        (NotFoundError("There is no page."), True),
        (InvalidInputError("The path is invalid.", kind="path"), False),
        (UnavailableError("Too many."), False),
    ],
)
def test_a_call_that_has_written_or_misses_nothing_is_made_once(
    behind: Collection, error: KnowledgeError, *, wrote: bool
) -> None:
    head = behind.store.history.head()
    assert (_calls(behind, error, wrote=wrote), behind.store.history.head()) == (1, head)


def test_a_conflict_with_the_remotes_state_is_not_looked_for_in_the_remote_again(behind: Collection) -> None:
    made: list[str] = []

    def refused() -> None:
        made.append("")
        raise ConflictError("Refused.")

    with pytest.raises(ConflictError):
        call_on_latest([behind], lambda: on_latest(behind, refused))
    assert len(made) == 2
