"""A write that is sent again is answered and not made again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.cluster import recording_written
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.revisions import revision_of
from commonplace.index import open_index
from commonplace.replication import Follower
from commonplace.services.collections import Collection
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from commonplace.toolsets.notes.service.repeats import (
    MAX_REPEATS,
    REPEAT_SECONDS,
    REPEATED,
    CallMadeError,
    RepeatedWrites,
    WriteAnswer,
    WriteCall,
    require_unmade,
    with_call,
)
from indexed import Indexed
from remotes.replicas import team
from support import GitRepo

A = Address("a.md")


def call(request_id: str = "", **changes: object) -> WriteCall:
    given_values = {
        "bases": ("b",),
        "client": "c",
        "tool": "write",
        "arguments": {"page": "a", "text": "new"},
        **changes,
    }
    return WriteCall(request_id=request_id, **given_values)


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, {"a.md": "old\n"}) as made:
        yield made


@pytest.fixture
def made() -> list[str]:
    """The writes that were made."""
    return []


def writing(base: Indexed, made: list[str], text: str = "new\n") -> Callable[[], WriteAnswer]:
    def write() -> WriteAnswer:
        base.write("a.md", text)
        made.append(text)
        return WriteAnswer(f"answer {len(made)}", base.collection, {A: revision_of(text.encode())})

    return write


def test_the_same_call_is_made_once_while_the_page_is_as_it_left_it(base: Indexed, made: list[str]) -> None:
    writes = RepeatedWrites()
    assert writes.once(call(), writing(base, made)) == "answer 1"
    assert writes.once(call(), writing(base, made)) == f"{REPEATED}\nanswer 1"
    base.write("a.md", "by somebody else\n")
    assert writes.once(call(), writing(base, made)) == "answer 2"
    assert len(made) == 2


def test_a_request_id_is_answered_as_before_whatever_became_of_the_page(base: Indexed, made: list[str]) -> None:
    writes = RepeatedWrites()
    writes.once(call("id-1"), writing(base, made))
    base.write("a.md", "by somebody else\n")
    assert writes.once(call("id-1"), writing(base, made)) == "answer 1"
    assert writes.once(call("id-2"), writing(base, made)) == "answer 2"


@pytest.mark.parametrize("other", [{"arguments": {"page": "b", "text": "new"}}, {"tool": "edit"}])
def test_a_request_id_of_another_call_is_refused_and_nothing_is_written(
    base: Indexed, made: list[str], other: dict[str, object]
) -> None:
    writes = RepeatedWrites()
    writes.once(call("id-1"), writing(base, made))
    with pytest.raises(InvalidInputError, match="was used for another call"):
        writes.once(call("id-1", **other), writing(base, made))
    assert len(made) == 1


def test_a_deletion_stands_while_the_page_is_gone(base: Indexed) -> None:
    (base.folder / "a.md").unlink()
    answer = WriteAnswer("gone", base.collection, {A: ""})
    assert answer.stands()
    base.write("a.md", "back\n")
    assert not answer.stands()


@each_case(
    "other",
    [{"bases": ("x",)}, {"client": "d"}, {"tool": "edit"}, {"arguments": {"page": "a"}}, {"request_id": "i"}],
)
def test_calls_that_differ_in_anything_are_other_calls(other: dict[str, object]) -> None:
    assert call(**other).key != call().key
    assert call(arguments={"text": "new", "page": "a"}).key == call().key
    assert call(arguments={"text": "\ud800"}).key


def test_an_answer_is_forgotten_after_a_while_and_the_oldest_when_there_are_many(
    base: Indexed, made: list[str]
) -> None:
    now = [0.0]
    writes = RepeatedWrites(clock=lambda: now[0])
    writes.once(call("old"), writing(base, made))
    now[0] = REPEAT_SECONDS
    assert writes.once(call("old"), writing(base, made)) == "answer 1"
    now[0] += 1
    assert writes.once(call("old"), writing(base, made)) == "answer 2"
    for number in range(MAX_REPEATS):
        writes.once(call(f"id-{number}"), lambda: WriteAnswer("x", base.collection, {}))
    assert writes.once(call("old"), writing(base, made)) == "answer 3"


def test_a_write_that_fails_is_made_again(base: Indexed, made: list[str]) -> None:
    def fail() -> WriteAnswer:
        raise KeyError("no")

    writes = RepeatedWrites()
    with pytest.raises(KeyError):
        writes.once(call("id"), fail)
    assert writes.once(call("id"), writing(base, made)) == "answer 1"


def test_two_equal_calls_at_once_are_one_write(base: Indexed, made: list[str]) -> None:
    writes, begun = RepeatedWrites(), threading.Barrier(2)
    answers: list[str] = []

    def ask() -> None:
        begun.wait(20)
        answers.append(writes.once(call("id"), writing(base, made)))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (answers, len(made)) == (["answer 1"] * 2, 1)


def test_a_slow_write_holds_up_no_other_call(base: Indexed, made: list[str]) -> None:
    repeats, begun, go_on = RepeatedWrites(), threading.Event(), threading.Event()

    def slow() -> WriteAnswer:
        begun.set()
        assert go_on.wait(30)
        return WriteAnswer("slow", base.collection, {})

    thread = threading.Thread(target=repeats.once, args=(call(), slow))
    thread.start()
    assert begun.wait(30)
    try:
        for number in range(300):  # more than there could be shared locks
            other = call(arguments={"page": "a", "text": str(number)})
            assert repeats.once(other, lambda: WriteAnswer("quick", base.collection, {})) == "quick"
    finally:
        go_on.set()
        thread.join(30)
    assert not made


MARK = "ab" * 16


@pytest.fixture
def work(tmp_path: Path) -> GitRepo:
    """A work tree whose remote is `team.git` beside it."""
    return team(tmp_path)[0]


@pytest.fixture
def replica(work: GitRepo, tmp_path: Path) -> Iterator[Collection]:
    """A collection that follows the remote; nothing was fetched yet."""
    del work
    follower = Follower(ReplicaClone(tmp_path / "one", parse_source(str(tmp_path / "team.git"))), 3600, writes=True)
    store = follower.store()
    collection = Collection("team", store, open_index(store, tmp_path / "cache"), replica=follower)
    yield collection
    collection.index.close()


def pushed(work: GitRepo, message: str) -> str:
    work.commit("Change", **{"a.md": message})
    work.git("commit", "--quiet", "--amend", "-m", message)
    work.git("push", "--quiet", "origin", "HEAD")
    return work.git("rev-parse", "HEAD")


def set_clock(monkeypatch: pytest.MonkeyPatch, *roles: str) -> None:
    for role in roles:
        monkeypatch.setenv(f"GIT_{role}_DATE", "2020-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Write: a", f"Write: a\n\nCommonplace-Request: {MARK}"),
        ("Write: a\n\nWhy.\n", f"Write: a\n\nWhy.\n\nCommonplace-Request: {MARK}"),
        ("Write\n\nSigned-off-by: A <a@b>\n", f"Write\n\nSigned-off-by: A <a@b>\nCommonplace-Request: {MARK}"),
    ],
)
def test_the_name_is_a_trailer_of_the_message(message: str, expected: str, work: GitRepo) -> None:
    assert with_call(message, MARK) == expected
    pushed(work, with_call(message, MARK))
    trailers = work.git("log", "-1", "--format=%(trailers:key=Commonplace-Request,valueonly)")
    assert trailers.strip() == MARK


def test_a_call_that_a_commit_names_was_made(replica: Collection, work: GitRepo) -> None:
    require_unmade(replica, MARK)
    made = pushed(work, with_call("Write: a", MARK))
    tip = pushed(work, "Later")
    assert replica.replica is not None
    replica.replica.refresh(now=True)
    with recording_written() as written, pytest.raises(CallMadeError) as error:
        require_unmade(replica, MARK)
    assert (error.value.commit.id, written) == (made, {replica.store.identity: tip})
    require_unmade(replica, "cd" * 16)


def test_a_call_of_another_day_is_not_found(
    replica: Collection, work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, "AUTHOR", "COMMITTER")
    pushed(work, with_call("Write: a", MARK))
    assert replica.replica is not None
    replica.replica.refresh(now=True)
    require_unmade(replica, MARK)


def test_a_call_is_found_below_an_old_date_and_when_it_was_rebased(
    replica: Collection, work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for roles, mark in ((("AUTHOR",), MARK), ((), "cd" * 16)):
        with monkeypatch.context() as patch:
            set_clock(patch, *roles)
            pushed(work, with_call("Write: a", mark))
    set_clock(monkeypatch, "AUTHOR", "COMMITTER")
    pushed(work, "By a computer with a wrong clock")
    assert replica.replica is not None
    replica.replica.refresh(now=True)
    for mark in (MARK, "cd" * 16):
        with pytest.raises(CallMadeError):
            require_unmade(replica, mark)


def test_a_call_has_one_name_on_servers_with_different_folders_and_no_other_call_has_it() -> None:
    def call(**changes: object) -> str:
        given_values = {"bases": ("b",), "client": "c", "tool": "write", "arguments": {"page": "a"}, "request_id": "i"}
        return WriteCall(**{**given_values, **changes}).mark  # type: ignore[arg-type]

    assert call() == call(bases=("other",))
    others = [{"client": "d"}, {"tool": "edit"}, {"arguments": {"page": "b"}}, {"request_id": "j"}]
    assert len({call(), *(call(**element) for element in others)}) == 5
    assert call(request_id="") == ""
