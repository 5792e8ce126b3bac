"""Loose objects as Git writes them are read; cut and damaged ones are an error, at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ObjectType, SortMode

from commonplace.domain.errors import GitError
from commonplace.store.git.objects import MAX_MESSAGE_BYTES, LooseObjects
from commonplace.store.git.repository import MAX_OBJECT_BYTES, GitRepository
from support import GitRepo, MakeRepo

LONG = "".join(f"{number * 7919 % 10007:x} " for number in range(4_000))
"""Text that does not fit into one buffer of libgit2."""
READ = """
import sys
from pathlib import Path
import pygit2
from commonplace.domain.errors import GitError
from commonplace.store.git.repository import GitRepository
root, kind, identifier = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
repository = GitRepository(root / ".git", root)
read = {"commit": repository.commit, "tree": repository.entries, "blob": repository.content}[kind]
for act in (lambda: read(identifier), lambda: list(repository.handle.walk(repository.head))):
    try:
        act()
        print("read")
    except (GitError, pygit2.GitError) as error:
        print(type(error).__name__)
"""


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """A commit, a tree and a blob that are each long."""
    return git_repo("repo", {"a.md": LONG, **{f"{name * 7919 % 10007:05}.md": "x" for name in range(300)}})


def loose(repo: GitRepo, identifier: str) -> Path:
    """The file of a loose object."""
    return repo.path / ".git/objects" / identifier[:2] / identifier[2:]


def answers(repo: GitRepo, kind: str, identifier: str) -> list[str]:
    """The outcomes of the object's reader and of a walk over the history, in a process that can be killed."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(repo.path), kind, identifier],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.parametrize(("kind", "name"), [("commit", "HEAD"), ("tree", "HEAD^{tree}"), ("blob", "HEAD:a.md")])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.95])
@pytest.mark.sampled(8)
def test_an_object_that_is_cut_is_an_error_at_once(repo: GitRepo, kind: str, name: str, share: float) -> None:
    repo.git("commit", "--allow-empty", "--amend", "-q", "-m", LONG)
    identifier = repo.git("rev-parse", name)
    file = loose(repo, identifier)
    content = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(content[: int(len(content) * share)])
    assert answers(repo, kind, identifier)[0] == "GitError"


def test_an_object_with_another_ones_content_is_an_error(repo: GitRepo) -> None:
    first, second = repo.git("rev-parse", "HEAD:a.md"), repo.git("rev-parse", "HEAD:00000.md")
    loose(repo, first).chmod(0o644)
    loose(repo, first).write_bytes(loose(repo, second).read_bytes())
    with pytest.raises(GitError):
        GitRepository(repo.path / ".git", repo.path).content(first)


@pytest.mark.parametrize("kind", ["commit", "tree", "blob", "tag"])
def test_every_kind_of_object_is_read_loose_and_packed(repo: GitRepo, kind: str) -> None:
    repo.git("tag", "-a", "v1", "-m", "first")
    name = {"commit": "HEAD", "tree": "HEAD^{tree}", "blob": "HEAD:a.md", "tag": "v1"}[kind]
    identifier = repo.git("rev-parse", name)
    expected = subprocess.run(
        ["git", "cat-file", kind, identifier], cwd=repo.path, capture_output=True, check=True
    ).stdout
    assert GitRepository(repo.path / ".git", repo.path).content(identifier) == expected
    repo.git("gc", "-q", "--prune=now")
    assert not loose(repo, identifier).exists()
    assert GitRepository(repo.path / ".git", repo.path).content(identifier) == expected


def test_loose_objects_of_an_alternate_are_read(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("clone", "-q", "--shared", str(repo.path), str(tmp_path / "borrower"))
    (tmp_path / "gitconfig").write_text(f"[safe]\n\tdirectory = {repo.path}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    borrower = GitRepository(tmp_path / "borrower/.git", tmp_path / "borrower")
    assert borrower.content(repo.git("rev-parse", "HEAD:a.md")) == LONG.encode()
    assert len(borrower.entries(borrower.tree_of(borrower.head))) == 301


def test_what_libgit2_writes_is_there_for_git(repo: GitRepo) -> None:
    written = GitRepository(repo.path / ".git", repo.path).handle.create_blob(b"made by libgit2\n")
    assert repo.git("cat-file", "-p", str(written)) == "made by libgit2"


@pytest.fixture
def endless(repo: GitRepo) -> str:
    """A commit below the current one whose message is larger than any that people write; its id."""
    body = repo.git("cat-file", "commit", "HEAD").encode() + b"\n\n" + b"word " * (MAX_MESSAGE_BYTES // 4)
    command = ["git", "hash-object", "-t", "commit", "-w", "--stdin"]
    done = subprocess.run(command, input=body, capture_output=True, check=True, timeout=60, cwd=repo.path)
    identifier = done.stdout.decode().strip()
    top = repo.git("commit-tree", "HEAD^{tree}", "-p", identifier, "-m", "Top")
    repo.git("update-ref", "refs/heads/main", top)
    repo.git("tag", "-a", "-m", "Tag", "named", identifier)
    return identifier


def test_no_more_of_a_message_is_read_than_people_write(repo: GitRepo, endless: str) -> None:
    backend = LooseObjects([str(repo.path / ".git/objects")], MAX_OBJECT_BYTES)
    kind, content = backend.read_cb(pygit2.Oid(hex=endless))
    assert kind == ObjectType.COMMIT
    assert len(content) < MAX_MESSAGE_BYTES + 1_000
    identifier = repo.git("rev-parse", "HEAD:a.md")
    assert backend.read_cb(pygit2.Oid(hex=identifier)) == (ObjectType.BLOB, LONG.encode())


@pytest.mark.parametrize("packed", [False, True])
def test_a_commit_that_is_too_large_is_refused_wherever_it_stands(repo: GitRepo, endless: str, packed: bool) -> None:
    if packed:
        repo.git("repack", "-a", "-d", "--quiet")
    repository = GitRepository(repo.path / ".git", repo.path)
    with pytest.raises(GitError, match="larger than 10,000,000 bytes"):
        repository.commit(endless)
    with pytest.raises(GitError):
        repository.commit(repo.git("rev-parse", "named"))
    with pytest.raises(GitError):
        list(repository.walk(repository.head, SortMode.NONE))
