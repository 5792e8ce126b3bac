"""Finding and reading pages with the real command on a real folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shell import Shell
from support import new_repo

PAGES = {
    "welcome.md": (
        "---\ntitle: Welcome\ntags: [start, house/rules]\ntype: guide\ndate: 2024-05-01\n---\n# Welcome\n\n"
        "Read [[tea]] before anything else. Then fill [the kettle](kitchen/kettle.md#Safety).\n"
    ),
    "tea.md": (
        "# Tea\r\n\r\nGreen tea wants water of 80 degrees.\r\n\r\n## Black\r\n\r\nBlack tea boils.\r\n\r\n"
        "### Assam\r\n\r\nMalty"
    ),
    "kitchen/kettle.md": (
        "---\ntype: note\nstatus: open\ntags: [start]\ndate: 2024-06-01\n---\n# The kettle\n\n"
        "See [[nowhere]].\n\n## Safety\n\nNever boil it dry, nor the tea.\n"
    ),
    "kitchen/tea towel.md": "# Tea towel\n\nDries. ![picture](towel.png)\n",
    "茶/茶道.md": "# 茶道\n\n日本の茶道の歴史。\n",
}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell in a folder without Git."""
    folder = tmp_path_factory.mktemp("reading") / "house"
    for path, text in PAGES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    (folder / "kitchen" / "towel.png").write_bytes(b"\x89PNG")
    return Shell(folder)


def test_a_question_finds_the_page_the_section_and_the_sentence(shell: Shell) -> None:
    done = shell.ok("search", "how", "hot", "for", "green", "tea")
    assert done.lines[0] == "tea.md  Tea"
    assert "80 degrees" in done.lines[1]
    assert shell.ok("search", "malty").lines[:2] == ["tea.md  Tea", "    Black > Assam"]
    assert done.stderr == ""


def test_search_as_json_has_its_documented_shape(shell: Shell) -> None:
    answer = shell.ok("search", "kettle safety", "--limit", "1", "--json").json
    assert {key: answer[key] for key in ("query", "limit", "offset")} == {
        "query": "kettle safety",
        "limit": 1,
        "offset": 0,
    }
    assert answer["total"] >= 1
    (hit,) = answer["hits"]
    assert list(hit) == [
        "collection",
        "id",
        "path",
        "title",
        "revision",
        "type",
        "tags",
        "date",
        "score",
        "status",
        "sections",
    ]
    assert (hit["collection"], hit["path"], hit["type"]) == ("house", "kitchen/kettle.md", "note")
    assert (hit["tags"], hit["date"]) == (["start"], "2024-06-01")
    assert list(hit["sections"][0]) == ["heading", "anchor", "snippet", "status"]
    assert hit["sections"][0]["heading"] == ["The kettle", "Safety"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--type", "guide"], {"welcome.md"}),
        (["--tag", "house"], {"welcome.md"}),
        (["--tag", "start", "--type", "note"], {"kitchen/kettle.md"}),
        (["--prefix", "kitchen/"], {"kitchen/kettle.md", "kitchen/tea towel.md"}),
        (["--field", "status=open"], {"kitchen/kettle.md"}),
        (["--from", "2024-05-02", "--to", "2024-06-01"], {"kitchen/kettle.md"}),
        (["--from", "2025-01-01"], set[str]()),
    ],
)
def test_search_and_list_take_the_same_filters(shell: Shell, arguments: list[str], expected: set[str]) -> None:
    hits = shell.ok("search", "tea", *arguments, "--json").json["hits"]
    assert {hit["path"] for hit in hits} == expected
    documents = shell.ok("list", *arguments, "--json").json["documents"]
    assert {document["path"] for document in documents} == expected


def test_a_cut_answer_says_how_to_go_on_and_going_on_ends(shell: Shell) -> None:
    first = shell.ok("search", "tea", "--limit", "2")
    total = shell.ok("search", "tea", "--json").json["total"]
    assert first.stderr == f"Showing 2 of {total}; pass --offset 2 for more.\n"
    rest = shell.ok("search", "tea", "--offset", "2")
    assert rest.stderr == ""
    assert shell.ok("search", "zzzqqq").stderr == (
        "Nothing found. No page contains a word of 'zzzqqq' in its names, tags, description or text."
        " None is near by spelling.\n"
    )


def test_the_query_may_come_from_standard_input(shell: Shell) -> None:
    assert shell.ok("search", "-", "--json", stdin="茶道\n").json["hits"][0]["path"] == "茶/茶道.md"


