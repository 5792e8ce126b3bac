"""Folders that are typed knowledge bases unless another toolset is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from commonplace.domain.schema import SCHEMA_FILE
from commonplace.settings import default_settings
from commonplace.toolsets.kb.registration import KB, KB_FILE, SPACE_FILE
from commonplace.toolsets.pages.rules.space import SPACE_FILE as SYNCED_SPACE


def is_kb(*folders: Path, **more: Path) -> bool:
    assert KB.detects is not None
    return KB.detects(replace(default_settings(), kb=folders, **more))


def test_the_names_of_files_are_those_of_their_readers() -> None:
    assert (SCHEMA_FILE, SYNCED_SPACE.path) == (KB_FILE, SPACE_FILE)


def test_a_folder_says_itself_that_it_is_one(tmp_path: Path) -> None:
    plain, typed = tmp_path / "plain", tmp_path / "typed"
    for folder in (plain, typed):
        folder.mkdir()
    assert not is_kb(plain)
    (typed / KB_FILE).touch()
    assert is_kb(typed)
    assert is_kb(plain, typed)
    (typed / SPACE_FILE).touch()
    assert not is_kb(typed), "a synced space has a toolset of its own"
    assert is_kb(typed, plain), "which serves it alone"


def test_layers_are_typed(tmp_path: Path) -> None:
    assert is_kb(tmp_path, manifest=tmp_path / "layers.json")
    assert is_kb(tmp_path, personal=str(tmp_path))
