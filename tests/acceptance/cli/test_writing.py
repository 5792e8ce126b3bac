"""Writing pages with the real command in a real repository."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from shell import Shell
from support import GitRepo, MakeRepo

IDEA = (
    "---\n# kept\nstatus: open # for now\ntags: [a]\n---\n# Idea\r\n\nThe first teh.\n\n"
    "## Plan\n\nOld plan.\n\n## End\n\nDone"
)


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("notes", {"idea.md": IDEA, "index.md": "# Index\n\nSee [[idea]] and [it](idea.md#Plan).\n"})


@pytest.fixture
def shell(repo: GitRepo) -> Shell:
    return Shell(repo.path)


def revision(shell: Shell, page: str) -> str:
    return shell.ok("read", page, "--json").json["revision"]


def test_a_new_page_is_one_commit_and_can_be_found(shell: Shell, repo: GitRepo) -> None:
    done = shell.ok("write", "new/page", "-m", "Add a page", "--json", stdin="# New\r\n\nno end")
    assert (repo.path / "new" / "page.md").read_bytes() == b"# New\r\n\nno end"
    assert done.json == {
        "collection": "notes",
        "path": "new/page.md",
        "id": "new/page",
        "revision": repo.git("rev-parse", "HEAD:new/page.md"),
        "commit": repo.git("rev-parse", "HEAD"),
        "action": "created",
        "updated": [],
    }
    assert repo.git("log", "-1", "--format=%s") == "Add a page"
    assert repo.git("status", "--porcelain") == ""
    assert shell.ok("search", "new", "--json").json["hits"][0]["path"] == "new/page.md"


def test_the_text_may_come_from_a_file(shell: Shell, repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "draft.md").write_text("# Draft\n")
    line = shell.ok("write", "draft.md", tmp_path / "draft.md").lines[0]
    head = repo.git("rev-parse", "HEAD")
    assert line == f"Created draft.md  revision {revision(shell, 'draft')[:10]}  commit {head[:10]}"
    assert repo.git("log", "-1", "--format=%s") == "Create: draft"


def test_a_page_is_never_overwritten_unseen(shell: Shell, repo: GitRepo) -> None:
    done = shell("write", "idea", "--json", stdin="gone")
    assert done.code == 5
    assert done.error["code"] == "already_exists"
    assert done.error["current_revision"] == revision(shell, "idea")
    assert "--revision" in done.error["hint"]
    assert (repo.path / "idea.md").read_bytes() == IDEA.encode()


def test_a_page_is_replaced_by_who_has_read_it(shell: Shell, repo: GitRepo) -> None:
    seen = revision(shell, "idea")
    assert shell.ok("write", "idea", "--revision", seen[:10], stdin="# Second\n").lines[0].startswith("Updated idea.md")
    late = shell("write", "idea", "--revision", seen, "--json", stdin="# Third\n")
    assert late.code == 5
    assert late.error["code"] == "conflict"
    assert late.error["current_revision"] == repo.git("rev-parse", "HEAD:idea.md")
    assert (repo.path / "idea.md").read_text() == "# Second\n"
    shell.ok("write", "idea", "--force", stdin="# Fourth\n")
    assert (repo.path / "idea.md").read_text() == "# Fourth\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "before", "after"),
    [
        (["--replace", "teh", "the"], "", "first teh.", "first the."),
        (["--set", "status=done"], "", "status: open # for now", "status: done # for now"),
        (["--section", "Plan", "--force"], "New plan.\n", "Old plan.", "New plan."),
        (["--append"], "More.", "Done", "Done\n\nMore."),
    ],
)
def test_an_edit_changes_only_its_own_bytes(
    shell: Shell, repo: GitRepo, arguments: list[str], stdin: str, before: str, after: str
) -> None:
    shell.ok("write", "idea", *arguments, stdin=stdin)
    assert IDEA.count(before) == 1
    changed = (repo.path / "idea.md").read_bytes().decode()
    assert changed.removesuffix("\n") == IDEA.replace(before, after)
    assert repo.git("rev-list", "--count", "HEAD") == "2"
    assert repo.git("status", "--porcelain") == ""


def test_several_fields_are_set_as_yaml_reads_them(shell: Shell) -> None:
    shell.ok("write", "idea", "--set", "tags=[b, c]", "--set", "size=3", "--set", "note=a: b", "--set", "status=")
    frontmatter = shell.ok("read", "idea", "--json").json["frontmatter"]
    assert frontmatter == {"tags": ["b", "c"], "size": 3, "note": "a: b"}


@pytest.mark.parametrize(
    ("value", "held"),
    [
        ("Ticket #12 fixed", "Ticket #12 fixed"), ("&x y", "&x y"), ("!x", "!x"), ("#moc", "#moc"), ("*b", "*b"),
        ("{{date}}", "{{date}}"), ("[[Home]]", "[[Home]]"), ("[[A]], [[B|x]]", "[[A]], [[B|x]]"), ("| x", "| x"),
        ('"a" # b', '"a" # b'), ("12 # x", "12 # x"), ("a: b # c", "a: b # c"), ("@x", "@x"), ("- x", "- x"),
        ("12", 12), ("true", True), ("2026-01-02", "2026-01-02"), ('"12"', "12"), ("[a, 'b #c']", ["a", "b #c"]),
        ("[[1, 2], [3]]", [[1, 2], [3]]), ("{a: 1}", {"a": 1}), ("", None), ("null", None), ("~", None),
    ],
)  # fmt: skip
@pytest.mark.sampled(6)
def test_no_part_of_a_value_is_dropped(shell: Shell, repo: GitRepo, value: str, held: object) -> None:
    shell.ok("write", "idea", "--set", f"topic={value}")
    assert shell.ok("read", "idea", "--json").json["frontmatter"].get("topic") == held
    if value == "[[Home]]":
        assert 'topic: "[[Home]]"' in (repo.path / "idea.md").read_text()


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("- [ ] a\n- [ ] b\n", "- [ ] c\n", "- [ ] a\n- [ ] b\n- [ ] c\n"),
        ("| a |\n|---|\n| 1 |\n", "| 2 |\n", "| a |\n|---|\n| 1 |\n| 2 |\n"),
        ("Text.\n", "More.\n", "Text.\n\nMore.\n"),
    ],
)
def test_an_appended_row_goes_directly_below_its_list_or_table(
    shell: Shell, repo: GitRepo, before: str, text: str, after: str
) -> None:
    (repo.path / "rows.md").write_text(before)
    shell.ok("write", "rows", "--append", stdin=text)
    assert (repo.path / "rows.md").read_text() == after


@pytest.mark.parametrize(
    ("ignored", "page", "pattern"),
    [("private/\n", "private/deep/new", "!/private/"), ("*.tmp.md\n", "x/a.tmp.md", "!/x/a.tmp.md")],
)
def test_the_pattern_that_an_error_names_includes_the_ignored_page(
    shell: Shell, repo: GitRepo, ignored: str, page: str, pattern: str
) -> None:
    (repo.path / ".gitignore").write_text(ignored)
    stderr = shell("write", page, stdin="# New\n").stderr
    assert f"include it with {pattern} in .commonplaceignore" in stderr
    (repo.path / ".commonplaceignore").write_text(f"{pattern}\n")
    shell.ok("write", page, stdin="# New\n")
    assert shell.ok("read", page).text == "# New\n"


def test_the_same_text_again_changes_nothing(shell: Shell, repo: GitRepo) -> None:
    done = shell.ok("write", "idea", "--set", "status=open", "--json")
    assert (done.json["action"], done.json["commit"]) == ("unchanged", "")
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_a_rename_takes_its_links_along_in_one_commit(shell: Shell, repo: GitRepo) -> None:
    done = shell.ok("write", "idea", "--rename", "archive/idea-1", "--json").json
    assert (done["action"], done["path"], done["updated"]) == ("renamed", "archive/idea-1.md", ["index.md"])
    assert repo.git("rev-list", "--count", "HEAD") == "2"
    index = (repo.path / "index.md").read_text()
    assert index == "# Index\n\nSee [[idea-1]] and [it](archive/idea-1.md#Plan).\n"
    assert shell.ok("links", "--broken").text == ""
    assert shell("write", "archive/idea-1", "--rename", "index.md").code == 5


def test_a_page_with_a_decomposed_name_is_written_in_place(shell: Shell, repo: GitRepo) -> None:
    decomposed = unicodedata.normalize("NFD", "Café.md")
    (repo.path / decomposed).write_text("# Coffee\n")
    assert shell.ok("write", "Café", "--append", "--json", stdin="Strong.\n").json["path"] == decomposed
    assert (repo.path / decomposed).read_text() == "# Coffee\n\nStrong.\n"
    assert not (repo.path / "Café.md").exists()
    assert shell.ok("mv", "Café", "Kaffee", "--json").json["path"] == "Kaffee.md"


def test_a_page_that_is_not_utf8_does_not_prevent_a_rename_and_is_named(shell: Shell, repo: GitRepo) -> None:
    latin = "# Café\n\nSee [it](idea.md).\n".encode("latin-1")
    (repo.path / "latin.md").write_bytes(latin)
    would = shell.ok("mv", "idea", "archive/plan", "--dry-run")
    assert "Links would not be rewritten in latin.md: not UTF-8, and never changed." in would.text
    done = shell.ok("mv", "idea", "archive/plan", "--json").json
    assert (done["updated"], done["not_rewritten"]) == (["index.md"], ["latin.md"])
    assert shell.ok("mv", "latin", "archive/latin").code == 0
    assert (repo.path / "archive/latin.md").read_bytes() == latin


def test_a_rename_onto_a_name_that_is_elsewhere_takes_no_links_over(shell: Shell, repo: GitRepo) -> None:
    shell.ok("write", "a/Compost", stdin="Of the garden.\n")
    shell.ok("write", "b/Router", stdin="# Router\n")
    linking = shell.ok("write", "c", stdin="[[Compost]] [[Ghost]]\n")
    assert "Links" not in linking.text
    would = shell.ok("mv", "b/Router", "./Compost", "--dry-run").text
    assert "Would rewrite links in c.md (to another page of that name: they give its path)" in would
    done = shell.ok("mv", "b/Router", "./Compost").text
    assert "Rewrote links in c.md (to another page of that name: they give its path)" in done
    assert (repo.path / "c.md").read_text() == "[[a/Compost]] [[Ghost]]\n"
    assert "Would lead links here that lead nowhere, in c.md" in shell.ok("mv", "idea", "Ghost", "--dry-run").text
    assert "Links that led nowhere now lead here in c.md" in shell.ok("mv", "idea", "Ghost").text
    assert "Renamed a/Heap.md" in shell.ok("mv", "a/Compost", "Heap").text, "a mere name keeps the folder"
    (repo.path / "c.md").write_text("[[Compost]] [[Heap]]\n")
    assert "Would lead links in c.md to a/Heap.md" not in shell.ok("rm", "Compost", "--dry-run").text
    shell.ok("new", "Heap.md")
    assert "Would lead links in c.md to a/Heap.md" in shell.ok("rm", "Heap", "--dry-run").text
    refused = shell("mv", "Ghost", "a")
    assert (refused.code, "'a' is a folder" in refused.stderr, "'a/'" in refused.stderr) == (4, True, True)


def test_a_mere_name_makes_no_second_page(shell: Shell, repo: GitRepo) -> None:
    shell.ok("write", "a/Compost", stdin="Of the garden.\n")
    for command in (("write", "Compost"), ("new", "Compost")):
        refused = shell(*command, stdin="x")
        assert refused.code == 5
        assert "There is a page of this name: a/Compost.md." in refused.stderr
    assert not (repo.path / "Compost.md").exists()
    shell.ok("write", "c", stdin="[[Compost]]\n")
    assert "Links to a/Compost.md now lead here in c.md" in shell.ok("new", "Compost.md").text


def test_a_deletion_wants_to_have_been_meant(shell: Shell, repo: GitRepo) -> None:
    refused = shell("write", "idea", "--delete")
    assert refused.code == 5
    assert (repo.path / "idea.md").exists()
    done = shell.ok("write", "idea", "--delete", "--revision", revision(shell, "idea"), "--json").json
    assert (done["action"], done["revision"]) == ("deleted", "")
    assert not (repo.path / "idea.md").exists()
    assert shell("read", "idea").code == 3
    assert shell.ok("read", "idea", "--at", repo.git("rev-parse", "HEAD~1")).stdout == IDEA.encode()


def test_a_write_can_be_left_to_the_users_own_commit(shell: Shell, repo: GitRepo) -> None:
    done = shell.ok("write", "idea", "--append", "--no-commit", "--json", stdin="More.\n").json
    assert done["commit"] == ""
    assert repo.git("status", "--porcelain") == " M idea.md"


def test_without_git_a_write_is_a_file(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    done = shell.ok("write", "a", "--json", stdin="# A\n").json
    assert (done["action"], done["commit"]) == ("created", "")
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


def test_what_is_staged_elsewhere_stays_staged(shell: Shell, repo: GitRepo) -> None:
    repo.write("index.md", "# Index, staged\n")
    repo.git("add", "index.md")
    shell.ok("write", "idea", "--append", stdin="More.\n")
    assert repo.git("status", "--porcelain") == "M  index.md"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["gone", "--append"], 3, "no document 'gone'"),
        (["gone", "--revision", "1234567"], 3, "no document 'gone'"),
        (["idea", "--revision", "zzz"], 4, "Invalid revision"),
        (["idea", "--replace", "nowhere", "x"], 4, ""),
        (["idea", "--section", "Nowhere", "--force"], 3, ""),
        (["idea", "--append", "--delete"], 2, "--append and --delete cannot be combined"),
        (["idea", "file.md", "--delete"], 2, "--delete takes no FILE"),
        (["idea", "--set", "status"], 2, "expected KEY=VALUE"),
        (["idea", "--rename", "../out"], 4, "Invalid path"),
        (["../out"], 4, "Invalid path"),
        ([".git/config"], 4, "Invalid path"),
        (["new", "/nowhere/file.md"], 3, "There is no file 'file.md'"),
    ],
)
def test_what_cannot_be_written_is_refused_and_changes_nothing(
    shell: Shell, repo: GitRepo, arguments: list[str], code: int, says: str
) -> None:
    done = shell("write", *arguments, stdin="text\n")
    assert (done.code, done.stdout) == (code, b"")
    assert says in done.stderr
    assert str(repo.path) not in done.stderr
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_text_that_is_no_utf8_is_refused(shell: Shell, repo: GitRepo) -> None:
    assert shell("write", "latin", stdin=b"caf\xe9\n").code == 4
    assert not (repo.path / "latin.md").exists()


def test_the_log_tells_who_what_and_when(shell: Shell, repo: GitRepo) -> None:
    shell.ok("write", "idea", "--replace", "teh", "the", "-m", "Mend a word\n\nAt length.")
    commits = shell.ok("log", "idea", "--json").json["commits"]
    assert [commit["message"].splitlines()[0] for commit in commits] == ["Mend a word", "Begin"]
    assert list(commits[0]) == ["collection", "commit", "author", "email", "date", "message", "path"]
    assert (commits[0]["author"], commits[0]["commit"]) == ("Test Writer", repo.git("rev-parse", "HEAD"))
    assert commits[0]["date"].endswith("Z")
    lines = shell.ok("log", "--limit", "1").lines
    assert lines[0].startswith(repo.git("rev-parse", "HEAD")[:10])
    assert lines[0].endswith("Test Writer  Mend a word")


def test_a_difference_is_shown_as_git_shows_it(shell: Shell, repo: GitRepo) -> None:
    old = repo.git("rev-parse", "HEAD")
    shell.ok("write", "idea", "--replace", "teh", "the")
    new = repo.git("rev-parse", "HEAD")
    diff = shell.ok("log", "idea", "--diff", f"{old}..{new}").lines
    assert [line for line in diff if line[:1] in "+-" and line[:3] not in {"+++", "---"}] == [
        "-The first teh.",
        "+The first the.",
    ]
    repo.write("idea.md", "# Changed by hand\n")
    now = shell.ok("log", "idea", "--diff", new[:8], "--json").json
    assert (now["from"], now["to"]) == (new[:8], "")
    assert "+# Changed by hand" in now["diff"]
    assert shell("log", "idea", "--diff", "--output=/tmp/x").code == 4
    assert shell("log", "--diff", old).code == 2


def test_several_folders_cannot_be_written_at_once(shell: Shell, tmp_path: Path) -> None:
    done = shell("write", "a", "-C", shell.folder, "-C", tmp_path, stdin="x")
    assert done.code == 2
    assert "Name it: --kb PATH." in done.stderr


def test_a_page_comes_back_as_it_was_and_loose_text_is_never_lost(shell: Shell, repo: GitRepo) -> None:
    first = repo.git("rev-parse", "HEAD")
    shell.ok("write", "idea", "--force", stdin="# Other\n")
    with (repo.path / "idea.md").open("a") as file:
        file.write("loose\n")
    refused = shell("restore", "idea", "--at", first[:8], "--json")
    assert (refused.code, refused.error["code"]) == (5, "conflict")
    assert (repo.path / "idea.md").read_text() == "# Other\nloose\n"
    done = shell.ok("restore", "idea", "--at", first[:8], "--force", "--json").json
    assert (repo.path / "idea.md").read_bytes() == IDEA.encode()
    assert (done["action"], done["commit"]) == ("updated", repo.git("rev-parse", "HEAD"))
    assert repo.git("log", "-1", "--format=%s") == f"Restore: idea at {first[:8]}"
    assert shell.ok("restore", "idea", "--at", first, "--json").json["action"] == "unchanged"
    shell.ok("write", "idea", "--delete", "--force")
    assert shell.ok("restore", "idea.md", "--at", first, "--json").json["action"] == "created"
    assert repo.git("status", "--porcelain") == ""
    assert shell("restore", "idea", "--at", "0123456789").code == 3
    assert shell("restore", "idea", "--at", "--output=x").code == 4


def test_a_dry_run_of_a_rename_tells_what_would_change_and_changes_nothing(shell: Shell, repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")
    plan = shell.ok("write", "idea", "--rename", "archive/idea", "--dry-run", "--json").json
    assert (plan["action"], plan["path"], plan["updated"]) == ("planned", "archive/idea.md", ["index.md"])
    assert shell.ok("write", "idea", "--rename", "archive/idea", "--dry-run").lines == [
        "Would rename idea.md to archive/idea.md",
        "Would rewrite links in index.md",
    ]
    assert (repo.git("rev-parse", "HEAD"), repo.git("status", "--porcelain")) == (head, "")
    assert shell("write", "idea", "--append", "--dry-run", stdin="x").code == 2
    done = shell.ok("write", "idea", "--rename", "archive/idea", "--json").json
    assert done["updated"] == plan["updated"]
