"""A page is found as a person types, and opened in their editor at the line: in a real terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.faces.cli.output import width
from screens import NEEDS_TMUX, Screen
from shell import Shell

pytestmark = NEEDS_TMUX

EDITOR = """#!/bin/sh
printf '%s\\n' "$@" > "$(dirname "$0")/opened"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "notes"
    top.mkdir()
    filler = "".join(f"Line {number} of something else.\n\n" for number in range(60))
    (top / "tea.md").write_text(f"# Tea\n\nLeaves.\n\n## Brewing\n\n{filler}Water of eighty degrees for sencha.\n")
    (top / "boats.md").write_text("# Boats\n\nA harbour has boats, and boats need paint.\n")
    (top / "茶.md").write_text("# 茶の湯\n\n" + "茶の湯は、日本の伝統的な文化である。" * 20 + "\n")
    (top / "odd.md").write_text("# Odd \x1b]0;title\x07 one\n\nred \x1b[31m text\n")
    Shell(top).ok("index")
    return top


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """An editor that writes down with what it was started."""
    program = tmp_path / "editor"
    program.write_text(EDITOR)
    program.chmod(0o755)
    return program


def opened(editor: Path) -> list[str]:
    return (editor.parent / "opened").read_text().split("\n")[:-1]


def test_typing_finds_and_enter_opens_at_the_line(folder: Path, editor: Path) -> None:
    with Screen(folder, "commonplace find", columns=120, forked=True, environment={"EDITOR": str(editor)}) as screen:
        screen.wait_for("4 pages")
        screen.type("eighty sencha")
        lines = screen.wait_for("Water of eighty degrees")
        assert lines[0] == "> eighty sencha"
        assert lines[2].startswith("> Tea  ")
        assert lines[3].startswith("> tea.md > Brewing  ")
        assert "\x1b[1meighty\x1b[0m" in screen.styled
        screen.press("Enter")
        assert screen.wait_end() == 0
    text = (folder / "tea.md").read_text().split("\n")
    line = text.index("Water of eighty degrees for sencha.") + 1
    assert opened(editor) == [f"+{line}", str(folder / "tea.md")]


def test_enter_right_after_typing_opens_what_was_typed(folder: Path, editor: Path) -> None:
    with Screen(folder, "commonplace find", columns=80, environment={"EDITOR": str(editor)}, forked=True) as screen:
        screen.wait_for("4 pages")
        screen.press("-l", "paint")
        screen.press("Enter")
        assert screen.wait_end() == 0
    assert opened(editor) == ["+3", str(folder / "boats.md")]


def test_pages_are_chosen_by_keys_and_named_for_programs(folder: Path) -> None:
    with Screen(folder, "commonplace find --json boats > ../chosen", columns=80) as screen:
        screen.wait_for("> Boats")
        screen.press("C-u")
        lines = screen.wait_for("4 pages")
        first = lines[2]
        screen.press("Down", "Down")
        lines = screen.wait(lambda lines: lines[6].startswith("> "), "the third page is chosen")
        third = lines[7].removeprefix("> ")
        screen.press("Up", "Up", "Up")
        screen.wait(lambda lines: lines[2] == first, "the first page is chosen")
        screen.press("Down", "Down")
        screen.wait(lambda lines: lines[7] == f"> {third}", "the third page is chosen")
        screen.press("Enter")
        assert screen.wait_end() == 0
        assert json.loads((folder.parent / "chosen").read_text()) == {"path": str(folder / third), "line": 1}


@pytest.mark.parametrize("key", ["Escape", "C-c"])
def test_leaving_opens_nothing(folder: Path, editor: Path, key: str) -> None:
    with Screen(
        folder, "commonplace find boats", columns=80, environment={"EDITOR": str(editor)}, forked=True
    ) as screen:
        screen.wait_for("> Boats")
        screen.press(key)
        assert screen.wait_end() == 130
    assert not (editor.parent / "opened").exists()


@pytest.mark.parametrize("columns", [40, 60, 100, 160])
@pytest.mark.sampled(4)
def test_every_width_shows_list_and_text(folder: Path, columns: int) -> None:
    with Screen(folder, "commonplace find 茶の湯", columns=columns, forked=True) as screen:
        lines = screen.wait(lambda lines: any("文化である" in line for line in lines), "the text of the page")
        assert lines[2].startswith("> 茶の湯")
        assert max(map(width, lines)) <= columns
        assert ("│" in lines[2]) == (columns >= 100)
        assert lines[-1].startswith("Enter opens")


@pytest.mark.soak
def test_a_terminal_that_changes_its_size_and_one_of_few_rows(folder: Path) -> None:
    with Screen(folder, "commonplace find boats", columns=120) as screen:
        screen.wait(lambda lines: any("│" in line for line in lines), "the page beside the list")
        screen.resize(60, 24)
        screen.wait(lambda lines: any(line.startswith("───") for line in lines), "the page below the list")
        screen.resize(60, 8)
        # The terminal is cleared before it is drawn again, so the list is part of what is waited for.
        screen.wait(lambda lines: lines[2:3] == ["> Boats"] and "───" not in "".join(lines), "the list alone")


def test_the_text_scrolls(folder: Path) -> None:
    with Screen(folder, "commonplace find Leaves", columns=120, rows=14, forked=True) as screen:
        screen.wait_for("Line 1 of")
        screen.press("PageDown")
        screen.wait(lambda lines: "Line 6 of" in "".join(lines) and "Leaves." not in "".join(lines), "further down")
        screen.press("PageUp")
        screen.wait_for("Leaves.")


def test_control_characters_are_shown_and_not_obeyed(folder: Path) -> None:
    with Screen(folder, "commonplace find Odd", columns=120, forked=True) as screen:
        lines = "\n".join(screen.wait_for("text"))
        assert "\\x1b]0;title\\x07" in lines
        assert "\\x1b[31m" in lines


@pytest.mark.soak
def test_no_styles_where_none_are_wanted(folder: Path) -> None:
    with Screen(folder, "commonplace find boats", columns=120, environment={"NO_COLOR": "1"}) as screen:
        screen.wait_for("A harbour has boats")
        assert "\x1b[1m" not in screen.styled
        assert "\x1b[2m" not in screen.styled


def test_nothing_found_and_a_page_that_is_gone(folder: Path, editor: Path) -> None:
    environment = {"EDITOR": str(editor)}
    with Screen(folder, "commonplace find --mode keyword", columns=100, environment=environment, forked=True) as screen:
        screen.wait_for("4 pages")
        screen.type("qqqxyz")
        screen.wait_for("Nothing found.")
        screen.press("Enter")
        (folder / "boats.md").unlink()
        screen.press("C-u")
        screen.type("boats")
        screen.wait_for("There is no")
        screen.press("Enter")
        screen.press("Escape")
        assert screen.wait_end() == 130
    assert not (editor.parent / "opened").exists()


def test_filters_choose_among_which_pages(folder: Path) -> None:
    with Screen(folder, "commonplace find --prefix tea", columns=100, forked=True) as screen:
        screen.wait_for("1 page")
        screen.type("boats")
        screen.wait_for("Nothing found.")


def test_without_a_terminal_it_says_what_to_use(folder: Path) -> None:
    done = Shell(folder)("find", "tea")
    assert done.code == 2
    assert "commonplace search QUERY" in done.stderr
    with Screen(folder, "TERM=dumb commonplace find", columns=80) as screen:
        assert screen.wait_end() == 2


def test_the_library_of_screens_is_loaded_only_to_show_one() -> None:
    program = "import sys, commonplace.faces.cli.commands.find as one; sys.exit('prompt_toolkit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
