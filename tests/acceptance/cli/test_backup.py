"""A backup has all that is in no remote: with it and the remote a lost server answers its keys and knows its writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remotes.replicas import WRITES, replica, team, wait_ready
from serving import commonplace, create_key
from support import new_repo


def test_everything_is_lost_but_the_backup_and_the_remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, remote = team(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "commonplace").mkdir(parents=True)
    (tmp_path / "config" / "commonplace" / "config.toml").write_text("replica_poll = 7\n")
    key = create_key("Kim", "--tier", "write", "--folder", "inbox")
    file = tmp_path / "backup.tar.gz"
    with replica(tmp_path / "one", remote, flags=WRITES) as server:
        wait_ready(server)
        assert server.page("PUT", "inbox/a", {"content": "# A\n"}, key=key).status == 201
        done = commonplace("backup", str(file), "-C", str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert file.stat().st_mode & 0o777 == 0o600
        assert commonplace("backup", str(file), "-C", str(tmp_path)).returncode == 4, "it exists"

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other-state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other-config"))
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    refused = commonplace("backup", str(cut), "--restore", "-C", str(tmp_path))
    assert "not a whole backup" in refused.stderr
    assert not (tmp_path / "other-state").exists() or not list((tmp_path / "other-state").rglob("keys.json"))
    restored = commonplace("backup", str(file), "--restore", "-C", str(tmp_path))
    assert restored.returncode == 0, restored.stderr
    assert "already" in commonplace("backup", str(file), "--restore", "-C", str(tmp_path)).stderr
    (told,) = json.loads(commonplace("audit", "--json").stdout)["writes"]
    assert (told["caller"], told["files"]) == ("Kim", ["inbox/a.md"])
    assert (tmp_path / "other-config" / "commonplace" / "config.toml").read_text() == "replica_poll = 7\n"
    with replica(tmp_path / "two", remote, flags=WRITES) as again:
        wait_ready(again)
        assert again.page("GET", "inbox/a", key=key).status == 200
        assert again.page("PUT", "other/b", {"content": "# B\n"}, key=key).status == 403, "the limits are back"
        assert again.page("GET", "inbox/a").status == 401


def test_refs_of_proposals_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = new_repo(tmp_path / "notes", {"a.md": "# A\n"})
    head = work.git("rev-parse", "HEAD")
    refs = ("refs/commonplace/proposals/one", "refs/heads/proposals/two")
    for ref in refs:
        work.git("update-ref", ref, head)
    file = tmp_path / "backup.tar.gz"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert commonplace("backup", str(file), "-C", str(work.path)).returncode == 0
    for ref in refs:
        work.git("update-ref", "-d", ref)
    assert commonplace("backup", str(file), "--restore", "-C", str(work.path)).returncode == 0
    assert work.git("rev-parse", *refs).split() == [head, head]
