"""A repository of another user is used only where the user names it as safe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.store.git.layout import UntrustedRepositoryError, is_named_safe, require_owned


def safe(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    """Let the user's own configuration have these values of `safe.directory`, in order."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(values)))
    for number, value in enumerate(values):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", "safe.directory")
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)


def test_what_belongs_to_the_user_may_be_used(tmp_path: Path) -> None:
    require_owned(tmp_path, [tmp_path])


def test_what_cannot_be_looked_at_belongs_to_nobody_and_the_error_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(UntrustedRepositoryError, match="belongs to another user") as refused:
        require_owned(tmp_path / "a b", [tmp_path, tmp_path / "none"])
    assert "safe.directory" in refused.value.hint
    assert str(tmp_path) not in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_another_user_is_refused_until_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    with pytest.raises(UntrustedRepositoryError):
        require_owned(theirs, [tmp_path, theirs])
    monkeypatch.setenv("SUDO_UID", "12345")
    require_owned(theirs, [tmp_path, theirs])
    monkeypatch.setenv("SUDO_UID", "x")
    safe(monkeypatch, str(theirs))
    require_owned(theirs, [tmp_path, theirs])


@pytest.mark.parametrize(
    ("values", "is_safe"),
    [
        ([], False),
        (["{}"], True),
        (["{}/"], True),
        (["*"], True),
        (["{}/.."], False),
        (["{}/../*"], True),
        (["{}/*"], False),
        (["{}x"], False),
        (["{}", ""], False),
        (["*", "", "{}"], True),
        (["", "{}/below"], False),
    ],
)
def test_folders_are_named_as_for_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[str], is_safe: bool
) -> None:
    folder = tmp_path / "base 漢字"
    folder.mkdir()
    safe(monkeypatch, *(value.format(folder) for value in values))
    assert is_named_safe(folder) is is_safe


def test_a_link_to_a_folder_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    safe(monkeypatch, str(tmp_path / "link"))
    assert is_named_safe(tmp_path / "real")
