"""The folders of what is derived: nobody else can enter them, and shared folders are left alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from commonplace.domain.private_files import exposed, private_folder


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.rglob("*")) if not path.is_symlink()}


def test_a_folder_that_is_there_loses_the_permissions_of_others(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("")
    (tmp_path / "outside").chmod(0o644)
    folder = tmp_path / "cache"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "text").write_text("")
    (folder / "a" / "link").symlink_to(tmp_path / "outside")
    (folder / "link").symlink_to(tmp_path / "outside")
    for path in (folder, folder / "a", folder / "a/b"):
        path.chmod(0o777)
    (folder / "a/b/text").chmod(0o666)
    private_folder(folder)
    assert modes(folder) == {0o700, 0o600}
    assert stat.S_IMODE((tmp_path / "outside").stat().st_mode) == 0o644
    assert list(exposed(folder)) == []


def test_an_entry_that_others_can_read_is_found_in_a_private_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    private_folder(folder)
    (folder / "old").mkdir()
    (folder / "old").chmod(0o755)
    assert list(exposed(folder)) == [folder / "old"]
    private_folder(folder)
    assert list(exposed(folder)) == []


@pytest.mark.parametrize("kind", ["sticky", "home"])
def test_a_folder_that_is_shared_by_its_nature_is_not_changed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777 if kind == "sticky" else 0o755)
    if kind == "home":
        monkeypatch.setenv("HOME", str(folder))
    before = stat.S_IMODE(folder.stat().st_mode)
    private_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == before
