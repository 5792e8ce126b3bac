"""A fetch or push in a repository of our own: it takes along what it needs, and runs no program."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commonplace.domain.errors import GitError
from commonplace.domain.ports import Repository
from commonplace.store import open_store
from support import GitRepo, MakeRepo, new_repo, trust


def repository(folder: Path) -> Repository:
    """The repository that publishes the commits of a folder."""
    found_repository = open_store(folder, commit="manual", state_dir=folder.parent / "state").repository
    assert found_repository is not None
    return found_repository


def with_remote(repo: GitRepo) -> Repository:
    """A repository with a bare `origin` beside it."""
    GitRepo(repo.path.parent).git("init", "--quiet", "--bare", "--initial-branch=main", "origin.git")
    repo.git("remote", "add", "origin", str(repo.path.parent / "origin.git"))
    return repository(repo.path)


@pytest.fixture
def single(git_repo: MakeRepo) -> GitRepo:
    """A repository with one commit."""
    return git_repo("repo", {"a.md": "# A\n"})


def test_a_hook_of_a_remote_folder_runs_only_where_the_user_has_named_that(
    single: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_repository = with_remote(single)
    remote = single.path.parent / "origin.git"
    hook = remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {single.path.parent}/ran\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(GitError, match="a folder with hooks, which are programs") as caught:
        found_repository.push()
    assert "safe.directory" in caught.value.hint
    assert not (single.path.parent / "ran").exists()
    trust(remote, monkeypatch)
    with pytest.raises(GitError, match="pre-receive hook declined"):
        found_repository.push()
    assert (single.path.parent / "ran").exists()


@pytest.mark.parametrize("url", ["file://{}", "file://localhost{}", "file://any.example:99{}", "file://%2e{}"])
def test_a_url_with_a_host_names_the_same_remote_folder(single: GitRepo, url: str) -> None:
    found_repository = with_remote(single)
    remote = single.path.parent / "origin.git"
    hook = remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {single.path.parent}/ran\n")
    hook.chmod(0o755)
    single.git("remote", "set-url", "origin", url.format(remote))
    with pytest.raises(GitError, match="a folder with hooks"):
        found_repository.push()
    assert not (single.path.parent / "ran").exists()


PROGRAMS = (
    ("core.fsmonitor", "{touch}"), ("core.pager", "{touch}"), ("core.editor", "{touch}"), ("core.askpass", "{touch}"),
    ("core.sshCommand", "{touch}"), ("core.gitProxy", "{touch}"), ("core.alternateRefsCommand", "{touch};"),
    ("core.hooksPath", "{hooks}"), ("credential.helper", "!{touch}"), ("credential.{remote}.helper", "!{touch}"),
    ("remote.origin.receivepack", "{touch}; git-receive-pack"),
    ("remote.origin.uploadpack", "{touch}; git-upload-pack"),
    ("remote.origin.vcs", "ext"), ("url.ext::sh -c {touch}.insteadOf", "{remote}"), ("protocol.ext.allow", "always"),
    ("protocol.allow", "always"), ("push.gpgSign", "true"), ("gpg.program", "{touch}"), ("commit.gpgSign", "true"),
    ("filter.x.clean", "{touch}"), ("filter.x.smudge", "{touch}"), ("filter.x.process", "{touch}"),
    ("diff.x.textconv", "{touch}"), ("diff.external", "{touch}"), ("pager.push", "{touch}"), ("alias.push", "!{touch}"),
    ("http.proxy", "ext::{touch}"), ("push.recurseSubmodules", "on-demand"), ("uploadpack.packObjectsHook", "{touch}"),
    ("receive.procReceiveRefs", "refs/heads"), ("receive.denyCurrentBranch", "updateInstead"),
    ("trailer.x.command", "{touch}"), ("gc.auto", "1"), ("maintenance.auto", "true"), ("core.worktree", "/"),
)  # fmt: skip
"""Settings that name programs or bring Git to run some: `{touch}` leaves a mark."""


def crafted(repo: GitRepo, marker: Path, remote: Path) -> None:
    """Let every setting and hook of a repository leave a mark, and its attributes name every driver."""
    hooks = repo.path.parent / f"hooks of {repo.path.name}"
    hooks.mkdir()
    gitdir = repo.path / ".git" if (repo.path / ".git").is_dir() else repo.path
    (gitdir / "hooks").mkdir(exist_ok=True)
    names = ("pre-push", "reference-transaction", "post-update", "pre-receive", "post-receive", "update", "pre-auto-gc")
    for hook in [folder / name for name in names for folder in (hooks, gitdir / "hooks")]:
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)
    for name, value in PROGRAMS:
        paths = {"touch": f"touch {marker}", "hooks": hooks, "remote": remote}
        if name != "core.worktree":
            repo.git("config", "--file", str(gitdir / "config"), name.format(**paths), value.format(**paths))
    (gitdir / "info").mkdir(exist_ok=True)
    (gitdir / "info/attributes").write_text("* filter=x diff=x merge=x\n")


def test_no_program_of_the_repositorys_configuration_is_run(single: GitRepo, tmp_path: Path) -> None:
    remote = with_remote(single)
    crafted(single, tmp_path / "ran", tmp_path / "origin.git")
    head = single.git("-c", "core.fsmonitor=false", "rev-parse", "HEAD")
    remote.push()
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "origin.git/refs/heads/main").read_text().strip() == head
    assert (single.path / ".git/refs/remotes/origin/main").read_text().strip() == head


def test_no_program_of_a_remote_folder_is_run(single: GitRepo, tmp_path: Path) -> None:
    other = new_repo(tmp_path / "other", {"x.md": "x"})
    found_repository = with_remote(single)
    remote = GitRepo(tmp_path / "origin.git")
    remote.write("objects/info/alternates", f"{other.path}/.git/objects\n")
    crafted(remote, tmp_path / "ran", tmp_path)
    with pytest.raises(GitError, match="a folder with hooks"):
        found_repository.push()
    shutil.rmtree(remote.path / "hooks")
    for name in ("core.hooksPath", "receive.procReceiveRefs"):
        remote.git("config", "--file", "config", "--unset", name)
    found_repository.push()
    assert not (tmp_path / "ran").exists()


def test_a_remote_is_reached_by_a_path_from_the_work_tree(single: GitRepo) -> None:
    remote = with_remote(single)
    single.git("remote", "set-url", "origin", "../origin.git")
    assert "has it now" in remote.push()


def test_a_shallow_clone_is_pushed(single: GitRepo, tmp_path: Path) -> None:
    with_remote(single).push()
    for number in range(3):
        single.commit(f"More {number}", **{"a.md": f"{number}\n"})
    single.git("push", "--quiet", "origin", "main")
    GitRepo(tmp_path).git("clone", "--quiet", "--depth=1", f"file://{tmp_path}/origin.git", "shallow")
    shallow = GitRepo(tmp_path / "shallow")
    shallow.git("config", "user.name", "Test Writer")
    shallow.git("config", "user.email", "writer@example.org")
    head = shallow.commit("Mine", **{"a.md": "mine\n"})
    assert repository(shallow.path).push() == f"origin has it now: main at {head[:8]}"
