"""Configuration that may be read is read, and no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from committing import write
from commonplace.domain.errors import Code
from commonplace.store import open_store
from commonplace.store.discovery import diagnose
from commonplace.store.git.layout import UntrustedRepositoryError
from support import MakeRepo


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def refused(folder: Path, state: Path) -> UntrustedRepositoryError:
    """The error with which a folder is refused, in both modes, and which `doctor` repeats."""
    for commit in ("manual", "auto"):
        with pytest.raises(UntrustedRepositoryError) as caught:
            open_store(folder, commit=commit, state_dir=state)
    (diagnostic,) = [trouble for trouble in diagnose(folder, state) if trouble.severity == "error"]
    assert diagnostic.message == str(caught.value)
    assert caught.value.code is Code.GIT
    assert caught.value.hint
    assert str(folder.parent) not in f"{caught.value} {caught.value.hint}"
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "[include]\n\tpath = {pipe}\n", '[INCLUDE] path="{pipe}"\n',
        '[includeIf "gitdir:/nowhere/"]\n\tpath = {pipe}\n',
        "[core]\n\texcludesFile = {pipe}\n", "[core] attributesfile={pipe}", "[include]\n\tpath = config\n",
        "[include]\n\tpath = /dev/zero\n", "[include]\n\tpa\\\nth = x\n\tpath = {pipe} # and so on\n",
    ],
)  # fmt: skip
def test_a_configuration_that_names_a_pipe_or_a_device_or_itself_is_refused(
    git_repo: MakeRepo, tmp_path: Path, state: Path, text: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    repo = git_repo("work", {"a.md": "# A\n"})
    with (repo.path / ".git/config").open("a") as config:
        config.write(text.format(pipe=tmp_path / "pipe"))
    refused(repo.path, state)


def test_configuration_and_patterns_may_be_links_to_files_and_include_others(git_repo: MakeRepo, state: Path) -> None:
    repo = git_repo("work", {"a.md": "# A\n"})
    for name in ("config", "info/exclude"):
        file = repo.path / ".git" / name
        file.parent.mkdir(exist_ok=True)
        text = file.read_text() if file.exists() else "ignored.md\n"
        own = repo.path.parent / Path(name).name
        own.write_text(text)
        file.unlink(missing_ok=True)
        file.symlink_to(own)
    (repo.path.parent / "more").write_text("[user]\n\tname = Included\n")
    repo.git("config", "include.path", str(repo.path.parent / "more"))
    write(open_store(repo.path, commit="auto", state_dir=state), "a.md", b"x")
    assert repo.git("log", "-1", "--format=%an") == "Included"