def test_a_blank_query_is_invalid(shell: Shell) -> None:
    assert shell("search", "  ").code == 4
    assert shell("search", "-", stdin=" \n").code == 4


def test_a_page_comes_out_byte_for_byte(shell: Shell) -> None:
    for path, text in PAGES.items():
        assert shell.ok("read", path).stdout == text.encode()


@pytest.mark.parametrize("name", ["tea", "tea.md", "./tea.md", "Tea"])
def test_a_page_is_named_by_path_or_title(shell: Shell, name: str) -> None:
    assert shell.ok("read", name, "--json").json["path"] == "tea.md"


def test_a_part_of_a_page_is_read(shell: Shell) -> None:
    section = "## Black\r\n\r\nBlack tea boils.\r\n\r\n### Assam\r\n\r\nMalty"
    assert shell.ok("read", "tea", "--section", "Black").text == section
    assert shell.ok("read", "tea", "--section", "Tea > Black > Assam").text == "### Assam\r\n\r\nMalty"
    assert shell.ok("read", "tea", "--lines", "3-5").text == "Green tea wants water of 80 degrees.\r\n\r\n## Black\r\n"
    assert shell.ok("read", "tea", "--lines", "11").text == "Malty"
    assert shell.ok("read", "tea", "--lines", "10-").text == "\r\nMalty"


def test_an_outline_names_levels_and_lines(shell: Shell) -> None:
    assert shell.ok("read", "tea", "--outline").lines == ["     1  # Tea", "     5  ## Black", "     9  ### Assam"]
    outline = shell.ok("read", "kitchen/kettle", "--outline", "--json").json["outline"]
    assert outline == [
        {"level": 1, "heading": "The kettle", "anchor": "the-kettle", "line": 7},
        {"level": 2, "heading": "Safety", "anchor": "safety", "line": 11},
    ]


def test_a_page_as_json_has_its_documented_shape(shell: Shell) -> None:
    page = shell.ok("read", "kitchen/kettle", "--section", "Safety", "--json").json
    assert list(page) == [
        "collection",
        "id",
        "path",
        "title",
        "revision",
        "frontmatter",
        "heading",
        "first_line",
        "text",
    ]
    assert page["frontmatter"]["status"] == "open"
    assert page["heading"] == ["The kettle", "Safety"]
    assert page["first_line"] == 11
    assert page["text"] == "## Safety\n\nNever boil it dry, nor the tea.\n"


def test_an_unknown_page_names_the_nearest(shell: Shell) -> None:
    done = shell("read", "kitchen/ketle")
    assert (done.code, done.stdout) == (3, b"")
    assert done.stderr.startswith("Error: There is no document 'kitchen/ketle'.\nNearest: kitchen/kettle")
    error = shell("read", "kitchen/ketle", "--json").error
    assert error["code"] == "not_found"
    assert error["nearest"][0] == "kitchen/kettle"


def test_an_unknown_section_names_the_nearest(shell: Shell) -> None:
    done = shell("read", "tea", "--section", "Blak")
    assert done.code == 3
    assert "Black" in done.stderr


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../b", ".git/config", "a\\b"])
def test_what_lies_outside_cannot_be_named(shell: Shell, path: str) -> None:
    done = shell("read", path)
    assert done.code in {3, 4}
    assert done.stdout == b""
    assert str(shell.folder) not in done.stderr


def test_a_list_is_a_page_a_line_with_tabs(shell: Shell) -> None:
    done = shell.ok("list", "--sort", "title", "--limit", "3")
    assert done.lines[0] == "tea.md\tTea\t\t\t"
    assert done.lines[2] == "kitchen/kettle.md\tThe kettle\tnote\tstart\t2024-06-01"
    assert done.stderr == "Showing 3 of 5; pass --offset 3 for more.\n"
    documents = shell.ok("list", "--sort", "date", "--limit", "2", "--json").json["documents"]
    assert [document["path"] for document in documents] == ["kitchen/kettle.md", "welcome.md"]
    expected = "collection id path title revision type tags description date created updated words size"
    assert list(documents[0]) == expected.split()


