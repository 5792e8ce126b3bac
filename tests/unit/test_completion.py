"""Catalogues are found by the same rules as the settings have."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.completion import CATALOGUE_FILE, catalogue_paths, folder_key
from commonplace.index.index_version import INDEX_FOLDER
from shell import Shell


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Two folders, and the catalogue of each, as a command leaves them."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    paths: dict[str, str] = {}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("# A\n")
        Shell(tmp_path / name).ok("index")
        paths[name] = str(cache / "commonplace" / folder_key(str(tmp_path / name)) / INDEX_FOLDER / CATALOGUE_FILE)
    return paths


@pytest.mark.soak
def test_named_folders_come_in_their_order_and_those_without_a_catalogue_are_left_out(folders: dict[str, str]) -> None:
    assert list(catalogue_paths(["two", "nowhere", "one"])) == [folders["two"], folders["one"]]


@pytest.mark.soak
def test_the_environment_comes_before_the_file_and_the_file_before_the_current_folder(
    folders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "one")
    assert list(catalogue_paths([])) == [folders["one"]]
    file = tmp_path / "config" / "commonplace" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'kb = ["{tmp_path}/two"]\n')
    assert list(catalogue_paths([])) == [folders["two"]]
    monkeypatch.setenv("COMMONPLACE_KB", f"{tmp_path}/one:{tmp_path}/two")
    assert list(catalogue_paths([])) == [folders["one"], folders["two"]]
    assert list(catalogue_paths(["../two"])) == [folders["two"]]


@pytest.mark.parametrize("text", ["kb = [", "kb = 3\n", 'kb = ["one"]\ncache_dir = 4\n', "\xff kb"])
@pytest.mark.sampled(8)
def test_a_settings_file_that_is_none_does_not_end_completion(
    folders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = tmp_path / "other.toml"
    file.write_text(text, encoding="latin-1")
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(file))
    assert list(catalogue_paths(["one"])) == [folders["one"]]


def test_the_cache_may_lie_elsewhere(folders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folders
    monkeypatch.setenv("COMMONPLACE_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert list(catalogue_paths(["one"])) == []
    Shell(tmp_path / "one").ok("index")
    (found_text,) = catalogue_paths(["one"])
    assert found_text.startswith(f"{tmp_path}/elsewhere/")
