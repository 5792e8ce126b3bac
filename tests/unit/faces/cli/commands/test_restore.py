"""`commonplace restore`: from a commit, and from the trash."""

from __future__ import annotations

import pytest

from shell import Shell
from support import GitRepo


def test_a_deleted_page_comes_back_as_it_last_was_committed(shell: Shell, repo: GitRepo) -> None:
    text = (repo.path / "lonely.md").read_bytes()
    shell.ok("rm", "lonely", "--force")
    assert not (repo.path / "lonely.md").exists()
    json = shell.ok("restore", "lonely.md", "--json").json
    assert (json["path"], json["action"], json["commit"]) == ("lonely.md", "created", repo.git("rev-parse", "HEAD"))
    assert (repo.path / "lonely.md").read_bytes() == text


def test_what_no_commit_has_comes_back_from_the_trash_under_another_name_too(shell: Shell, repo: GitRepo) -> None:
    empty = shell.ok("restore")
    assert (empty.text, empty.stderr) == ("", "The trash is empty.\n")
    repo.write("draft.md", "# Draft\n\nNever committed.\n")
    shell.ok("rm", "draft", "--force")
    (item,) = shell.ok("restore", "--json").json["items"]
    assert (item["path"], item["loss"], item["size"]) == ("draft.md", "deleted", 26)
    assert item["when"] < item["until"]
    assert shell.ok("restore").text.startswith(f"draft.md  {item['revision'][:10]}  deleted ")
    shell.ok("restore", item["revision"][:10], "--to", "drafts/again.md")
    assert (repo.path / "drafts" / "again.md").read_text() == "# Draft\n\nNever committed.\n"
    assert not (repo.path / "draft.md").exists()
    assert shell.ok("restore", "--json").json["items"] == []


def test_an_older_state_is_a_new_commit_and_the_same_state_is_none(shell: Shell, repo: GitRepo) -> None:
    old = repo.git("rev-parse", "HEAD")
    repo.commit("Rewrite", **{"lonely.md": "# Rewritten\n"})
    done = shell.ok("restore", "lonely", "--at", old, "-m", "Take it back", "--json").json
    assert (done["action"], done["from"]) == ("updated", old)
    assert repo.git("log", "-1", "--format=%s") == "Take it back"
    again = shell.ok("restore", "lonely", "--at", old)
    assert again.text.startswith("Unchanged lonely.md")
    assert repo.git("rev-list", "--count", "HEAD") == "3"


def test_text_that_no_commit_has_is_not_replaced_without_force(shell: Shell, repo: GitRepo) -> None:
    old = repo.git("rev-parse", "HEAD")
    repo.write("lonely.md", "# Uncommitted\n")
    assert shell("restore", "lonely", "--at", old).code == 5
    assert (repo.path / "lonely.md").read_text() == "# Uncommitted\n"
    json = shell.ok("restore", "lonely", "--at", old, "--force", "--json").json
    assert [element["path"] for element in json["kept"]] == ["lonely.md"]
    assert [element["loss"] for element in shell.ok("restore", "--json").json["items"]] == ["replaced"]


@pytest.mark.parametrize(
    ("code", "arguments", "says"),
    [
        (2, ["--at", "1234567"], "Which page?"),
        (2, ["--to", "a.md"], "Which page?"),
        (5, ["lonely"], "lonely.md is there"),
        (3, ["never.md"], "no commit has it"),
        (3, ["lonely", "--to", "b.md"], "The trash has no 'lonely'"),
        (4, ["lonely", "--at", "HEAD~~"], "'HEAD~~' is no moment of the past."),
    ],
)
def test_what_cannot_be_restored_says_why(shell: Shell, code: int, arguments: list[str], says: str) -> None:
    done = shell("restore", *arguments)
    assert (done.code, done.text) == (code, ""), done
    assert says in done.stderr
