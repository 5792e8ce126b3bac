"""Pushes at the end of the process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.service.instructions import update_main
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore
from injection.audit_events import before, once
from support import GitRepo, eventually, trust

GATE = """\
#!/bin/sh
echo begun >> "{folder}/begun"
if [ "$(wc -l < "{folder}/begun")" -eq 1 ]; then read line < "{folder}/gate"; fi
"""
"""A hook of the remote that holds the first push until somebody writes to the gate."""


def test_a_commit_made_while_another_is_being_pushed_is_pushed_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = GitRepo(tmp_path / "origin.git")
    trust(bare.path, monkeypatch)
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare", "--initial-branch=main")
    opened = open_project_store(tmp_path / "home", tmp_path / "state", IDENTITY)
    home = ProjectStore(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
    GitRepo(opened.path).git("remote", "add", "origin", str(bare.path))
    os.mkfifo(tmp_path / "gate")
    hook = bare.path / "hooks" / "pre-receive"
    hook.write_text(GATE.format(folder=tmp_path))
    hook.chmod(0o755)

    update_main(home, "app", "first")
    opened.origin.start()
    eventually((tmp_path / "begun").exists)
    update_main(home, "app", "second")
    ending = threading.Thread(target=opened.origin.close)
    ending.start()
    (tmp_path / "gate").write_text("go\n")
    ending.join(10)
    opened.activity.close()

    assert not ending.is_alive()
    assert bare.git("show", "main:projects/app/main.md") == "second"


def test_what_another_process_pushes_during_a_fetch_is_not_taken_for_dropped(tmp_path: Path) -> None:
    bare = GitRepo(tmp_path / "origin.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare", "--initial-branch=main")
    store, other = (open_project_store(tmp_path / "home", tmp_path / "state", IDENTITY) for _ in range(2))
    home = ProjectStore(str(other.path), other.store, other.folders, other.origin, other.activity)
    repo = GitRepo(store.path)
    repo.git("remote", "add", "origin", str(bare.path))
    update_main(home, "app", "first")
    store.origin.sync()

    def push() -> None:
        update_main(home, "app", "second")
        other.origin.sync()

    with before("shutil.rmtree", lambda _: True, once(push)) as ended:  # of the fetch's temporary repository
        assert store.origin.sync().error == ""
    assert ended
    assert (store.path / "projects/app/main.md").read_text() == "second"
    assert repo.git("branch", "--list", "rescue/*") == ""
    assert bare.git("show", "main:projects/app/main.md") == "second"
    for opened in (store, other):
        opened.origin.close()
        opened.activity.close()
