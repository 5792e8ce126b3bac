"""`commonplace diff`: between two states of a page, or since the last commit."""

from __future__ import annotations

from shell import Shell
from support import GitRepo


def test_without_a_revision_it_is_what_no_commit_has(shell: Shell, repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")
    nothing = shell.ok("diff", "idea")
    assert nothing.text == ""
    assert nothing.stderr == f"Nothing since commit {head[:10]}; see what it changed: --from REV.\n"
    repo.write("lonely.md", "# Lonely\n\nSomebody names it.\n")
    json = shell.ok("diff", "Lonely", "--json").json
    assert (json["collection"], json["path"], json["from"], json["to"]) == ("notes", "lonely.md", head, "")
    assert [line for line in json["diff"].splitlines() if line[:1] in "+-" and line[1:2] != line[:1]] == [
        "-Nobody names it.",
        "+Somebody names it.",
    ]


def test_between_two_commits_nothing_newer_shows(shell: Shell, repo: GitRepo) -> None:
    old = repo.git("rev-parse", "HEAD")
    new = repo.commit("Change", **{"lonely.md": "# Lonely\n\nTwo.\n"})
    repo.write("lonely.md", "# Lonely\n\nThree.\n")
    between = shell.ok("diff", "lonely", "--from", old, "--to", new).text
    assert "+Two." in between
    assert "Three" not in between
    assert "+Three." in shell.ok("diff", "lonely", "--from", new[:7]).text
    for moment in ("HEAD~1", f"before {new}"):
        assert shell.ok("diff", "lonely", "--from", moment, "--to", "HEAD").text == between
        assert shell.ok("log", "lonely", "--diff", f"{moment}..HEAD").text == between
    same = shell.ok("diff", "lonely", "--from", new, "--to", new)
    assert (same.text, same.stderr) == ("", "No difference.\n")


def test_a_page_that_was_deleted_is_named_by_its_path(shell: Shell, repo: GitRepo) -> None:
    old = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "lonely.md")
    repo.commit("Delete")
    assert "-Nobody names it." in shell.ok("diff", "lonely.md", "--from", old).text


def test_a_page_that_never_was_and_a_revision_that_is_none_are_refused(shell: Shell) -> None:
    missing = shell("diff", "lonley", "--json")
    assert (missing.code, missing.error["nearest"][0]) == (3, "lonely")
    for code, revision in ((4, "main"), (4, "12"), (3, "0" * 40)):
        done = shell("diff", "lonely", "--from", revision)
        assert (done.code, done.text) == (code, ""), done


def test_without_a_page_it_is_all_that_no_commit_has(shell: Shell, repo: GitRepo) -> None:
    done = shell.ok("diff")
    assert (done.text, done.stderr) == ("", "Everything is committed.\n")
    assert shell.ok("diff", "--json").json == {"uncommitted": []}
    repo.write("idea.md", "# Another idea\n")
    repo.write("new.md", "# New\n")
    (repo.path / "lonely.md").unlink()
    rows = shell.ok("diff", "--json").json["uncommitted"]
    assert [(row["path"], row["change"]) for row in rows] == [
        ("idea.md", "modified"),
        ("lonely.md", "deleted"),
        ("new.md", "new"),
    ]
    assert {row["from"] for row in rows} == {repo.git("rev-parse", "HEAD")}
    done = shell.ok("diff")
    assert done.stderr == "Not committed: 1 modified, 1 new, 1 deleted.\n"
    assert all(line in done.lines for line in ("+# Another idea", "-Nobody names it.", "+# New"))
    refused = shell("diff", "--from", rows[0]["from"])
    assert (refused.code, "--from and --to go with PAGE" in refused.stderr) == (2, True)
