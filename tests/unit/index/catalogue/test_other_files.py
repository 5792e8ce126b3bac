"""The names of files that are no documents: listed once, and followed afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.index.catalogue.other_files import OtherFiles, is_file
from commonplace.store import open_store
from indexed import PERMISSIONS, permissions_hold
from support import new_repo

FILES = (
    "plan.png",
    "in/Plan.PNG",
    "in/doc.md",
    ".hidden/x.png",
    ".env",
    "node_modules/y.png",
    "a.rst",
    "b.rst",
    "n.org",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "base"
    for name in FILES:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("x")
    (place / "linked.png").symlink_to(tmp_path / "outside.png")
    (tmp_path / "outside.png").write_text("secret")
    return place


def listed(folder: Path) -> OtherFiles:
    return OtherFiles(open_store(folder, commit="manual", state_dir=folder.parent / "state"))


def paths(files: OtherFiles) -> list[str]:
    return sorted(address.path for key in files.keys() for address in files.named(key))  # noqa: SIM118 - no mapping


def test_hidden_files_links_and_documents_are_not_among_them(folder: Path) -> None:
    assert paths(listed(folder)) == ["a.rst", "b.rst", "in/Plan.PNG", "n.org", "plan.png"]
    assert listed(folder).texts() == {".rst": 2, ".org": 1}
    assert listed(folder).named("none") == ()


def test_files_of_one_name_are_found_together_whatever_their_case(folder: Path) -> None:
    files = listed(folder)
    (key,) = [key for key in files.keys() if "plan" in key]  # noqa: SIM118 - no mapping
    assert sorted(address.path for address in files.named(key)) == ["in/Plan.PNG", "plan.png"]


def test_what_comes_and_goes_is_followed_as_a_new_listing_would_have_it(folder: Path) -> None:
    files = listed(folder)
    before = files.version()
    (folder / "new.png").write_text("x")
    (folder / "plan.png").unlink()
    (folder / "second.png").symlink_to(folder / "new.png")
    (folder / ".secret.png").write_text("x")
    files.changed([Address(name) for name in ("new.png", "plan.png", "second.png")])
    assert paths(files) == paths(listed(folder))
    assert files.version() > before


def test_a_deleted_folder_takes_its_files_with_it(folder: Path) -> None:
    files = listed(folder)
    assert "in/Plan.PNG" in paths(files)
    (folder / "in/Plan.PNG").unlink()
    (folder / "in/doc.md").unlink()
    (folder / "in").rmdir()
    files.changed([Address("in")])
    assert paths(files) == ["a.rst", "b.rst", "n.org", "plan.png"]


def test_a_version_grows_only_when_names_differ(folder: Path) -> None:
    files = listed(folder)
    before = files.version()
    files.forget()
    assert files.version() == before
    (folder / "new.png").write_text("x")
    files.forget()
    assert files.version() > before


@PERMISSIONS
def test_files_in_a_folder_that_cannot_be_listed_for_now_are_not_forgotten(folder: Path) -> None:
    files = listed(folder)
    assert "in/Plan.PNG" in paths(files)
    (folder / "gone").mkdir()
    (folder / "in").chmod(0)
    try:
        with permissions_hold():
            files.forget()
            assert "in/Plan.PNG" in paths(files)
            (folder / "gone").rmdir()
            files.changed([Address("gone")])
            assert "in/Plan.PNG" in paths(files)
    finally:
        (folder / "in").chmod(0o700)


def test_the_files_of_a_past_state_are_those_of_its_commit(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "repo", {"a.md": "# A\n", "in/p.png": b"\x89PNG"})
    commit = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "in/p.png")
    store = open_store(repo.path, commit="manual", state_dir=tmp_path / "state")
    past = getattr(store, "past").store(commit)  # noqa: B009 - of stores with a past
    assert paths(OtherFiles(past)) == ["in/p.png"]
    assert (is_file(past, Address("in/p.png")), is_file(store, Address("in/p.png"))) == (True, False)
