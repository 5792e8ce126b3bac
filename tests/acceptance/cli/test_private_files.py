"""What is derived from pages is for its user alone, whatever the umask; pages have the modes that the umask gives."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remotes.replicas import WRITES, replica, team, wait_ready
from serving import served
from shell import Shell

OTHERS = 0o077


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """A umask that withholds nothing, for this process and those that it starts."""
    before = os.umask(0)
    yield
    os.umask(before)


def run(home: Path, *arguments: str, text: str = "", code: int = 0) -> str:
    shell = Shell(home, {"XDG_CACHE_HOME": str(home / "cache"), "XDG_STATE_HOME": str(home / "state")})
    done = shell(*arguments, stdin=text)
    assert done.code == code, done.stderr
    return done.text


def exposed(*folders: Path) -> list[str]:
    """Folders and files that others may read, write or enter. The folder of the platform above ours is not ours."""
    paths = [path for folder in folders for path in (folder / "commonplace").rglob("*")]
    assert any(path.is_file() for path in paths)
    return [str(path) for path in (*paths, *(folder / "commonplace" for folder in folders)) if _is_exposed(path)]


def _is_exposed(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # a temporary file of the index, gone meanwhile
        return False
    return not stat.S_ISLNK(mode) and bool(stat.S_IMODE(mode) & OTHERS)


def used(home: Path) -> None:
    """Everything that leaves text behind: an index, writes with and without Git, an earlier state, deleted text."""
    plain, repo = home / "plain", home / "repo"
    run(home, "search", "secret", "-C", str(repo))
    run(home, "search", "secret", "--at", "yesterday", "-C", str(repo))
    run(home, "write", "b.md", "-C", str(repo), "--message", "b", text="# B\n\nsecret\n")
    run(home, "write", "b.md", "-C", str(plain), text="# B\n\nsecret\n")
    run(home, "rm", "a.md", "--force", "-C", str(plain))
    run(home, "keys", "create", "laptop", "--tier", "read")


def test_indexes_journals_and_deleted_text_are_private_and_pages_are_not(tmp_path: Path) -> None:
    for name in ("plain", "repo"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("# A\n\nsecret\n")
    git = ["git", "-C", str(tmp_path / "repo"), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "a", "--date=2020-01-01"]):
        subprocess.run([*git, *words], check=True, env=os.environ | {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00"})
    used(tmp_path)
    homes = tmp_path / "cache", tmp_path / "state"
    assert exposed(*homes) == []
    for name in ("commonplace.lock", "commonplace.journal"):
        # With this umask Git makes a folder that its group may write: the group shares them, and nobody else.
        assert stat.S_IMODE((tmp_path / "repo/.git" / name).stat().st_mode) == 0o660
    for page in (tmp_path / "plain/b.md", tmp_path / "repo/b.md"):
        assert stat.S_IMODE(page.stat().st_mode) == 0o666
    assert "only by this user" in run(tmp_path, "doctor", "-C", str(tmp_path / "repo"))

    for folder, folders, files in os.walk(tmp_path / "cache", topdown=False):  # as an earlier version left them
        for name in (*folders, *files):
            Path(folder, name).chmod(0o777 if name in folders else 0o666)
    assert len(exposed(homes[0])) > 10
    completed = run(tmp_path, "doctor", "-C", str(tmp_path / "repo"), code=1)
    assert "Others have permissions for" in completed
    assert "chmod -R go=" in completed
    used_again = run(tmp_path, "search", "secret", "-C", str(tmp_path / "repo"))
    assert "a.md" in used_again
    assert exposed(*homes) == []


def test_the_files_of_a_running_server_and_its_clones_are_private(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with replica(tmp_path / "cache", remote, flags=WRITES) as server:
        wait_ready(server)
        for number in range(3):
            assert server.page("PUT", f"new{number}", {"content": f"# New {number}\n\nsecret words\n"}).status == 201
        assert server.ask("GET", "/api/v1/search?q=secret").json["results"]
        assert exposed(tmp_path / "cache") == []  # with the files beside an open database
    work.git("pull", "--quiet", "origin", "HEAD")
    assert exposed(tmp_path / "cache") == []


def test_workers_write_pages_with_the_umask_of_the_user(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "COMMONPLACE_WORKERS": "2"}
    with served(str(folder), "--tier", "write", env=environment, fresh=True) as server:
        assert server.page("PUT", "sub/b", {"content": "# B\n"}).status == 201
        modes = [stat.S_IMODE((folder / path).stat().st_mode) for path in ("sub", "sub/b.md")]
        assert modes == [0o777, 0o666]
        assert exposed(tmp_path / "cache") == []
