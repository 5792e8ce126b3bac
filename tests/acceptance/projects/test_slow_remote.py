"""A remote that answers slowly or not at all: calls end in time, say what was done, and lose nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from knowledge import projects, repository
from remotes.slow import Pace, SlowRemote, slow_remote
from shell import Shell
from support import GitRepo, eventually


@pytest.fixture
def home(tmp_path: Path, cache_dir: Path) -> Path:
    assert cache_dir.is_dir()
    return tmp_path / "home"


@pytest.fixture
def origin(tmp_path: Path) -> GitRepo:
    bare = GitRepo(tmp_path / "origin.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare", "--initial-branch=main")
    return bare


def connected(home: Path, remote: SlowRemote) -> None:
    """A store that has been pushed to the remote."""
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="first")
        repository(home).git("remote", "add", "origin", remote.url)
        assert client.call("sync_storage")["pushed"] is True


def running(remote: SlowRemote) -> list[str]:
    """Command lines of processes on this machine that name the remote's address."""
    found_contents: list[str] = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            found_contents.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return [line for line in found_contents if f"127.0.0.1:{remote.port}/" in line]


@pytest.mark.parametrize("pace", ["byte by byte", "never"])
@pytest.mark.soak
def test_a_synchronisation_ends_in_time_and_says_that_nothing_was_pushed(
    home: Path, origin: GitRepo, pace: Pace
) -> None:
    with slow_remote(origin.path) as remote:
        connected(home, remote)
        pushed = origin.git("rev-parse", "main")
        with projects(home) as client:
            client.call("list_projects")
            remote.pace = pace
            remote.asked.clear()
            (home / "projects/app/main.md").write_text("by hand")
            report = client.call("sync_storage")  # ends although the remote does not
            assert remote.asked.is_set()
            assert (report["success"], report["pushed"], report["files_committed"]) == (True, False, 1)
            assert report["push_error"]
            assert "success" not in report["message"]
            assert report["message"].startswith("1 file committed; not pushed: ")
            client.call("update_project_main", project_id="app", content="second")
            assert client.call("get_project_main", project_id="app")["content"] == "second"
            assert origin.git("rev-parse", "main") == pushed
            remote.pace = "whole"
            remote.ended.set()  # what hangs is let go
            eventually(lambda: client.call("sync_storage")["pushed"], 60)
        assert origin.git("show", "main:projects/app/main.md") == "second"


def test_the_command_ends_in_time_too(home: Path, origin: GitRepo, tmp_path: Path) -> None:
    with slow_remote(origin.path) as remote:
        connected(home, remote)
        remote.pace = "never"
        done = Shell(tmp_path).ok("projects", "sync", "-C", home, "--json").json  # ends although the remote does not
        assert not running(remote), "no git process is left behind"
    assert done["pushed"] is False
    assert "success" not in done["message"]
    assert done["push_error"]