def test_links_lead_out_and_back_with_their_sentence(shell: Shell) -> None:
    links = shell.ok("links", "tea", "--json").json
    assert links["page"]["path"] == "tea.md"
    assert links["out"] == []
    (back,) = links["back"]
    assert (back["path"], back["title"], back["broken"]) == ("welcome.md", "Welcome", False)
    assert "before anything else" in back["sentence"]
    out = shell.ok("links", "welcome", "--out", "--json").json
    assert [(element["path"], element["fragment"], element["kind"]) for element in out["out"]] == [
        ("tea.md", "", "wiki"),
        ("kitchen/kettle.md", "Safety", "markdown"),
    ]
    assert "back" not in out
    lines = shell.ok("links", "welcome", "--out").lines
    assert [line for line in lines if line.startswith("->")] == ["-> tea.md  Tea", "-> kitchen/kettle.md  The kettle"]


def test_broken_links_come_with_their_line(shell: Shell) -> None:
    assert shell.ok("links", "--broken").text == "kitchen/kettle.md:9: nowhere\n"
    assert shell.ok("links", "kitchen/kettle", "--broken", "--json").json == {
        "total": 1,
        "broken": [{"collection": "house", "path": "kitchen/kettle.md", "line": 9, "target": "nowhere"}],
    }
    done = shell.ok("links", "tea", "--broken")
    assert (done.text, done.stderr) == ("", "No broken links.\n")


def test_orphans_are_pages_that_nothing_links_to(shell: Shell) -> None:
    orphans = shell.ok("links", "--orphans", "--json").json
    assert {orphan["path"] for orphan in orphans["orphans"]} == {"welcome.md", "kitchen/tea towel.md", "茶/茶道.md"}
    assert orphans["total"] == 3


def test_without_git_there_is_no_history_and_that_is_said(shell: Shell) -> None:
    done = shell("log", "tea")
    assert done.code == 10
    assert done.stderr.startswith("Error: There is no history of 'house': it is not in a Git repository.")
    assert "git init" in done.stderr


def test_several_folders_are_searched_as_one(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "office"
    other.mkdir()
    (other / "tea.md").write_text("# Office tea\n\nGreen tea at five.\n")
    both = ["--kb", str(shell.folder), "-C", str(other)]
    hits = shell.ok("search", "green tea", *both, "--json").json["hits"]
    assert {(hit["collection"], hit["path"]) for hit in hits[:2]} == {("house", "tea.md"), ("office", "tea.md")}
    assert shell.ok("search", "five", *both).lines[0] == "office:tea.md  Office tea"
    assert shell.ok("read", "office:tea", *both, "--json").json["title"] == "Office tea"
    assert shell.ok("read", "tea", *both, "--json").json["title"] == "Tea"
    variable = Shell(tmp_path, {"COMMONPLACE_KB": str(other)})
    assert variable.ok("list").lines == ["tea.md\tOffice tea\t\t\t"]


def test_a_change_in_an_editor_is_found_by_the_next_search(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (tmp_path / "a.md").write_text("# A\n\nnothing\n")
    assert shell.ok("search", "quixotic").text == ""
    (tmp_path / "a.md").write_text("# A\n\nquixotic\n")
    assert shell.ok("search", "quixotic").lines[0] == "a.md  A"
    assert shell.ok("search", "quixotic", "--json").json["total"] == 1
    (tmp_path / "a.md").rename(tmp_path / "b.md")
    assert shell.ok("search", "quixotic").lines[0] == "b.md  A"


def test_nothing_is_written_into_a_folder_that_is_only_read(shell: Shell) -> None:
    files = {path for path in shell.folder.rglob("*") if path.is_file()}
    assert {path.relative_to(shell.folder).as_posix() for path in files} == {*PAGES, "kitchen/towel.png"}
    assert json.loads(shell.ok("index", "--status", "--json").text)["collections"][0]["documents"] == len(PAGES)


def test_a_page_that_lapsed_says_so_beside_its_text(tmp_path: Path) -> None:
    old, new = "---\nsuperseded_by: new.md\n---\n# Old\n\ntext\n", "# New\n\n## Port {#port status=draft}\n\n80\n"
    shell = Shell(new_repo(tmp_path / "base", {"old.md": old, "new.md": new}).path)
    shown = shell.ok("read", "old")
    assert (shown.text, "SUPERSEDED by new.md" in shown.stderr) == (old, True)
    assert shell.ok("read", "old", "--json").json["status"] == {"status": "superseded", "by": "new.md"}
    assert shell.ok("read", "new", "--section", "Port", "--json").json["status"]["status"] == "draft"
    assert "status" not in shell.ok("read", "new", "--json").json
