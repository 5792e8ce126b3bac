"""Entry points of packages: read once, and again as soon as a package is installed or removed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from commonplace.plugins import entry_points


def test_they_are_read_again_only_after_an_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]
    assert entry_points.installed("tea.pots") == []
    toolsets = entry_points.installed("commonplace.toolsets")
    assert {point.name for point in toolsets} >= {"kb", "notes"}
    assert toolsets[0] is entry_points.installed("commonplace.toolsets")[0]

    about = tmp_path / "tea-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tea\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[tea.pots]\nround = tea:Pot\nflat = tea:Pot\n")
    os.utime(tmp_path, ns=(1, 1))
    assert [point.name for point in entry_points.installed("tea.pots")] == ["flat", "round"]

    shutil.rmtree(about)
    os.utime(tmp_path, ns=(2, 2))
    assert entry_points.installed("tea.pots") == []
