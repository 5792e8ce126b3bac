"""Folders that are synced spaces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from commonplace.settings import default_settings
from commonplace.toolsets.pages.registration import PAGES


def is_space(*folders: Path, **more: Path | str) -> bool:
    assert PAGES.detects is not None
    return PAGES.detects(replace(default_settings(), kb=folders, **more))


def test_a_space_is_served_alone(tmp_path: Path) -> None:
    assert not is_space(tmp_path)
    (tmp_path / ".confluence.json").write_text("{}")
    assert is_space(tmp_path)
    assert not is_space(tmp_path, tmp_path)
    assert not is_space(tmp_path, manifest=tmp_path / "layers.json")
    assert not is_space(tmp_path, personal=str(tmp_path))
    (tmp_path / "sub" / ".confluence.json").mkdir(parents=True)
    assert not is_space(tmp_path / "sub"), "it is a folder of that name"
