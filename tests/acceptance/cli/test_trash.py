"""Bytes that commands delete or replace and that no commit has: named in the answer, listed, and restored."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from commonplace.domain.revisions import revision_of
from shell import Shell
from support import GitRepo, MakeRepo

TEXT = "# Draft\n\nprecious, no line end"


@pytest.fixture(autouse=True)
def own_state(cache_dir: Path) -> Path:
    """A trash of the test's own."""
    del cache_dir
    return Path(os.environ["XDG_STATE_HOME"])


@pytest.fixture
def plain(tmp_path: Path) -> Shell:
    """A folder without Git with one page."""
    GitRepo(tmp_path / "plain").write("notes/draft.md", TEXT)
    return Shell(tmp_path / "plain")


def test_a_deleted_page_is_listed_and_comes_back_byte_for_byte(plain: Shell, own_state: Path) -> None:
    revision = revision_of(TEXT.encode())
    lines = plain.ok("write", "notes/draft", "--delete", "--force").lines
    assert lines[0].startswith("Deleted notes/draft.md")
    assert lines[1].startswith("No commit had the old text of notes/draft.md: it is kept until 20")
    assert lines[1].endswith(f"revision {revision}: commonplace restore notes/draft.md --at {revision[:12]}")
    assert stat.S_IMODE((own_state / "commonplace" / "trash").stat().st_mode) == 0o700
    (item,) = plain.ok("restore", "--json").json["items"]
    assert (item["collection"], item["path"], item["revision"], item["size"], item["loss"]) == (
        "plain",
        "notes/draft.md",
        revision,
        len(TEXT),
        "deleted",
    )
    assert item["when"] < item["until"]
    assert plain.ok("restore").lines[0].startswith(f"notes/draft.md  {revision[:10]}  deleted 20")
    done = plain.ok("restore", "notes/draft.md", "--json").json
    assert (done["path"], done["revision"], done["from"], done["action"]) == (
        "notes/draft.md",
        revision,
        revision,
        "created",
    )
    assert (plain.folder / "notes/draft.md").read_text() == TEXT
    assert plain.ok("read", "notes/draft").text == TEXT
    assert plain.ok("restore", "--json").json == {"items": []}
    assert "The trash is empty" in plain.ok("restore").stderr


@pytest.mark.parametrize("reference", ["notes/draft", "notes/draft.md", "./notes/draft.md", "draft.md", "draft", "ID"])
def test_it_is_named_by_path_id_name_or_revision(plain: Shell, reference: str) -> None:
    plain.ok("write", "notes/draft", "--delete", "--force")
    plain.ok("restore", revision_of(TEXT.encode())[:8] if reference == "ID" else reference)
    assert (plain.folder / "notes/draft.md").read_text() == TEXT


def test_nothing_that_is_there_is_overwritten(plain: Shell) -> None:
    plain.ok("write", "notes/draft", "--delete", "--force")
    plain.ok("write", "notes/draft", stdin="# Another\n")
    for arguments in (["notes/draft"], ["notes/draft", "--at", revision_of(TEXT.encode())], ["draft"]):
        refused = plain("restore", *arguments, "--json")
        assert refused.code == 5
        assert refused.error["code"] == "already_exists"
        assert (plain.folder / "notes/draft.md").read_text() == "# Another\n"
    plain.ok("restore", "notes/draft", "--to", "notes/back")
    assert (plain.folder / "notes/back.md").read_text() == TEXT
    assert (plain.folder / "notes/draft.md").read_text() == "# Another\n"


def test_force_exchanges_the_file_and_what_the_trash_keeps(plain: Shell) -> None:
    plain.ok("write", "notes/draft", "--force", stdin="# Another\n")
    command = plain.ok("restore", "--json").json["items"][0]
    done = plain.ok("restore", "notes/draft.md", "--at", command["revision"][:12], "--force", "--json").json
    assert (done["action"], done["revision"]) == ("updated", revision_of(TEXT.encode()))
    assert (plain.folder / "notes/draft.md").read_text() == TEXT
    (kept_value,) = done["kept"]
    assert kept_value["revision"] == revision_of(b"# Another\n")
    (item,) = plain.ok("restore", "--json").json["items"]
    assert item["revision"] == revision_of(b"# Another\n")


def test_of_several_the_newest_comes_back_and_any_by_its_revision(plain: Shell) -> None:
    for text in ("first", "second"):
        plain.ok("write", "page", stdin=text)
        plain.ok("write", "page", "--delete", "--force")
    assert [item["revision"] for item in plain.ok("restore", "--json").json["items"]] == [
        revision_of(b"second"),
        revision_of(b"first"),
    ]
    plain.ok("restore", "page")
    assert (plain.folder / "page.md").read_text() == "second"
    plain.ok("restore", "page", "--at", revision_of(b"first")[:7], "--to", "older")
    assert (plain.folder / "older.md").read_text() == "first"


