"""Layers requested by the settings."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.settings import default_settings
from commonplace.toolsets.cascade.registration import layer_folders, layer_remotes, layer_specs


def manifest(folder: Path, content: object) -> Path:
    path = folder / "layers.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def specs(**given_values: object) -> list[tuple[str, int, str]]:
    found_specs = layer_specs(replace(default_settings(), **given_values))
    assert found_specs is not None
    return [(spec.name, spec.level, spec.path) for spec in found_specs]


def test_without_layers_folders_are_served() -> None:
    assert layer_specs(default_settings()) is None


def test_paths_of_a_manifest_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    entries = [
        {"name": "own", "level": 2, "path": "own"},
        {"name": "abs", "level": 1, "path": str(tmp_path / "abs")},
        {"name": "home", "level": 0, "path": "~/notes"},
    ]
    path = manifest(tmp_path, {"layers": entries})
    assert specs(manifest=path) == [
        ("own", 2, str(tmp_path / "own")),
        ("abs", 1, str(tmp_path / "abs")),
        ("home", 0, str(tmp_path / "home/notes")),
    ]


def test_two_folders_are_a_personal_layer_over_a_shared_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = specs(personal="mine", shared="ours")
    assert [path for _, _, path in rows] == [str(tmp_path / "mine"), str(tmp_path / "ours")]
    assert rows[0][1] > rows[1][1]
    with pytest.raises(ConfigError, match="need each other"):
        specs(personal="mine")


def test_a_manifest_that_cannot_be_read_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, said in (
        (tmp_path / "none.json", "No such file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "pipe", "not a regular file"),
        (manifest(tmp_path, b"\xff\xfe"), "not UTF-8"),
    ):
        with pytest.raises(ConfigError, match=said) as refused:
            specs(manifest=path)
        assert refused.value.kind == "manifest"
        assert str(tmp_path) not in str(refused.value)


def test_the_home_of_an_unknown_user_is_refused(tmp_path: Path) -> None:
    path = manifest(tmp_path, {"layers": [{"name": "a", "level": 1, "path": "~nobody-of-this-name/x"}]})
    with pytest.raises(ConfigError, match="unknown user"):
        specs(manifest=path)


def test_folders_that_exist_are_listed_once_and_a_missing_one_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "again").symlink_to("own")
    entries = [{"name": name, "level": 1, "path": name} for name in ("own", "again", "gone")]
    found_specs = layer_specs(replace(default_settings(), manifest=manifest(tmp_path, {"layers": entries})))
    assert found_specs is not None
    with caplog.at_level(logging.WARNING):
        assert layer_folders(found_specs) == [tmp_path / "own"]
    assert "'gone' is empty" in caplog.text


def test_a_url_is_a_remote_and_everything_else_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = "https://git.example.org/company/wiki.git#main"
    entries = [
        {"name": "company", "level": 0, "path": url},
        {"name": "scp", "level": 1, "path": "git.example.org:company/wiki.git"},
        {"name": "graph", "level": 2, "source": "mcp", "command": "https://git.example.org/x.git"},
    ]
    found_specs = layer_specs(replace(default_settings(), manifest=manifest(tmp_path, {"layers": entries})))
    assert found_specs is not None
    assert layer_remotes(found_specs) == [url]
    assert found_specs[1].path == str(tmp_path / "git.example.org:company/wiki.git"), "as -C takes it"
    assert specs(personal="mine", shared=url)[1][2] == url
