"""Writers at the same time: each its own commit and its own outcome, made durable together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConflictError, KnowledgeError, StorageError
from commonplace.domain.ports import Store
from commonplace.store import open_store
from commonplace.store.folder import transaction_writer, writer_lock
from commonplace.store.folder.writer_lock import WriterLock
from injection.audit_events import before, once, raising
from support import GitRepo, MakeRepo, eventually


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n", "in/deep/c.md": "# C\n"})


@pytest.fixture
def flushes() -> Iterator[list[tuple[object, ...]]]:
    """The common flushes of files, with the number of files of each."""
    with before("commonplace.flush", lambda _: True) as arguments:
        yield arguments


class Writers:
    """Threads that write to one store at the same time: all wait for the lock before the first gets it."""

    def __init__(self, repo: GitRepo, store: Store) -> None:
        self.repo, self.store = repo, store
        self.commits: dict[str, str] = {}
        self.errors: dict[str, KnowledgeError] = {}
        self.lock = WriterLock(repo.path / ".git/commonplace.lock")

    def run(self, acts: Sequence[tuple[str, Callable[[Store], str]]]) -> None:
        """Run each named act in a thread of its own."""
        threads = [threading.Thread(target=self._act, args=act) for act in acts]
        with self.lock.held():
            for number, thread in enumerate(threads, 1):
                thread.start()
                eventually(lambda number=number: self.lock.waiting == number)
        for thread in threads:
            thread.join(60)

    def _act(self, name: str, act: Callable[[Store], str]) -> None:
        try:
            self.commits[name] = act(self.store)
        except KnowledgeError as error:
            self.errors[name] = error


@pytest.fixture
def writers(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> Writers:
    monkeypatch.setattr(writer_lock, "MAX_HELD_SECONDS", 600.0)  # a slow machine applies a group earlier
    monkeypatch.setattr(transaction_writer, "POLL_SECONDS", 600.0)  # and one that waits takes it from the last
    return Writers(repo, committing(repo.path))


def putting(path: str, content: bytes) -> tuple[str, Callable[[Store], str]]:
    return path, lambda store: write(store, path, content)


def before_flush(act: Callable[[], object]) -> AbstractContextManager[object]:
    """A block in which something happens before the first flush of files, when every write has been evaluated."""
    return before("commonplace.flush", lambda _: True, once(act))


def assert_sound(repo: GitRepo) -> None:
    repo.git("fsck", "--strict", "--no-dangling")
    assert repo.git("status", "--porcelain") == ""
    left = [
        path.name for path in (repo.path / ".git").rglob("*") if ".lock" in path.name or "commonplace-" in path.name
    ]
    assert set(left) <= {"commonplace.lock"}


def test_writers_that_wait_for_each_other_share_a_flush_and_each_has_its_own_commit(
    repo: GitRepo, writers: Writers, flushes: list[tuple[object, ...]]
) -> None:
    paths = [f"in/new-{number}.md" for number in range(6)]
    writers.run([putting(path, f"# {path}\n".encode()) for path in paths])
    assert len(flushes) == 2  # of the files of all writes, and of Git's index
    commits = repo.git("log", "--reverse", "--format=%H", "main").splitlines()[1:]
    assert sorted(commits) == sorted(writers.commits.values())
    for path in paths:
        assert repo.git("show", "--format=", "--name-only", writers.commits[path]) == path
    assert repo.git("reflog", "--format=%H", "main").splitlines()[: len(paths)] == commits[::-1]
    assert_sound(repo)


def test_writers_of_the_same_page_see_each_other(repo: GitRepo, writers: Writers) -> None:
    def append(word: str) -> Callable[[Store], str]:
        def act(store: Store) -> str:
            with store.transaction(word) as transaction:
                before = transaction.read(Address("a.md"))
                transaction.put(Address("a.md"), before + f"{word}\n".encode())
            return transaction.receipt.commit

        return act

    words = ["one", "two", "three", "four"]
    writers.run([(word, append(word)) for word in words])
    order = repo.git("log", "--reverse", "--format=%s").splitlines()[1:]
    assert sorted(order) == sorted(words)
    assert (repo.path / "a.md").read_text().splitlines() == ["# A", *order]
    assert_sound(repo)


def test_a_writer_whose_file_another_program_changed_does_not_take_the_others_along(
    repo: GitRepo, writers: Writers
) -> None:
    with before_flush(lambda: repo.write("b.md", "# by somebody else\n")):
        writers.run([putting(path, b"x") for path in ("a.md", "b.md", "in/new.md")])
    assert isinstance(writers.errors.pop("b.md"), ConflictError)
    assert not writers.errors
    assert sorted(repo.git("log", "--format=%H").split()[:-1]) == sorted(writers.commits.values())
    assert (repo.path / "b.md").read_text() == "# by somebody else\n"
    assert repo.git("status", "--porcelain").split() == ["M", "b.md"]
    repo.git("fsck", "--strict", "--no-dangling")


def test_a_path_that_cannot_be_written_fails_alone(repo: GitRepo, writers: Writers) -> None:
    writers.run([putting("a.md", b"# A2\n"), putting("x" * 300 + ".png", b"x"), putting("new.md", b"# N\n")])
    assert list(writers.errors) == ["x" * 300 + ".png"]
    assert sorted(writers.commits) == ["a.md", "new.md"]
    assert repo.git("rev-list", "--count", "HEAD") == "3"
    assert_sound(repo)


def test_a_transaction_that_fails_while_others_wait_leaves_them_to_the_next(repo: GitRepo, writers: Writers) -> None:
    def failing(store: Store) -> str:
        with store.transaction("Fails") as transaction:
            transaction.put(Address("never.md"), b"x")
            raise ConflictError("no", kind="document")

    writers.run([putting("a.md", b"# A2\n"), ("fails", failing), putting("b.md", b"# B2\n"), ("last", failing)])
    assert sorted(writers.errors) == ["fails", "last"]
    assert sorted(writers.commits) == ["a.md", "b.md"]
    assert repo.git("rev-list", "--count", "HEAD") == "3"
    assert_sound(repo)


def test_a_flush_that_fails_fails_all_and_nothing_is_changed(repo: GitRepo, writers: Writers) -> None:
    failure = raising(OSError(5, "Input/output error"))
    calls = ("commonplace.fsync", "commonplace.syncfs", "commonplace.write_out")
    with ExitStack() as failing:
        for call in calls:
            failing.enter_context(before(call, lambda _: True, failure))
        writers.run([putting(path, b"x") for path in ("a.md", "new.md", "b.md")])
    assert sorted(writers.errors) == ["a.md", "b.md", "new.md"]
    assert all(
        isinstance(error, StorageError) and "Nothing was changed" in str(error) for error in writers.errors.values()
    )
    assert len({id(error) for error in writers.errors.values()}) == len(writers.errors)
    assert repo.git("rev-list", "--count", "HEAD") == "1"
    assert_sound(repo)


def test_commits_of_another_program_meanwhile_stay_below_those_of_the_group(repo: GitRepo, writers: Writers) -> None:
    paths = ["a.md", "new.md", "in/new.md"]
    with before_flush(lambda: repo.git("commit", "--quiet", "--allow-empty", "--message=By Git")):
        writers.run([putting(path, b"x") for path in paths])
    subjects = repo.git("log", "--reverse", "--format=%s").splitlines()
    assert subjects[1] == "By Git"
    assert sorted(repo.git("log", "--format=%H", "-3").split()) == sorted(writers.commits.values())
    assert_sound(repo)


def test_a_write_that_was_left_to_a_thread_which_gave_up_waiting_is_made_all_the_same(
    repo: GitRepo, writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    threads = vars(writers.lock)["_threads"]
    with writers.store.transaction("Left") as transaction:
        transaction.put(Address("left.md"), b"x")
        threads.waiting += 1
    threads.waiting -= 1
    assert transaction.receipt.commit == repo.git("rev-parse", "HEAD")
    assert_sound(repo)


def test_a_folder_without_git_is_written_by_groups_too(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    store = open_store(tmp_path / "kb", commit="manual", state_dir=tmp_path / "state")
    threads = [threading.Thread(target=write, args=(store, f"{n}.md", b"x")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(path.name for path in (tmp_path / "kb").iterdir()) == [f"{n}.md" for n in range(8)]
