"""`commonplace links`: of a page, and of all pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import Shell
from support import GitRepo


def test_only_the_asked_direction_is_answered(shell: Shell) -> None:
    both = shell.ok("links", "idea", "--json").json
    assert (both["page"]["path"], both["out"], [value["path"] for value in both["back"]]) == (
        "idea.md",
        [],
        ["index.md"],
    )
    assert set(shell.ok("links", "idea", "--out", "--json").json) == {"page", "out"}
    back = shell.ok("links", "idea", "--back", "--json").json
    assert set(back) == {"page", "back"}
    assert back["back"][0]["sentence"].startswith("See ")
    assert shell.ok("links", "index", "--back").stderr == "No links.\n"


def test_a_broken_link_has_no_page_at_its_end(shell: Shell) -> None:
    found_value = shell.ok("links", "index", "--out", "--json").json["out"]
    broken = [element for element in found_value if element["broken"]]
    assert [(element["target"], element["path"], element["title"], element["collection"]) for element in broken] == [
        ("not written", None, None, None)
    ]
    assert "-> not written  (broken)" in shell.ok("links", "index").lines


def test_links_to_one_page_stand_on_one_line_with_each_sentence(shell: Shell, repo: GitRepo) -> None:
    repo.write("index.md", "# Index\n\nFirst [[idea]].\n\nThen [again](idea.md).\n\nFirst [[idea]].\n")
    assert shell.ok("links", "index", "--out").lines == ["-> idea.md  Idea"]
    assert shell.ok("links", "idea", "--back").lines == [
        "<- index.md  Index",
        "     First idea.",
        "     Then again.",
    ]


def test_broken_links_of_one_page_or_of_all(shell: Shell, repo: GitRepo) -> None:
    repo.write("lonely.md", "# Lonely\n\n[gone](gone.md)\n")
    assert shell.ok("links", "--broken").lines == ["index.md:3: not written", "lonely.md:3: gone.md"]
    only = shell.ok("links", "lonely", "--broken", "--json").json
    assert only == {
        "total": 1,
        "broken": [{"collection": "notes", "path": "lonely.md", "line": 3, "target": "gone.md"}],
    }
    assert shell.ok("links", "idea", "--broken").stderr == "No broken links.\n"


def test_with_several_folders_a_broken_link_names_its_folder(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    done = shell.ok("links", "--broken", "-C", shell.folder, "-C", tmp_path / "other")
    assert done.lines == ["notes:index.md:3: not written"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing PAGE"),
        (["idea", "--orphans"], "--orphans is about all pages"),
        (["idea", "--out", "--back"], "--out and --back cannot be combined"),
        (["--broken", "--orphans"], "--broken and --orphans cannot be combined"),
    ],
)
def test_what_makes_no_question_is_refused(shell: Shell, arguments: list[str], says: str) -> None:
    done = shell("links", *arguments)
    assert (done.code, done.text) == (2, "")
    assert says in done.stderr


def test_links_of_the_past_are_those_of_that_commit(shell: Shell, repo: GitRepo) -> None:
    then = repo.git("rev-parse", "HEAD")
    repo.commit("Write it", **{"not written.md": "# Now\n", "lonely.md": "# Lonely\n\n[[idea]]\n"})
    assert shell.ok("links", "--broken", "--json").json["total"] == 0
    past = shell.ok("links", "--broken", "--at", then, "--json").json
    assert (past["total"], past["at"]) == (1, {"notes": then})
    assert shell.ok("links", "--orphans", "--at", then).lines == [
        "index.md\tIndex\t\t\t",
        "lonely.md\tLonely\t\t\t",
    ]


def test_a_link_to_a_heading_that_is_gone_is_marked(shell: Shell, repo: GitRepo) -> None:
    repo.write("index.md", "# Index\n\n[[idea#Gone]] and [[idea#Idea]].\n")
    assert "     #Gone  (not there)" in shell.ok("links", "index", "--out").lines
    assert "     #Gone  (not there)" in shell.ok("links", "idea", "--back").lines
    assert "#Idea  (not there)" not in shell.ok("links", "index").text
