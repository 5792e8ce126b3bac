"""The common behaviour of all stores: one suite, run on each kind of folder."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConflictError, InvalidInputError, NotFoundError, UnavailableError
from commonplace.domain.ports import Store
from commonplace.domain.revisions import revision_of
from commonplace.store import open_store
from injection.audit_events import before, once
from support import GitRepo, MakeRepo

A = Address("notes/a.md")
B = Address("b.md")
KINDS = ["plain", "root", "subfolder", "manual", "manual subfolder"]


@dataclass(frozen=True, slots=True)
class Place:
    """A store and what lies beneath it."""

    store: Store
    folder: Path
    repo: GitRepo | None
    commits: bool

    def files(self) -> dict[str, bytes]:
        """Every file of the folder, hidden ones too, without Git's own."""
        paths = {path.relative_to(self.folder).as_posix(): path for path in self.folder.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in paths.items() if not name.startswith(".git/")}

    def status(self) -> str:
        """The output of `git status`; "" without Git."""
        return self.repo.git("status", "--porcelain") if self.repo else ""


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, git_repo: MakeRepo) -> Iterator[Place]:
    """A folder with two documents, an attachment and a neighbour outside."""
    kind: str = request.param
    files = {"notes/a.md": "# A\n", "b.md": "# B\n", "b/picture.png": b"\x89PNG\x00"}
    if kind == "plain":
        folder, repo = tmp_path / "plain", None
        for name, content in files.items():
            GitRepo(folder).write(name, content)
    else:
        below = "kb/docs/" if "subfolder" in kind else ""
        repo = git_repo("repo", {f"{below}{name}": content for name, content in files.items()} | {"other.txt": "x"})
        folder = repo.path / below
    commits = kind in {"root", "subfolder"}
    store = open_store(folder, commit="auto" if commits else "manual", state_dir=tmp_path / "state")
    yield Place(store, folder, repo, commits)
    if repo:
        repo.git("fsck", "--strict")


def write(store: Store, address: Address, content: bytes) -> str:
    """Put one file; the commit."""
    with store.transaction(f"Write {address}") as transaction:
        transaction.put(address, content)
    return transaction.receipt.commit


def test_a_scan_finds_the_documents_with_their_facts(place: Place) -> None:
    stats = dict(place.store.scan())
    documents = {address for address in stats if address != Address("other.txt")}
    assert documents == {A, B}
    assert all(stats[address] == place.store.stat(address) for address in documents)
    assert stats[A].size == 4
    assert place.store.skipped() == []


def test_attachments_are_read_though_no_scan_lists_them(place: Place) -> None:
    assert place.store.read(Address("b/picture.png")) == b"\x89PNG\x00"


def test_what_is_not_there_has_no_facts_and_cannot_be_read(place: Place) -> None:
    for missing in (Address("none.md"), Address("b.md/none.md"), Address("notes"), Address("x/" * 100 + "y.md")):
        assert place.store.stat(missing) is None
        with pytest.raises(NotFoundError):
            place.store.read(missing)
        with place.store.reading() as read, pytest.raises(NotFoundError):
            read(missing)