def test_a_name_that_several_paths_have_is_refused_with_them(plain: Shell) -> None:
    plain.ok("write", "other/draft", stdin="other")
    for page in ("notes/draft", "other/draft"):
        plain.ok("write", page, "--delete", "--force")
    refused = plain("restore", "draft")
    assert refused.code != 0
    assert "notes/draft.md, other/draft.md" in refused.stderr


@pytest.mark.parametrize(
    "arguments", [["none"], ["0123456"], ["--at", "0123456"], ["--to", "x"], ["none", "--to", "x"]]
)
def test_what_is_not_there_is_refused_without_a_trace(plain: Shell, arguments: list[str]) -> None:
    refused = plain("restore", *arguments)
    assert refused.code not in {0, 1}
    assert "Error: " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_what_is_replaced_unseen_is_kept_without_git_too(plain: Shell) -> None:
    (kept_value,) = plain.ok("write", "notes/draft", "--force", "--json", stdin="# New\n").json["kept"]
    assert (kept_value["path"], kept_value["revision"]) == ("notes/draft.md", revision_of(TEXT.encode()))
    plain.ok("restore", "notes/draft", "--to", "old")
    assert (plain.folder / "old.md").read_text() == TEXT


def test_a_write_that_commits_keeps_what_was_edited_and_never_committed(git_repo: MakeRepo) -> None:
    repo: GitRepo = git_repo("repo", {"a.md": "# A\n"})
    repo.write("a.md", TEXT)
    shell = Shell(repo.path)
    (rest,) = shell.ok("write", "a", "--force", "--json", stdin="# New\n").json["kept"]
    assert (rest["path"], rest["revision"], rest["place"]) == ("a.md", revision_of(TEXT.encode()), "trash")
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("cat-file", "blob", rest["revision"]) == TEXT
    command = rest["restore"].split()
    refused = shell(*command[1:])
    assert refused.code == 5
    shell.ok(*command[1:], "--to", "b")
    assert (repo.path / "b.md").read_text() == TEXT
    assert repo.git("log", "-1", "--format=%s") == "Restore: b"


def test_a_deletion_names_the_commit_that_has_the_last_text_and_restore_finds_it(git_repo: MakeRepo) -> None:
    repo: GitRepo = git_repo("repo", {"a.md": "# A\n", "b.md": "x"})
    head = repo.git("rev-parse", "HEAD")
    shell = Shell(repo.path)
    (rest,) = shell.ok("write", "a", "--delete", "--force", "--json").json["kept"]
    assert (rest["place"], rest["commit"], rest["revision"]) == ("commit", head, revision_of(b"# A\n"))
    assert shell.ok("restore", "--json").json == {"items": []}
    done = shell.ok("restore", "a", "--json").json
    assert (done["from"], done["action"]) == (head, "created")
    assert (repo.path / "a.md").read_text() == "# A\n"
    there = shell("restore", "a")
    assert there.code == 5
    assert "--at REV" in there.stderr


def test_a_page_that_was_committed_and_deleted_later_comes_back_from_history(git_repo: MakeRepo) -> None:
    repo: GitRepo = git_repo("repo", {"b.md": "x"})
    repo.write("a.md", TEXT)
    shell = Shell(repo.path)
    shell.ok("write", "a", "--delete", "--force", "--no-commit")
    later = {"GIT_AUTHOR_DATE": "2099-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2099-01-01T00:00:00Z"}
    Shell(repo.path, later).ok("write", "a", stdin="# Committed\n")
    Shell(repo.path, later).ok("write", "a", "--delete", "--force")
    shell.ok("restore", "a")
    assert (repo.path / "a.md").read_text() == "# Committed\n"


def test_a_forced_restore_sends_uncommitted_text_to_the_trash(git_repo: MakeRepo) -> None:
    repo: GitRepo = git_repo("repo", {"a.md": "# A\n"})
    head = repo.git("rev-parse", "HEAD")
    repo.write("a.md", TEXT)
    shell = Shell(repo.path)
    assert shell("restore", "a", "--at", head).code == 5
    (kept_value,) = shell.ok("restore", "a", "--at", head, "--force", "--json").json["kept"]
    assert kept_value["revision"] == revision_of(TEXT.encode())
    assert (repo.path / "a.md").read_text() == "# A\n"
    shell.ok("restore", kept_value["revision"], "--to", "mine")
    assert (repo.path / "mine.md").read_text() == TEXT
