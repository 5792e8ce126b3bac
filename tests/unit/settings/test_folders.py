"""Folders that were named are checked, and the message says what to name instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.settings import default_settings, in_git, is_folder, is_remote, names_layers, require_folders
from support import MakeRepo


@pytest.fixture
def circle(tmp_path: Path) -> Path:
    (tmp_path / "circle").symlink_to("circle")
    return tmp_path / "circle"


def test_a_folder_and_a_link_to_one_are_folders(tmp_path: Path) -> None:
    (tmp_path / "漢字 é").mkdir()
    (tmp_path / "link").symlink_to("漢字 é")
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").symlink_to("nothing")
    names = ("漢字 é", "link", "file", "dangling", "none", "file/below")
    assert [name for name in names if is_folder(tmp_path / name)] == ["漢字 é", "link"]


def test_what_cannot_be_looked_at_is_an_error_without_the_path_of_the_machine(circle: Path, tmp_path: Path) -> None:
    for path in (circle, tmp_path / "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(StorageError, match="cannot be looked at") as refused:
            is_folder(path)
        assert refused.value.hint
        assert str(tmp_path) not in refused.value.advice


def test_a_folder_is_in_git_at_any_depth(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo = git_repo(files={"a/b/c.md": "x"})
    (tmp_path / "link").symlink_to(repo.path / "a")
    (tmp_path / "linked-work-tree").mkdir()
    (tmp_path / "linked-work-tree/.git").write_text("gitdir: elsewhere\n")
    plain = tmp_path / "plain"
    plain.mkdir()
    inside = [repo.path, repo.path / "a/b", tmp_path / "link", tmp_path / "linked-work-tree"]
    assert [in_git(folder) for folder in (*inside, plain, tmp_path / "none")] == [True] * 4 + [False] * 2


def test_folders_that_exist_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "notes").mkdir()
    require_folders([])
    require_folders([tmp_path / "notes", Path("~/notes"), Path("~")])


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("none", "There is no folder", "-C PATH"),
        ("file.md", "is a file, not a folder", "Name its folder"),
        ("file.md/x", "There is no folder", "-C PATH"),
        ("~/none", "There is no folder '~/none'", "-C PATH"),
    ],
)
def test_the_first_that_is_no_folder_is_named_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str, hint: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("file.md").write_text("x")
    with pytest.raises(NotFoundError, match=message) as refused:
        require_folders([Path(), Path(name), Path("later")])
    assert name in str(refused.value)
    assert hint in refused.value.hint
    assert refused.value.kind == "folder"


@pytest.mark.parametrize("name", ["manifest", "personal", "shared"])
def test_layers_are_served_when_one_of_them_is_named(name: str, tmp_path: Path) -> None:
    assert not names_layers(default_settings())
    assert names_layers(replace(default_settings(), **{name: tmp_path}))


def test_a_url_names_a_remote_and_a_path_a_folder() -> None:
    named = ("https://git.example.org/x.git#main", "file:///x.git", "ssh://host/x", "host:x.git", "C:/x", "./a", "~/a")
    assert [text for text in named if is_remote(text)] == list(named[:3])