def test_nothing_is_written_by_opening_and_reading(place: Place, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    store = place.store
    assert [store.name, len(store.identity), store.read_only_reason] == [place.folder.name, 32, ""]
    list(store.scan())
    store.read(A)
    store.history.log(None, limit=5)
    store.history.touched()
    assert store.recover() == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_write_is_in_the_file_and_in_one_commit(place: Place) -> None:
    commit = write(place.store, A, b"# A\nmore\n")
    assert place.store.read(A) == b"# A\nmore\n"
    assert (place.folder / "notes/a.md").read_bytes() == b"# A\nmore\n"
    assert bool(commit) == place.commits
    if place.commits and place.repo:
        assert place.repo.git("log", "--format=%H %s", "-1") == f"{commit} Write notes/a.md"
        assert place.repo.git("rev-list", "--count", "HEAD") == "2"
        assert place.status() == ""


def test_a_receipt_tells_revisions_and_removals(place: Place) -> None:
    with place.store.transaction("Both") as transaction:
        transaction.put(A, b"new")
        transaction.remove(B)
    receipt = transaction.receipt
    assert receipt.revisions == {A: revision_of(b"new")}
    assert receipt.removed == (B,)


def test_a_receipt_before_the_end_is_an_error(place: Place) -> None:
    with place.store.transaction("x") as transaction, pytest.raises(RuntimeError, match="receipt"):
        _ = transaction.receipt


def test_the_bytes_that_are_there_already_make_no_commit(place: Place) -> None:
    before = place.store.stat(A)
    with place.store.transaction("Same") as transaction:
        transaction.put(A, place.store.read(A))
    assert transaction.receipt.commit == ""
    assert transaction.receipt.revisions == {A: revision_of(b"# A\n")}
    assert place.store.stat(A) == before


def test_a_block_that_raises_changes_nothing(place: Place) -> None:
    files, head = place.files(), place.store.history.head()

    def fail() -> None:
        with place.store.transaction("x") as transaction:
            transaction.put(A, b"half")
            transaction.put(Address("new/deep/file.md"), b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (place.files(), place.store.history.head(), place.status()) == (files, head, "")


def test_a_transaction_sees_its_own_changes(place: Place) -> None:
    new = Address("new.md")
    with place.store.transaction("x") as transaction:
        transaction.put(new, b"1")
        transaction.remove(A)
        assert transaction.read(new) == b"1"
        assert (transaction.exists(new), transaction.exists(A), transaction.exists(B)) == (True, False, True)
        with pytest.raises(NotFoundError):
            transaction.read(A)
        with pytest.raises(NotFoundError):
            transaction.remove(A)
        assert not (place.folder / "new.md").exists()
    assert place.store.read(new) == b"1"


def test_new_folders_are_made_and_emptied_ones_removed(place: Place) -> None:
    deep = Address("p/q/r.md")
    write(place.store, deep, b"x")
    assert place.store.read(deep) == b"x"
    with place.store.transaction("Remove") as transaction:
        transaction.remove(deep)
        transaction.remove(A)
    assert not (place.folder / "p").exists()
    assert not (place.folder / "notes").exists()
    assert (place.folder / "b").is_dir()
    assert not place.commits or place.status() == ""


def test_what_comes_and_goes_in_one_transaction_leaves_nothing(place: Place) -> None:
    files = place.files()
    with place.store.transaction("x") as transaction:
        transaction.put(Address("p/q.md"), b"x")
        transaction.remove(Address("p/q.md"))
    assert transaction.receipt.commit == ""
    assert place.files() == files


def test_a_rename_with_rewritten_links_is_one_step(place: Place) -> None:
    with place.store.transaction("Rename") as transaction:
        transaction.put(Address("z/a.md"), transaction.read(A))
        transaction.remove(A)
        transaction.put(B, b"# B\n[a](z/a.md)\n")
    assert set(place.files()) & {"z/a.md", "notes/a.md", "b.md"} == {"z/a.md", "b.md"}
    if place.commits and place.repo:
        names = place.repo.git("show", "--format=", "--name-status", "--no-renames", "HEAD").splitlines()
        assert len(names) == 3
        assert place.status() == ""


def test_odd_names_are_written_and_found(place: Place) -> None:
    odd = [
        Address(p) for p in ("Lang/C#.md", "Why is it?.md", "日本語/ü.md", "a [b] {c} $x `y`.md", "-n --x.md", "é.MD")
    ]
    for address in odd:
        write(place.store, address, f"# {address}\n".encode())
    assert set(odd) <= {address for address, _ in place.store.scan()}
    assert all(place.store.read(address) == f"# {address}\n".encode() for address in odd)
    assert not place.commits or place.status() == ""


def test_a_file_keeps_its_permissions(place: Place) -> None:
    file = place.folder / "notes/a.md"
    file.chmod(0o640)
    write(place.store, A, b"changed")
    assert file.stat().st_mode & 0o7777 == 0o640


def test_a_file_keeps_its_extended_attributes(place: Place) -> None:
    file = place.folder / "notes/a.md"
    try:
        os.setxattr(file, "user.origin", b"elsewhere")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error.strerror}")
    write(place.store, A, b"changed")
    assert os.getxattr(file, "user.origin") == b"elsewhere"


def test_a_hard_link_outside_keeps_its_bytes(place: Place, tmp_path: Path) -> None:
    (tmp_path / "outside").hardlink_to(place.folder / "notes/a.md")
    write(place.store, A, b"changed")
    assert (tmp_path / "outside").read_bytes() == b"# A\n"


def test_only_the_files_themselves_are_left_behind(place: Place) -> None:
    write(place.store, A, b"1")
    write(place.store, Address("c.md"), b"2")
    assert set(place.files()) - {"other.txt"} == {"notes/a.md", "b.md", "b/picture.png", "c.md"}
    if place.repo:
        left = {path.name for path in (place.repo.path / ".git").rglob("*commonplace*")}
        assert left == {"commonplace.lock", "commonplace.journal"}
        assert (place.repo.path / ".git/commonplace.journal").stat().st_size == 0


def test_a_change_from_outside_after_the_reading_is_a_conflict(place: Place) -> None:
    head = place.store.history.head()

    def collide() -> None:
        with place.store.transaction("x") as transaction:
            content = transaction.read(A)
            transaction.put(Address("new.md"), b"x")
            (place.folder / "notes/a.md").write_bytes(b"from an editor\n")
            transaction.put(A, content + b"more")

    with pytest.raises(ConflictError) as caught:
        collide()
    assert caught.value.context["current_revision"] == revision_of(b"from an editor\n")
    assert caught.value.context["path"] == "notes/a.md"
    assert place.store.read(A) == b"from an editor\n"
    assert place.store.stat(Address("new.md")) is None
    assert place.store.history.head() == head


def test_a_file_that_vanished_after_the_reading_is_a_conflict(place: Place) -> None:
    def collide() -> None:
        with place.store.transaction("x") as transaction:
            transaction.put(A, transaction.read(A) + b"more")
            (place.folder / "notes/a.md").unlink()

    with pytest.raises(ConflictError):
        collide()
    assert place.store.stat(A) is None


def test_links_and_folders_are_never_written(place: Place) -> None:
    (place.folder / "link.md").symlink_to("b.md")
    (place.folder / "folder.md").mkdir()
    for address in (Address("link.md"), Address("folder.md"), Address("b.md/x.md")):
        with pytest.raises(InvalidInputError), place.store.transaction("x") as transaction:
            transaction.put(address, b"x")
    with pytest.raises(InvalidInputError), place.store.transaction("x") as transaction:
        transaction.remove(Address("link.md"))
    assert place.store.read(B) == b"# B\n"
    assert (place.folder / "link.md").is_symlink()


def test_a_transaction_inside_another_is_a_clear_error(place: Place) -> None:
    with place.store.transaction("outer") as outer:
        with pytest.raises(RuntimeError, match="inside another"), place.store.transaction("inner"):
            pass
        outer.put(A, b"outer")
    assert place.store.read(A) == b"outer"


def test_threads_write_one_after_the_other(place: Place) -> None:
    counter = Address("counter.md")
    write(place.store, counter, b"0")

    def add() -> None:
        for _ in range(5):
            with place.store.transaction("Add") as transaction:
                transaction.put(counter, b"%d" % (int(transaction.read(counter)) + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert place.store.read(counter) == b"20"
    assert not place.commits or place.status() == ""


def test_a_busy_folder_is_waited_for_so_long_and_no_longer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.store.folder.transaction_writer.WAIT_SECONDS", 0.05)
    begun, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with place.store.transaction("long"):
            begun.set()
            ended.wait(timeout=30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert begun.wait(timeout=30)
    try:
        with pytest.raises(UnavailableError, match=r"0\.05 seconds"), place.store.transaction("short"):
            pass
    finally:
        ended.set()
        holder.join(timeout=30)
    write(place.store, A, b"free again")


def test_two_stores_on_one_folder_share_the_lock(place: Place, tmp_path: Path) -> None:
    other = open_store(place.folder, commit="manual", state_dir=tmp_path / "state")
    with place.store.transaction("outer"), pytest.raises(RuntimeError, match="inside another"), other.transaction("x"):
        pass
    assert other.identity == place.store.identity


def test_a_folder_reached_by_a_link_is_the_same_folder(place: Place, tmp_path: Path) -> None:
    (tmp_path / "by-link").symlink_to(place.folder)
    other = open_store(tmp_path / "by-link", commit="manual", state_dir=tmp_path / "state")
    assert other.identity == place.store.identity
    write(place.store, A, b"x")
    assert other.read(A) == b"x"


def test_an_editor_that_saves_at_the_last_moment_is_not_overwritten(place: Place) -> None:
    """The change comes after everything was checked and written, right before the names are changed."""

    def save() -> None:
        (place.folder / "notes/a.md").write_bytes(b"from an editor\n")

    files = place.files()
    with before("os.link", lambda names: names[0] == "b.md", once(save)), pytest.raises(ConflictError) as caught:
        write_three(place.store)
    assert caught.value.context == {"path": "notes/a.md", "current_revision": revision_of(b"from an editor\n")}
    assert place.files() == files | {"notes/a.md": b"from an editor\n"}
    assert not (place.folder / "new").exists()


def write_three(store: Store) -> None:
    """Change a file, make one, then change the one that an editor has open."""
    with store.transaction("x") as transaction:
        transaction.put(B, b"changed")
        transaction.put(Address("new/file.md"), b"new")
        transaction.put(A, b"changed")


def test_a_thousand_files_are_one_step_though_few_may_be_open(place: Place) -> None:
    many = {Address(f"many/{number % 7}/{number}.md"): b"%d" % number for number in range(1000)}
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limit[1]))
    try:
        with place.store.transaction("Many") as transaction:
            for address, content in many.items():
                transaction.put(address, content)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert {address: place.store.read(address) for address in many} == many
    assert not place.commits or place.status() == ""


def test_ten_megabytes_are_written_and_read(place: Place) -> None:
    content = os.urandom(10 * 1024 * 1024)
    write(place.store, Address("b/film.bin"), content)
    assert place.store.read(Address("b/film.bin")) == content
