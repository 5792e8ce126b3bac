"""Output on a terminal: whole words, a pager for long texts, clickable links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace.faces.cli.output import width
from shell import Shell

PROSE = "The harbourmaster's unexpectedly comprehensive documentation recommends green tea, brewed at eighty degrees. "
READING = (
    "search green tea",
    "list",
    "links start",
    "links start --out",
    "related start",
    "read start",
    "read start --outline",
    "recent",
    "tags",
    "wanted",
    "orphans",
    "check",
    "log",
    "status",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages with long lines, long titles, and one that links to another three times."""
    top = tmp_path_factory.mktemp("terminal") / "notes"
    top.mkdir()
    links = "First [[comprehensive documentation|it]]. Again [[comprehensive documentation]]! See [[not there yet]]."
    (top / "start.md").write_text(f"---\ntags: [harbour, tea]\n---\n# Start of everything\n\n{PROSE * 3}\n\n{links}\n")
    (top / "comprehensive documentation.md").write_text(
        f"# Comprehensive documentation of all that a harbour needs\n\n## A heading of more than forty columns\n\n"
        f"{PROSE * 2}\n\n[[start]] **green** [tea](start.md)\n"
    )
    (top / "茶.md").write_text(
        "# 茶の湯について\n\n" + "茶の湯は、日本の伝統的な文化であり、客をもてなすための作法である。" * 3 + "\n"
    )
    Shell(top).ok("index")  # so that no progress is shown later
    return top


def words(text: str) -> list[str]:
    """Words in the order in which they stand, without styles and indents."""
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", text).split()


@pytest.mark.parametrize("command", READING[::2])
def test_no_word_breaks_at_forty_columns(folder: Path, command: str) -> None:
    _, shown = Shell(folder, {"COLUMNS": "40"}).on_a_terminal(*command.split())
    lines = words_on_lines(shown)
    assert lines
    assert [line for line in lines if width(line) > 40 and " " in line] == []


def words_on_lines(shown: str) -> list[str]:
    """Each line as it looks."""
    return [" ".join(words(line)) for line in shown.splitlines()]


def test_what_is_longer_than_the_screen_goes_through_the_pager(folder: Path, tmp_path: Path) -> None:
    pager = {"PAGER": f"tee {tmp_path}/paged | head -n 1", "COLUMNS": "60"}
    code, shown = Shell(folder, {**pager, "LINES": "5"}).on_a_terminal("read", "start")
    assert (code, shown) == (0, "---\n")
    assert words((tmp_path / "paged").read_text("utf-8")) == (folder / "start.md").read_text("utf-8").split()
    code, shown = Shell(folder, {**pager, "LINES": "50"}).on_a_terminal("read", "start")
    assert len(shown.splitlines()) > 5, "what fits on the screen is shown as it is"
    _, shown = Shell(folder, {**pager, "LINES": "1"}).on_a_terminal("list", "--json")
    assert shown.startswith('{"total":3')
    _, shown = Shell(folder, {**pager, "LINES": "2", "PAGER": "no-such-pager"}).on_a_terminal("list")
    assert len(shown.splitlines()) >= 3


def test_a_message_follows_the_pages_that_it_is_about(folder: Path) -> None:
    _, shown = Shell(folder, {"LINES": "2", "COLUMNS": "80", "PAGER": "sed s/^/paged:/"}).on_a_terminal(
        "list", "--limit", "2"
    )
    *pages, last = shown.splitlines()
    assert all(line.startswith("paged:") for line in pages)
    assert last == "Showing 2 of 3; pass --offset 2 for more."


@pytest.mark.parametrize("command", ["search harbour", "links start", "recent"])
def test_names_of_pages_open_their_files_where_the_terminal_shows_links(folder: Path, command: str) -> None:
    _, shown = Shell(folder, {"FORCE_HYPERLINK": "1"}).on_a_terminal(*command.split())
    assert re.search(rf"\x1b\]8;;file://[^/]+{re.escape(str(folder))}/[^\x1b]+\.md\x1b\\", shown)
    for environment in ({"FORCE_HYPERLINK": "0"}, {"FORCE_HYPERLINK": "1", "NO_COLOR": "1"}):
        _, plain = Shell(folder, environment).on_a_terminal(*command.split())
        assert "\x1b]8" not in plain
    assert "\x1b" not in Shell(folder, {"FORCE_HYPERLINK": "1"}).ok(*command.split()).text


def test_links_to_the_same_page_are_one(folder: Path) -> None:
    _, shown = Shell(folder, {"NO_COLOR": "1"}).on_a_terminal("links", "comprehensive documentation")
    assert shown.splitlines() == [
        "-> start.md  Start of everything",
        "<- start.md  Start of everything",
        "     First it.",
        "     Again comprehensive documentation!",
    ]
    assert len(Shell(folder).ok("links", "start", "--out", "--json").json["out"]) == 3


def test_a_snippet_is_text_and_its_matches_are_marked_in_titles_too(folder: Path) -> None:
    _, shown = Shell(folder).on_a_terminal("search", "documentation tea", "--limit", "1")
    assert "[[" not in shown
    assert "**" not in shown
    assert "Comprehensive \x1b[1mdocumentation\x1b[0m of all that" in shown


def test_sections_of_an_answer_keep_their_lines(folder: Path) -> None:
    row = ("search", "harbour", "--max-tokens", "600")
    _, shown = Shell(folder, {"COLUMNS": "2000", "LINES": "500", "NO_COLOR": "1"}).on_a_terminal(*row)
    piped = Shell(folder).ok(*row).text
    assert shown.startswith(piped)
    assert len(piped.splitlines()) > 10
    _, narrow = Shell(folder, {"COLUMNS": "40", "LINES": "500", "NO_COLOR": "1"}).on_a_terminal(*row)
    assert words(narrow) == words(shown)
    assert [line for line in piped.splitlines() if line.startswith("#")] == [
        line for line in shown.splitlines() if line.startswith("#")
    ]


def test_what_goes_on_in_the_next_line_is_indented(folder: Path) -> None:
    _, shown = Shell(folder, {"COLUMNS": "20", "NO_COLOR": "1"}).on_a_terminal("search", "harbour", "--facets", "tags")
    lines = shown.splitlines()
    at = lines.index("tags: (none) 1,")
    assert lines[at + 1].startswith("    ")


def test_a_heading_of_the_title_is_not_repeated_below_it(folder: Path) -> None:
    _, shown = Shell(folder, {"COLUMNS": "200", "NO_COLOR": "1"}).on_a_terminal("search", "columns", "--limit", "1")
    assert shown.splitlines()[:2] == [
        "comprehensive documentation.md  Comprehensive documentation of all that a harbour needs",
        "    A heading of more than forty columns",
    ]
