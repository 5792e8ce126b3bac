"""History as `git log` tells it, of a whole repository and of a folder in one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author
from commonplace.domain.errors import GitError, InvalidInputError, NotFoundError
from commonplace.domain.revisions import revision_of
from histories import history
from support import GitRepo, MakeRepo

A, B = Address("a.md"), Address("b.md")


def subjects(repo: GitRepo, *args: str) -> list[str]:
    """Commit ids printed by `git log`."""
    return repo.git("log", "--format=%H", *args).splitlines()


def test_the_log_of_a_document_is_git_logs(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    for address in (A, B, Address("p.png"), Address("none.md")):
        path = str(Path(below) / address.path)
        assert [commit.id for commit in past.log(address, limit=50)] == subjects(repo, "--", path)


def test_the_log_of_the_folder_is_git_logs_and_tells_the_documents(repo: GitRepo, below: str) -> None:
    log = history(repo.path / below).log(None, limit=50)
    assert [commit.id for commit in log] == subjects(repo, *(["--", below] if below else []))
    messages = [(commit.message, [str(a) for a in commit.addresses]) for commit in log if "Else" not in commit.message]
    assert messages == [
        ("Remove b\n", ["b.md"]),
        ("Change both\n\nBody\n", ["a.md", "b.md"]),
        ("Change a\n", ["a.md"]),
        ("Begin\n", ["a.md", "b.md"]),
    ]
    assert log[-1].author == Author("Test Writer", "writer@example.org")
    assert str(log[-1].when) == repo.git("log", "--format=%at").splitlines()[-1]


def test_the_count_is_that_of_git_log_after_commits_and_merges(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    arguments = ["--", below] if below else []

    def both() -> tuple[int, int]:
        return past.count(), len(subjects(repo, *arguments))

    counts = [both()]
    for number in range(2):
        repo.commit(**{f"{below}/new{number}.md".lstrip("/"): "x\n"})
        counts.append(both())
    repo.git("checkout", "-q", "-b", "aside", "HEAD~1")
    repo.commit(**{f"{below}/aside.md".lstrip("/"): "x\n"})
    repo.git("checkout", "-q", "-")
    repo.git("merge", "-q", "--no-edit", "aside")
    counts += [both(), both()]
    assert all(count == of_git for count, of_git in counts)
    assert [count - counts[0][0] for count, _ in counts[1:3]] == [1, 2]


def test_pages_of_the_log_fit_together(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    whole = past.log(A, limit=50)
    assert [past.log(A, limit=1, offset=n) for n in range(4)] == [[c] for c in whole] + [[]]
    assert past.log(A, limit=0) == []


def test_a_document_is_read_as_it_was(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    log = past.log(A, limit=9)
    assert [past.read(A, commit.id) for commit in log] == [b"3\n", b"2\n", b"1\n"]
    assert past.read(A, log[1].id[:7].upper()) == b"2\n"
    assert past.read(B, log[0].id) == b"3\n"
    assert past.read(A, past.head()) == b"3\n"


def test_a_version_whose_bytes_cannot_be_read_is_told_as_gits_failure(repo: GitRepo, below: str) -> None:
    first = subjects(repo)[-1]
    blob = repo.git("rev-parse", f"{first}:{below + '/' if below else ''}a.md")
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for revision in (first, blob):
        with pytest.raises((GitError, NotFoundError)) as failure:
            history(repo.path / below).read(A, revision)
        assert type(failure.value).__module__ == GitError.__module__
    with pytest.raises(GitError, match="cannot be read"):
        history(repo.path / below).read(A, first)


def test_a_document_is_read_by_the_blob_id_of_a_version(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    for content in (b"1\n", b"2\n", b"3\n"):
        assert past.read(A, revision_of(content)) == content
    file = repo.path / below / "a.md"
    file.write_bytes(b"not committed\n")
    assert past.read(A, revision_of(b"not committed\n")[:9]) == b"not committed\n"


def test_only_versions_of_the_document_itself_are_read(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    secret = repo.git("rev-parse", "HEAD:elsewhere/x.txt")
    with pytest.raises(NotFoundError):
        past.read(A, secret)
    repo.git("switch", "--quiet", "--orphan", "secret")
    hidden = repo.commit("Secret", **{str(Path(below) / "a.md"): "secret\n"})
    repo.git("switch", "--quiet", "main")
    for revision in (hidden, revision_of(b"secret\n")):
        with pytest.raises(NotFoundError, match="current branch"):
            past.read(A, revision)


def test_what_is_absent_is_not_found(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    tree = repo.git("rev-parse", "HEAD^{tree}")
    for address, revision in ((B, past.head()), (A, "0" * 40), (A, tree), (Address("x/y.md"), past.head())):
        with pytest.raises(NotFoundError):
            past.read(address, revision)


@pytest.mark.parametrize(
    "revision", ["--output=/x", "-x", "HEAD", "main", "HEAD~1", "abc", "", "x" * 40, "a" * 41, "@"]
)
def test_what_is_no_revision_is_refused(repo: GitRepo, below: str, revision: str) -> None:
    past = history(repo.path / below)
    with pytest.raises(InvalidInputError):
        past.read(A, revision)
    with pytest.raises(InvalidInputError):
        past.diff(A, revision)


def test_a_diff_is_unified(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    new, middle, old = [commit.id for commit in past.log(A, limit=9)]
    assert past.diff(A, old, middle).splitlines()[-5:] == ["--- a/a.md", "+++ b/a.md", "@@ -1 +1 @@", "-1", "+2"]
    assert past.diff(A, old) == past.diff(A, old, new)
    assert past.diff(A, new) == ""
    (repo.path / below / "a.md").write_bytes(b"3\nmore\n")
    assert past.diff(A, new).splitlines()[-1] == "+more"


def test_a_diff_shows_where_a_document_begins_and_ends(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    removal, change, *_ = past.log(B, limit=9)
    assert past.diff(B, change.id, removal.id).splitlines()[-1] == "-3"
    assert past.diff(B, change.id).splitlines()[-1] == "-3"
    assert past.diff(B, removal.id, change.id).splitlines()[-1] == "+3"


def test_a_diff_of_bytes_says_so_and_odd_bytes_are_shown(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    file = repo.path / below / "a.md"
    file.write_bytes(b"\0\1")
    assert "Binary files" in past.diff(A, past.head())
    file.write_bytes(b"\xff\n")
    assert "+\ufffd" in past.diff(A, past.head())


def test_line_ends_that_git_converts_make_no_difference(repo: GitRepo, below: str) -> None:
    repo.git("config", "core.autocrlf", "true")
    (repo.path / below / "a.md").write_bytes(b"3\r\n")
    past = history(repo.path / below)
    assert past.diff(A, past.head()) == ""


def test_spans_are_those_of_git_log(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    spans = past.touched()
    log = subjects(repo, "--", str(Path(below) / "a.md"))
    assert [commit.id for commit in spans[A]] == [log[-1], log[0], log[0]]
    assert {address for address in spans if address in {A, B}} == {A, B}
    assert past.touched() == spans


def test_spans_are_continued_and_begun_anew(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    first = past.touched()[A][0]
    newer = repo.commit("Newer", **{str(Path(below) / "a.md"): "4\n"})
    assert [commit.id for commit in past.touched()[A]] == [first.id, newer, newer]
    repo.git("commit", "--quiet", "--amend", "-m", "Amended")
    assert past.touched()[A][1].message == "Amended\n"
    repo.git("reset", "--quiet", "--hard", first.id)
    assert past.touched()[A] == (first, first, first)


def test_a_history_with_merges_is_that_of_git_log(git_repo: MakeRepo) -> None:
    """Random branches and merges; each commit a minute after the one before."""
    repo = git_repo("merged", {"a.md": "0\n", "b.md": "0\n", "c.md": "0\n"})
    chance, branches = random.Random(11), ["main"]
    for number in range(40):
        when = f"{1_700_000_000 + 60 * number} +0000"
        repo.git("config", "user.name", f"Writer {number}")
        if chance.random() < 0.3 and len(branches) < 4:
            branches.append(f"branch-{number}")
            repo.git("switch", "--quiet", "--create", branches[-1])
        else:
            repo.git("switch", "--quiet", chance.choice(branches))
        dated = ["-c", f"alias.at=!GIT_COMMITTER_DATE='{when}' GIT_AUTHOR_DATE='{when}' git", "at"]
        if chance.random() < 0.3:
            repo.git(*dated, "merge", "--quiet", "-s", "recursive", "-X", "ours", "--no-edit", chance.choice(branches))
        else:
            repo.write(chance.choice(["a.md", "b.md", "c.md"]), f"{chance.randrange(4)}\n")
            repo.git(*dated, "commit", "--quiet", "--all", "--allow-empty", "-m", f"Change {number}")
    for branch in branches:
        repo.git("switch", "--quiet", branch)
        past = history(repo.path)
        for known_flag in (False, True):  # once the first commits are known, no walk goes further back than to them
            assert not known_flag or set(past.touched()) == {A, B, Address("c.md")}
            for name in ("a.md", "b.md", "c.md"):
                assert [c.id for c in past.log(Address(name), limit=99)] == subjects(repo, "--", name), (branch, name)


def test_a_shallow_clone_has_a_short_history(repo: GitRepo, below: str, tmp_path: Path) -> None:
    repo.git("clone", "--quiet", "--depth", "2", f"file://{repo.path}", str(tmp_path / "shallow"))
    past = history(tmp_path / "shallow" / below)
    assert len(past.log(None, limit=9)) >= 1
    assert past.touched()[A][0] == past.touched()[A][1]


def test_a_new_repository_and_a_plain_folder_have_none(git_repo: MakeRepo, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for folder in (git_repo("new").path, tmp_path / "plain"):
        past = history(folder)
        assert (past.available, past.head(), past.touched(), past.log(None, limit=5)) == (False, "", {}, [])
        with pytest.raises(NotFoundError):
            past.read(A, "0" * 40)
        with pytest.raises(NotFoundError):
            past.diff(A, "0" * 40)


def test_an_author_that_is_no_text_is_shown(git_repo: MakeRepo) -> None:
    repo = git_repo("odd", {"a.md": "1"})
    raw = repo.git("cat-file", "commit", "HEAD").replace("Test Writer", "M\u00fcller").encode("latin-1") + b"\xff\n"
    repo.write("commit", raw)
    identifier = repo.git("hash-object", "-w", "-t", "commit", "--literally", "commit")
    repo.git("update-ref", "HEAD", identifier)
    commit = history(repo.path).log(None, limit=1)[0]
    assert (commit.id, commit.author.name, commit.message) == (identifier, "M\ufffdller", "Begin\ufffd\n")


def test_the_work_tree_and_a_commit_are_compared_with_the_current_one(
    repo: GitRepo, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    past, prefix = history(repo.path / below), f"{below}/" if below else ""
    begun = repo.git("rev-list", "--max-parents=0", "HEAD")
    deleted = repo.git("log", "-1", "--format=%H", "--diff-filter=D")
    changed = repo.git("log", "-1", "--format=%H", "--grep=Change both")
    for most in (None, 0):
        if most is not None:
            monkeypatch.setattr("commonplace.store.git.past.document_spans.MAX_CACHED_CHANGES", most)
            past = history(repo.path / below)
        assert past.last_touching(among=[A, B]) is None
        past.touched()
        last = {(commit.addresses, commit.id, gone) for commit, gone in past.last_touching(among=[A, B, A]) or ()}
        assert last == {((A,), changed, False), ((B,), deleted, True)}, most
    assert (past.differing(begun), past.differing(changed), past.differing(past.head())) == ({A, B}, {B}, set())

    files = {"a.md": b"3\n", "c.md": b"new\n", "d/e.md": b"e\n", "d/f.png": b"f"}
    repo.commit(**{prefix + path: content for path, content in files.items() if path != "c.md"})
    repo.write(f"{prefix}c.md", files["c.md"])
    documents = {Address(path): revision_of(files[path]) for path in ("a.md", "c.md", "d/e.md")}
    assert past.working_changes(documents) == ({Address("c.md")}, set())
    repo.write(f"{prefix}a.md", "4\n")
    documents[A] = revision_of(b"4\n")
    for path in ("d/e.md", "d/f.png"):
        (repo.path / prefix / path).unlink()
    del documents[Address("d/e.md")]
    assert past.working_changes(documents) == ({A, Address("c.md")}, {Address("d/e.md")})
