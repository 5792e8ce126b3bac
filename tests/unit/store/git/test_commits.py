"""Content of commits: blobs as `git add` would store them, modes, people, messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author
from commonplace.domain.errors import GitError, InvalidInputError
from commonplace.domain.revisions import revision_of
from support import GitRepo, MakeRepo

A = Address("a.md")


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Two documents in a repository."""
    return git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n", "dir/c.md": "# C\n"})


def test_the_executable_bit_is_kept(repo: GitRepo) -> None:
    (repo.path / "a.md").chmod(0o755)
    repo.commit("Executable")
    write(committing(repo.path), "a.md", b"x")
    assert repo.git("ls-tree", "HEAD", "a.md").startswith("100755")
    assert repo.git("status", "--porcelain") == ""


def test_an_ignored_file_stays_out_of_the_history_and_a_page_that_nobody_would_find_is_refused(repo: GitRepo) -> None:
    repo.commit("Ignore", **{".gitignore": "private/\n", "tracked.md": "x"})
    store = committing(repo.path)
    assert write(store, "private/diary.png", b"secret") == ""
    assert (repo.path / "private/diary.png").read_bytes() == b"secret"
    with pytest.raises(InvalidInputError, match="ignored by an ignore file"):
        write(store, "private/diary.md", b"secret")
    assert not (repo.path / "private/diary.md").exists()
    repo.commit("Ignore more", **{".gitignore": "private/\ntracked.md\n"})
    assert write(store, "tracked.md", b"tracked already") != ""
    assert repo.git("status", "--porcelain") == ""


def test_authors_come_from_the_call_the_environment_the_configuration_or_the_product(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def people(author: Author | None = None) -> str:
        commit = write(committing(repo.path), "a.md", repo.git("rev-parse", "HEAD").encode(), author=author)
        return repo.git("show", "--no-patch", "--format=%an <%ae> %cn <%ce>", commit)

    configured = "Test Writer <writer@example.org>"
    assert people() == f"{configured} {configured}"
    assert people(Author("Ann", "ann@example.org")) == f"Ann <ann@example.org> {configured}"
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Env Author")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "committer@example.org")
    assert people() == "Env Author <writer@example.org> Test Writer <committer@example.org>"
    repo.git("config", "--unset", "user.name")
    repo.git("config", "--unset", "user.email")
    monkeypatch.delenv("GIT_AUTHOR_NAME")
    monkeypatch.delenv("GIT_COMMITTER_EMAIL")
    assert people() == "commonplace <commonplace@localhost> commonplace <commonplace@localhost>"


@pytest.mark.parametrize(
    "message",
    [
        "R&D costs $5; `x` & y",
        "日本語",
        "-m --amend",
        "",
        "\n\n",
        "# comment\n",
        "x" * 10_000,
        "\ud800",
        "a\r\nb",
    ],
)
def test_no_message_breaks_or_skips_the_commit(repo: GitRepo, message: str) -> None:
    commit = write(committing(repo.path), "a.md", b"x", message, Author("a\n<b>\0", "<>"))
    assert repo.git("rev-parse", "HEAD") == commit
    repo.git("fsck", "--strict")


def test_line_ends_are_stored_as_git_would(repo: GitRepo) -> None:
    repo.commit("Attributes", **{".gitattributes": "*.md text\nraw.md -text\n"})
    store = committing(repo.path)
    write(store, "a.md", b"one\r\ntwo\r\n")
    write(store, "raw.md", b"one\r\n")
    assert repo.git("cat-file", "blob", "HEAD:a.md") == "one\ntwo"
    assert repo.git("rev-parse", "HEAD:raw.md") == revision_of(b"one\r\n")
    assert (repo.path / "a.md").read_bytes() == b"one\r\ntwo\r\n"
    assert repo.git("status", "--porcelain") == ""


ATTRIBUTES = ["", "* text", "* text=auto", "* -text", "* text=auto eol=crlf", "* eol=lf", "* text eol=crlf", "* ident"]
CONTENTS = [
    b"a\nb\n",
    b"a\r\nb\r\n",
    b"a\r\nb\n",
    b"a\rb\r",
    b"a\r\n\0b\r\n",
    b"\0",
    b"",
    b"\r\n",
    b"$Id: x $\r\n",
    b"a",
]


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("autocrlf", ["false", "input", "true"])
def test_every_mix_of_attributes_and_line_ends_leaves_a_clean_status(
    git_repo: MakeRepo, attributes: str, autocrlf: str
) -> None:
    """The same bytes are committed by a write and by `git add`; both must store the same blob."""
    repo = git_repo("repo", {".gitattributes": attributes, "lf.md": "a\n", "crlf.md": "a\n"})
    repo.git("config", "core.autocrlf", autocrlf)
    repo.git("config", "core.safecrlf", "false")
    store = committing(repo.path)
    with store.transaction("All") as transaction:
        for number, content in enumerate(CONTENTS):
            transaction.put(Address(f"{number}.md"), content)
        transaction.put(Address("crlf.md"), b"a\r\nb\r\n")
    assert repo.git("status", "--porcelain") == ""
    repo.git("add", "--renormalize", ".")
    assert repo.git("status", "--porcelain") == ""
    assert all((repo.path / f"{n}.md").read_bytes() == content for n, content in enumerate(CONTENTS))


def test_a_filter_program_is_never_run(repo: GitRepo, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    repo.commit("Attributes", **{".gitattributes": "*.md filter=evil\n", "plain.txt": "x"})
    repo.git("config", "filter.evil.clean", f"touch {marker}; cat")
    repo.git("config", "filter.evil.smudge", f"touch {marker}; cat")
    repo.git("config", "core.fsmonitor", f"touch {marker}")
    hook = repo.path / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    store = committing(repo.path)
    with pytest.raises(GitError, match="goes through the program of the filter 'evil'"):
        write(store, "a.md", b"x")
    assert (repo.path / "a.md").read_text() == "# A\n"
    assert write(store, "plain.txt", b"y")
    store.history.log(None, limit=3)
    store.history.diff(A, repo.git("rev-parse", "HEAD"))
    assert not marker.exists()
