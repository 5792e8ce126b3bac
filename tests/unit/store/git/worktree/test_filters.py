"""Blobs are made of files as `git add` makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.revisions import revision_of
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree import stored_form
from support import GitRepo, new_repo


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/git").mkdir(parents=True)
    return new_repo(tmp_path / "base", {"z.md": "# Z\n"})


def opened(repo: GitRepo) -> GitRepository:
    return GitRepository(repo.path / ".git", repo.path)


CONTENTS = (
    b"a\r\nb\r\n", b"a\nb\r\n", b"a\rb\r\n", b"\0\r\n", b"", b"x$Id: 1 2$y\r\n", b"$Id$ $Id:\n$ $Id: a$",
    b"\x01\x02\r\n" * 9,
    b"text " * 99 + b"\x01\r\n", b"a\r\n\x1a", b"\xef\xbb\xbf\xc3\xa9\r\n",
)  # fmt: skip


@pytest.mark.parametrize("autocrlf", ["false", "true", "input"])
@pytest.mark.parametrize(
    "line", ["", "text", "-text", "text=auto", "eol=lf", "eol=crlf", "text=auto eol=crlf", "binary", "crlf", "-crlf",
             "crlf=input", "ident", "text ident", "text=odd", "!text"],
)  # fmt: skip
def test_git_stores_the_same_bytes(repo: GitRepo, line: str, autocrlf: str) -> None:
    repo.git("config", "core.autocrlf", autocrlf)
    repo.git("config", "core.safecrlf", "false")
    repo.write(".gitattributes", f"*.md {line}\n" if line else "")
    repository = opened(repo)
    for number, content in enumerate(CONTENTS):
        repo.write(f"{number}.md", content)
    ids = repo.git("hash-object", *(f"{number}.md" for number in range(len(CONTENTS)))).splitlines()
    mine = [revision_of(stored_form(repository, f"{number}.md", content)) for number, content in enumerate(CONTENTS)]
    assert mine == ids


def test_line_ends_that_are_staged_are_kept_and_attributes_that_are_only_staged_count(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.txt -text\n")
    repo.write("crlf.md", b"a\r\n")
    repo.commit()
    repo.git("config", "core.autocrlf", "true")
    (repo.path / ".gitattributes").unlink()
    repository = opened(repo)
    assert stored_form(repository, "crlf.md", b"a\r\nb\r\n") == b"a\r\nb\r\n"
    assert stored_form(repository, "new.md", b"a\r\n") == b"a\n"
    assert stored_form(repository, "new.txt", b"a\r\n") == b"a\r\n"
