"""`commonplace write`: ways that exclude each other, plans, and what is written."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.faces.cli.commands.write import EditOptions
from shell import Shell
from support import GitRepo


def test_one_way_of_changing_a_page_is_chosen() -> None:
    assert EditOptions().chosen_option == ""
    assert EditOptions(section="").chosen_option == "--section"
    assert EditOptions(rename="").chosen_option == "--rename"
    with pytest.raises(ConfigError, match="--append and --delete cannot be combined"):
        _ = EditOptions(append=True, delete=True).chosen_option


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["idea", "text.md", "--rename", "other"], "--rename takes no FILE"),
        (["idea", "text.md", "--set", "a=b"], "--set takes no FILE"),
        (["idea", "--append", "--dry-run"], "--dry-run goes with"),
        (["idea", "--set", "status"], "expected KEY=VALUE"),
        (["idea", "--set", "=x"], "expected KEY=VALUE"),
        (["idea", "--append", "--section", "Plan"], "cannot be combined"),
        (["idea", "-C", ".", "-C", "drinks", "--append"], "Several folders are open"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    shell: Shell, repo: GitRepo, arguments: list[str], says: str
) -> None:
    done = shell("write", *arguments, stdin="x")
    assert (done.code, done.text) == (2, ""), done
    assert says in done.stderr
    assert repo.git("status", "--porcelain") == ""


def test_fields_are_set_as_yaml_reads_them_and_taken_out(shell: Shell, repo: GitRepo) -> None:
    shell.ok("write", "idea", "--set", "tags=[a, b]", "--set", "count=3", "--set", "note=a: b", "--set", "date=")
    text = (repo.path / "idea.md").read_text()
    frontmatter = shell.ok("read", "idea", "--json").json["frontmatter"]
    assert (frontmatter["tags"], frontmatter["count"], frontmatter["note"], "date" in frontmatter) == (
        ["a", "b"],
        3,
        "a: b",
        False,
    )
    assert text.endswith("## End\n\nDone\n")
    assert shell.ok("write", "idea", "--set", "count=3", "--json").json["action"] == "unchanged"


def test_text_is_not_taken_away_unseen_but_the_same_text_is_no_loss(shell: Shell, repo: GitRepo) -> None:
    same = (repo.path / "lonely.md").read_bytes()
    assert shell.ok("write", "lonely", "--json", stdin=same).json["action"] == "unchanged"
    for code, arguments in ((5, ["lonely"]), (5, ["idea", "--section", "Plan"]), (5, ["lonely", "--delete"])):
        done = shell("write", *arguments, "--json", stdin="other")
        assert done.code == code
        assert done.error["current_revision"]
    assert repo.git("status", "--porcelain") == ""
    revision = shell.ok("read", "lonely", "--json").json["revision"]
    assert shell.ok("write", "lonely", "--revision", revision, "--json", stdin="other").json["action"] == "updated"
    assert shell("write", "lonely", "--revision", revision, stdin="third").code == 5


def test_a_plan_names_the_pages_whose_links_change_and_changes_nothing(shell: Shell, repo: GitRepo) -> None:
    planned = shell.ok("write", "idea", "--rename", "thoughts/", "--dry-run", "--json").json
    assert (planned["action"], planned["path"], planned["updated"]) == ("planned", "thoughts/idea.md", [])
    renamed = shell.ok("write", "idea", "--rename", "thought", "--dry-run").lines
    assert renamed == ["Would rename idea.md to thought.md", "Would rewrite links in index.md"]
    deleted = shell.ok("write", "idea", "--delete", "--dry-run").lines
    assert deleted == ["Would delete idea.md", "Would break links in index.md"]
    assert repo.git("status", "--porcelain") == ""


def test_a_file_is_written_without_a_commit_if_so_wished(shell: Shell, repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")
    done = shell.ok("write", "new", "--no-commit", "--json", stdin="# New\n").json
    assert (done["commit"], done["action"]) == ("", "created")
    assert (repo.git("rev-parse", "HEAD"), repo.git("status", "--porcelain")) == (head, "?? new.md")
