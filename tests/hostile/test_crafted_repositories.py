"""A repository whose own folder somebody crafted: what Git refuses is refused, and nothing outside is written."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, KnowledgeError
from commonplace.domain.revisions import revision_of
from commonplace.store import open_store
from commonplace.store.git.index_file import IndexEntry, empty_index
from support import GitRepo, MakeRepo

PRECIOUS = "export A=1\n"
A = Address("a.md")


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("repo", {"a.md": "# A\n"})


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the repository that nobody may touch."""
    file = tmp_path / "outside"
    file.write_text(PRECIOUS)
    return file


def is_untouched(repo: GitRepo, outside: Path) -> bool:
    """Whether nothing beside the repository came, went or changed."""
    names = {path.name for path in outside.parent.iterdir()} - {"state"}
    return outside.read_text() == PRECIOUS and names == {"outside", repo.path.name}


@pytest.mark.parametrize(
    "target",
    [
        "{outside}", "../outside", "refs/../../../outside", "refs/heads/../../../../outside", "config",
        "hooks/post-commit", "refs/heads/../../config", "refs/heads/a.lock", "refs/heads/a b", "HEAD", "refs/heads/.x",
        "", "refs/heads/",
    ],
)  # fmt: skip
def test_a_head_that_names_no_ref_is_refused_and_nothing_is_written(repo: GitRepo, outside: Path, target: str) -> None:
    repo.git("config", "user.name", "a;touch EXEC #b")
    configuration = (repo.path / ".git/config").read_bytes()
    (repo.path / ".git/HEAD").write_text(f"ref: {target.format(outside=outside)}\n")
    with pytest.raises(KnowledgeError) as caught:
        write(committing(repo.path), "new.md", b"hi\n")
    assert caught.value.hint
    assert is_untouched(repo, outside)
    assert not (repo.path / "new.md").exists()
    assert (repo.path / ".git/config").read_bytes() == configuration
    assert not (repo.path / ".git/hooks/post-commit").exists()


def test_a_symbolic_branch_is_followed_as_git_does(repo: GitRepo) -> None:
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/alias")
    write(committing(repo.path), "new.md", b"hi\n")
    assert repo.git("symbolic-ref", "refs/heads/alias") == "refs/heads/main"
    assert repo.git("log", "--format=%s", "main").splitlines() == ["Write", "Begin"]
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("target", ["refs/heads/main", "refs/heads/other", "../../../outside", "{outside}"])
def test_a_branch_that_leads_in_a_circle_or_out_is_refused(repo: GitRepo, outside: Path, target: str) -> None:
    (repo.path / ".git/refs/heads/other").write_text("ref: refs/heads/main\n")
    (repo.path / ".git/refs/heads/main").write_text(f"ref: {target.format(outside=outside)}\n")
    with pytest.raises(GitError):
        write(committing(repo.path), "new.md", b"hi\n")
    assert is_untouched(repo, outside)
    assert not (repo.path / "new.md").exists()


def linked_log(repo: GitRepo, outside: Path) -> None:
    """Both reflogs are links to a file outside."""
    for name in ("HEAD", "refs/heads/main"):
        (repo.path / ".git/logs" / name).unlink()
        (repo.path / ".git/logs" / name).symlink_to(outside)


def hard_linked_log(repo: GitRepo, outside: Path) -> None:
    """Both reflogs are the same file as one outside."""
    for name in ("HEAD", "refs/heads/main"):
        (repo.path / ".git/logs" / name).unlink()
        (repo.path / ".git/logs" / name).hardlink_to(outside)


def piped_log(repo: GitRepo, outside: Path) -> None:
    """A reflog is a pipe that nobody reads."""
    del outside
    (repo.path / ".git/logs/HEAD").unlink()
    os.mkfifo(repo.path / ".git/logs/HEAD")


@pytest.mark.parametrize("craft", [linked_log, hard_linked_log, piped_log])
def test_a_reflog_that_leads_elsewhere_is_not_written(
    repo: GitRepo, outside: Path, craft: Callable[[GitRepo, Path], None]
) -> None:
    craft(repo, outside)
    write(committing(repo.path), "new.md", b"hi\n")
    assert is_untouched(repo, outside)
    assert repo.git("log", "-1", "--format=%s") == "Write"


def journal(repo: GitRepo, reported_value: object, pending: object = None) -> None:
    """Write a journal whose checksum is right."""
    text = json.dumps([reported_value, pending or {}]).encode()
    repo.write(".git/commonplace.journal", b"%s %d %s" % (sha256(text).hexdigest().encode(), len(text), text))


@pytest.mark.parametrize("path", ["../outside", "{outside}", "../repo/../outside"])
def test_a_crafted_journal_deletes_no_file_outside(repo: GitRepo, outside: Path, path: str) -> None:
    there, missing = [path.format(outside=outside), "", revision_of(PRECIOUS.encode())], ["b.md", "", "1" * 40]
    journal(repo, ["a" * 12, [there, missing], [], "", "", []])
    store = open_store(repo.path, commit="manual", state_dir=repo.path.parent / "state")
    store.recover()
    write(store, "new.md", b"hi\n")
    assert is_untouched(repo, outside)


def test_a_crafted_journal_removes_no_folder_outside(repo: GitRepo, outside: Path) -> None:
    made = outside.parent / "empty"
    made.mkdir()
    journal(repo, ["a" * 12, [["a.md", "1" * 40, "2" * 40]], ["../empty"], "", "", []])
    committing(repo.path).recover()
    made.rmdir()
    assert is_untouched(repo, outside)


def test_a_journal_that_is_another_name_of_a_file_outside_is_replaced(repo: GitRepo, outside: Path) -> None:
    (repo.path / ".git/commonplace.journal").hardlink_to(outside)
    write(committing(repo.path), "new.md", b"hi\n")
    assert is_untouched(repo, outside)
    assert repo.git("log", "-1", "--format=%s") == "Write"


@pytest.mark.parametrize("how", ["said", "there"])
def test_an_object_that_fits_into_no_memory_is_not_read(repo: GitRepo, outside: Path, how: str) -> None:
    store = committing(repo.path)
    head = repo.git("rev-parse", "HEAD")
    loose = repo.path / ".git/objects" / head[:2] / head[2:]
    content = loose.read_bytes()
    loose.chmod(0o644)
    if how == "said":
        loose.write_bytes(zlib.compress(b"commit 90000000000\0tree "))
    else:
        loose.write_bytes(content)
        os.truncate(loose, 1 << 40)
    with pytest.raises(GitError, match=r"larger than|cannot be read"):
        store.history.log(A, limit=1)
    with pytest.raises(KnowledgeError):
        write(store, "new.md", b"hi\n")
    assert is_untouched(repo, outside)


def test_an_index_with_a_path_out_of_the_work_tree_brings_nothing_into_a_commit(repo: GitRepo, outside: Path) -> None:
    entry = IndexEntry("1" * 40, 0o100644, None)
    (repo.path / ".git/index").write_bytes(empty_index().changed({"../outside": entry, "a.md": entry}).raw)
    repository = open_store(repo.path, commit="manual", state_dir=repo.path.parent / "state").repository
    assert repository is not None
    with pytest.raises(GitError, match=r"outside its work tree|invalid entry"):
        repository.commit(None, "All")
    assert is_untouched(repo, outside)
