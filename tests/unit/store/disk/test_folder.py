"""Nothing outside a folder is ever served, whatever lies in it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.store.disk.folder import MAX_LINKS, Folder
from injection.audit_events import before, once, raising
from support import open_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one document, beside a secret."""
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/deep.md").write_text("secret")
    folder = tmp_path / "kb"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes/a.md").write_text("inside")
    (folder / ".hidden").mkdir()
    (folder / ".hidden/h.md").write_text("hidden")
    return folder.resolve()


def assert_not_served(folder: Folder, path: str) -> None:
    """Neither facts nor bytes."""
    assert folder.stat(Address(path)) is None
    with pytest.raises(NotFoundError):
        folder.read(Address(path))


@pytest.mark.parametrize(
    "target",
    ["../secret.md", "../../kb/../secret.md", "../secrets/deep.md", ".hidden/h.md", "notes", "none.md", "/", "..", ""],
)
def test_a_link_that_leads_out_or_to_something_hidden_is_not_served(root: Path, target: str) -> None:
    if target:
        (root / "link.md").symlink_to(target)
    assert_not_served(Folder(root), "link.md")


def test_an_absolute_link_out_is_not_served(root: Path) -> None:
    (root / "link.md").symlink_to(root.parent / "secret.md")
    assert_not_served(Folder(root), "link.md")


@pytest.mark.parametrize("absolute", [True, False])
def test_a_link_to_a_file_inside_is_served(root: Path, absolute: bool) -> None:
    (root / "notes/link.md").symlink_to(root / "notes/a.md" if absolute else "../notes/a.md")
    assert Folder(root).read(Address("notes/link.md")) == b"inside"
    assert Folder(root).stat(Address("notes/link.md")) == Folder(root).stat(Address("notes/a.md"))


def test_a_link_through_a_linked_folder_is_not_served(root: Path) -> None:
    (root / "out").symlink_to("../secrets")
    (root / "in").symlink_to("notes")
    (root / "link.md").symlink_to("in/a.md")
    for path in ("out/deep.md", "in/a.md", "link.md"):
        assert_not_served(Folder(root), path)


def test_loops_and_long_chains_of_links_end(root: Path) -> None:
    (root / "loop.md").symlink_to("loop.md")
    (root / "ping.md").symlink_to("pong.md")
    (root / "pong.md").symlink_to("ping.md")
    (root / "chain0.md").symlink_to("notes/a.md")
    for number in range(MAX_LINKS):
        (root / f"chain{number + 1}.md").symlink_to(f"chain{number}.md")
    for path in ("loop.md", "ping.md", f"chain{MAX_LINKS}.md"):
        assert_not_served(Folder(root), path)
    assert Folder(root).read(Address("chain3.md")) == b"inside"


def test_a_fifo_a_socket_and_a_device_are_not_served_and_do_not_wait(root: Path) -> None:
    os.mkfifo(root / "fifo.md")
    (root / "null.md").symlink_to("/dev/null")
    assert_not_served(Folder(root), "fifo.md")
    assert_not_served(Folder(root), "null.md")


def test_a_parent_swapped_for_a_link_out_is_never_followed(root: Path) -> None:
    """One thread swaps the folder for a link and back while another reads: never the secret."""
    (root.parent / "secrets/a.md").write_text("secret")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (root / "notes").rename(root / "aside")
            (root / "notes").symlink_to("../secrets")
            (root / "notes").unlink()
            (root / "aside").rename(root / "notes")

    swapper = threading.Thread(target=swap)
    swapper.start()
    folder, seen = Folder(root), set()
    try:
        for _ in range(3000):
            try:
                seen.add(folder.read(Address("notes/a.md")))
            except NotFoundError:
                seen.add(b"")
    finally:
        done.set()
        swapper.join(timeout=30)
    assert seen <= {b"inside", b""}


def test_a_target_swapped_between_resolving_and_opening_is_never_followed(root: Path) -> None:
    folder = Folder(root)

    target = root / "notes" / "a.md"
    (root / "link.md").symlink_to(target)

    def swap() -> None:
        target.unlink()
        target.symlink_to(root.parent / "secret.md")

    with before("open", lambda names: names[0] == "a.md", once(swap)), pytest.raises(NotFoundError):
        folder.read(Address("link.md"))
    assert target.is_symlink()


def test_descriptors_are_given_back(root: Path) -> None:
    (root / "loop.md").symlink_to("loop.md")
    (root / "folder.md").mkdir()
    folder = Folder(root)
    before = open_files(str(root))
    for _ in range(20):
        folder.read(Address("notes/a.md"))
        for path in ("loop.md", "folder.md", "none.md", "notes/none/x.md"):
            assert_not_served(folder, path)
    assert open_files(str(root)) == before


def test_a_disk_that_cannot_be_read_is_a_storage_error_without_the_absolute_path(root: Path) -> None:
    broken = raising(OSError(5, "Input/output error"))
    message = r"notes/a\.md cannot be read: Input/output error"
    with before("open", lambda names: names[0] == "a.md", broken), pytest.raises(StorageError, match=message) as caught:
        Folder(root).read(Address("notes/a.md"))
    assert str(root) not in str(caught.value)


def test_a_folder_that_was_replaced_is_seen(root: Path) -> None:
    folder = Folder(root)
    root.rename(root.with_name("old"))
    root.mkdir()
    (root / "new.md").write_text("new")
    assert folder.read(Address("new.md")) == b"new"
    assert folder.stat(Address("notes/a.md")) is None


def test_the_files_of_a_folder_are_listed_without_hidden_ones_and_links(root: Path) -> None:
    (root / "notes/.x").write_text("")
    (root / "notes/link").symlink_to("a.md")
    (root / "notes/b.png").write_text("")
    (root / "notes/below").mkdir()
    paths = {address.path for address, _ in Folder(root).files("notes")}
    assert paths == {"notes/a.md", "notes/b.png"}
    assert {address.path for address, _ in Folder(root).files("")} == set()
    (root / "top.md").write_text("")
    assert {address.path for address, _ in Folder(root).files("")} == {"top.md"}
    assert Folder(root).files("none") == []
    (root / "out").symlink_to("../secrets")
    assert Folder(root).files("out") == []


def test_many_files_are_read_as_one_is_and_no_link_on_the_way_is_followed(root: Path) -> None:
    deep = root / "notes" / "x" / "y"
    deep.mkdir(parents=True)
    (deep / "deep.md").write_text("deep" * 500_000)
    (root / "top.md").write_text("")
    (root / "alias.md").symlink_to("notes/a.md")
    folder = Folder(root)
    with folder.reading() as read:
        for path in ("notes/a.md", "notes/x/y/deep.md", "top.md", "notes/a.md", "alias.md"):
            assert read(Address(path)) == folder.read(Address(path))
    deep.rename(deep.with_name("z"))
    deep.symlink_to(root.parent / "secrets")
    (root / "way.md").symlink_to("../secret.md")
    with folder.reading() as read:
        assert read(Address("notes/x/z/deep.md")) == b"deep" * 500_000
        for path in ("notes/x/y/deep.md", "way.md", ".hidden/none.md"):
            with pytest.raises(NotFoundError):
                read(Address(path))


def test_reading_many_files_of_a_folder_that_is_gone_says_so_for_each(tmp_path: Path) -> None:
    with Folder(tmp_path / "gone").reading() as read, pytest.raises(NotFoundError):
        read(Address("a.md"))
