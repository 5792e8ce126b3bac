"""The settings file for programs that load no settings: what is missing or invalid is as if it were not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.raw_settings import base_folder, configured


def test_a_relative_base_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    assert base_folder("XDG_STATE_HOME", ".local/state") == str(tmp_path / "states")
    for odd in ("states", ""):
        monkeypatch.setenv("XDG_STATE_HOME", odd)
        assert base_folder("XDG_STATE_HOME", ".local/state") == str(tmp_path / ".local/state")


def test_the_named_file_is_read_before_that_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own, named = tmp_path / "commonplace" / "config.toml", tmp_path / "named.toml"
    own.parent.mkdir()
    own.write_text("resident = true\n")
    named.write_text("resident = false\nport = 1\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("COMMONPLACE_CONFIG", raising=False)
    assert configured("resident") == {"resident": True}
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(named))
    assert configured("resident") == {"resident": False, "port": 1}


@pytest.mark.parametrize("content", [b"resident = ", b"\xff resident", b"port = 1\n"])
def test_an_invalid_file_and_one_without_the_setting_give_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(file))
    assert configured("resident") == {}
    file.unlink()
    assert configured("resident") == {}
