"""A scan finds every document that may be served, and says why others are left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.store.disk import folder as folder_scan
from commonplace.store.disk.folder import Folder, FolderScan
from commonplace.store.disk.ignore_rules import IgnoreRules
from support import Corpora


def scan(root: Path) -> tuple[set[str], dict[str, str]]:
    """Paths found and paths left out with their reasons."""
    found_scan = FolderScan(Folder(root.resolve()), IgnoreRules(root.resolve()).now())
    return {address.path for address, _ in found_scan}, dict(found_scan.skipped)


def fill(root: Path, *paths: str) -> None:
    """Empty files."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")


def test_documents_are_found_at_every_depth_whatever_the_case_of_their_suffix(tmp_path: Path) -> None:
    fill(tmp_path, "a.md", "B.MD", "c.markdown", "x/y/z/d.Md", "e.txt", "md", "f.mdx", "x/picture.png")
    assert scan(tmp_path) == ({"a.md", "B.MD", "c.markdown", "x/y/z/d.Md", "f.mdx"}, {})


def test_hidden_and_generated_folders_are_left_out_silently(tmp_path: Path) -> None:
    fill(tmp_path, ".git/a.md", ".obsidian/b.md", "node_modules/c.md", "x/__pycache__/d.md", ".e.md", "inner/.git/f.md")
    fill(tmp_path, "inner/served.md", "node_modules.md")
    assert scan(tmp_path) == ({"inner/served.md", "node_modules.md"}, {})


def test_what_looks_like_a_document_and_is_none_is_told_with_its_reason(tmp_path: Path) -> None:
    fill(tmp_path, "back\\slash.md", "line\nbreak.md", "blank /a.md", "git~1/b.md", "ok.md")
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "out.md").symlink_to("/etc/hostname")
    (tmp_path / "in.md").symlink_to("ok.md")
    (tmp_path / "dangling.md").symlink_to("none.md")
    (tmp_path / "linked").symlink_to("..")
    (tmp_path / "folder.md").mkdir()
    fill(tmp_path, "folder.md/inside.md")
    found_texts, skipped = scan(tmp_path)
    assert found_texts == {"ok.md", "in.md", "folder.md/inside.md"}
    assert skipped == {
        "back\\slash.md": "it contains a backslash; parts are separated by '/'",
        "line\\nbreak.md": "it contains a control character or line break",
        "blank ": "a part ends in a dot or begins or ends with a blank",
        "git~1": "a part is another spelling of a hidden or Git name",
        "fifo.md": "not a regular file",
        "out.md": "a link that leads to no servable file inside the folder",
        "dangling.md": "a link that leads to no servable file inside the folder",
        "linked": "a link to a folder; such links are not followed",
    }


def test_a_name_that_is_no_text_is_told_as_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\xfe.md")).write_text("")
    found_texts, skipped = scan(tmp_path)
    assert found_texts == set()
    assert skipped == {"\\xff\\xfe.md": "it contains a lone surrogate, which is not valid text"}


@each_case("name", [chr(code) * n for code in range(32, 127) for n in (1, 2) if chr(code) not in "/\\"])
def test_names_that_are_taken_without_asking_are_valid_addresses(name: str) -> None:
    for candidate in (f"{name}.md", f"{name}a.md", f"a{name}.md", f"a.md{name}", f"a{name}b.md"):
        if folder_scan._PLAIN_NAME.fullmatch(candidate):
            assert parse_address(candidate) == Address(candidate)


def test_a_tree_deeper_than_descriptors_allow_is_scanned(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 300)
    fill(tmp_path, f"{deep}/a.md")
    assert scan(tmp_path) == ({f"{deep}/a.md"}, {})


def test_paths_that_are_too_long_are_told(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(6):
        folder = folder / ("d" * 200)
        folder.mkdir()
    (folder / "a.md").write_text("")
    found_texts, skipped = scan(tmp_path)
    assert found_texts == set()
    assert list(skipped.values()) == ["it is longer than 1,024 bytes"]


def test_a_folder_that_is_gone_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be listed: No such file"):
        scan(tmp_path / "none")


def test_every_document_of_a_real_tree_is_found(corpora: Corpora) -> None:
    root = corpora("cpp-docs")
    expected = {path.relative_to(root).as_posix() for path in root.rglob("*.md") if path.is_file()}
    found_texts, skipped = scan(root)
    assert found_texts == {path for path in expected if not any(part.startswith(".") for part in path.split("/"))}
    assert skipped == {}
    assert len(found_texts) > 9_000


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a file of another user's")
def test_another_name_of_a_file_of_another_user_is_not_served(tmp_path: Path) -> None:
    served = tmp_path / "served"
    fill(served, "mine.md", "own.md")
    os.link(served / "own.md", tmp_path / "own too.md")
    (tmp_path / "private.md").write_text("private")
    os.chown(tmp_path / "private.md", 12345, 12345)
    os.link(tmp_path / "private.md", served / "theirs.md")
    (served / "link.md").symlink_to("theirs.md")
    found_texts, skipped = scan(served)
    assert found_texts == {"mine.md", "own.md"}
    assert skipped["theirs.md"] == "a hard link to a file of another user or device"
    assert set(skipped) == {"theirs.md", "link.md"}
    folder = Folder(served)
    assert {address.path for address, _ in folder.files("")} == {"mine.md", "own.md"}
    for name in ("theirs.md", "link.md"):
        assert folder.stat(Address(name)) is None
        with pytest.raises(NotFoundError):
            folder.read(Address(name))
        with folder.reading() as read, pytest.raises(NotFoundError):
            read(Address(name))


def test_a_skipped_file_whose_name_has_line_breaks_and_colons_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a\nError: b.md").write_text("# A\n")
    found_texts, skipped = scan(tmp_path)
    assert found_texts == set()
    assert skipped == {"a\\nError: b.md": "it contains a control character or line break"}
