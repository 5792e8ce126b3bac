"""Results while a person types, and the preview of each page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import NotFoundError, UnavailableError
from commonplace.domain.query import Filter
from commonplace.faces.cli.commands.finder import MAX_PREVIEW_LINES, Choice, Finder
from commonplace.faces.cli.output import BOLD, PLAIN
from indexed import Indexed

TEA = """---
title: Tea
---
# Tea

Leaves.

## Brewing

Water.
Hot water, and more water.

## End

Water again.
"""
LONG = "# Long\n\n" + "filler\n" * 1_000 + "needle\n" + "filler\n" * 1_000
FILES = {
    "tea.md": TEA,
    "boats.md": "# Boats\n\nA boat.\n",
    "long.md": LONG,
    "latin.md": b"# Latin\n\ncaf\xe9 bistro\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


def finder(base: Indexed, filter_: Filter | None = None) -> Finder:
    return Finder(base.collections, filter_ or Filter(), "keyword")


def only(base: Indexed, text: str) -> Choice:
    (choice,) = finder(base).choices(text).found
    return choice


def plain(lines: tuple[str, ...]) -> list[str]:
    return [line.replace(BOLD, "<").replace(PLAIN, ">") for line in lines]


def test_without_a_text_the_pages_that_changed_last_are_found(base: Indexed) -> None:
    base.write_settled("boats.md", "# Boats\n", seconds_ago=-100)
    base.index.sync()
    choices = finder(base).choices("  ")
    assert (choices.found[0].path, choices.total, choices.notice) == ("boats.md", 4, "")


def test_a_choice_names_the_section_below_the_title(base: Indexed) -> None:
    choice = only(base, "hot water")
    assert (choice.path, choice.title, choice.heading) == ("tea.md", "Tea", ("Brewing",))
    assert only(base, "leaves").heading == ()


def test_the_preview_begins_at_the_section_and_its_line_has_most_words(base: Indexed) -> None:
    preview = finder(base).preview(only(base, "hot water"), "hot water")
    assert plain(preview.lines)[:4] == ["## Brewing", "", "<Water>.", "<Hot> <water>, and more <water>."]
    assert plain(preview.lines)[-2] == "<Water> again.", "what follows the section is shown, too"
    assert (preview.first_line, preview.line) == (8, 11)


@pytest.mark.parametrize("text", ["green tea", "Camellia"])
def test_a_page_whose_title_or_alias_is_typed_is_shown_from_its_top(base: Indexed, text: str) -> None:
    rest = "Leaves.\n\n## Brewing green tea of Camellia\n\nGreen tea, Camellia, green tea.\n"
    base.write("green.md", f"---\naliases: [Camellia]\n---\n\n# Green tea\n\n{rest}")
    base.index.sync()
    choice = finder(base).choices(text).found[0]
    preview = finder(base).preview(choice, text)
    assert (choice.path, choice.heading) == ("green.md", ())
    assert plain(preview.lines)[preview.best].replace("<", "").replace(">", "") == "# Green tea"
    assert preview.line == 5


def test_a_page_without_a_question_is_shown_from_its_first_line(base: Indexed) -> None:
    preview = finder(base).preview(
        next(choice for choice in finder(base).choices("").found if choice.path == "tea.md"), ""
    )
    assert (preview.lines[0], preview.line) == ("---", 1)


def test_of_a_long_section_the_part_round_the_line_is_shown(base: Indexed) -> None:
    preview = finder(base).preview(only(base, "needle"), "needle")
    assert len(preview.lines) == MAX_PREVIEW_LINES
    assert plain(preview.lines)[preview.best] == "<needle>"
    assert preview.line == LONG.split("\n").index("needle") + 1


def test_a_page_that_is_no_utf8_is_shown(base: Indexed) -> None:
    preview = finder(base).preview(only(base, "bistro"), "bistro")
    assert plain(preview.lines)[preview.best] == "café <bistro>"


def test_a_page_that_lost_its_sections_is_shown_from_its_beginning(base: Indexed) -> None:
    choice = only(base, "hot water")
    base.write("tea.md", "gone\n")
    base.index.sync()
    assert finder(base).preview(choice, "hot water").lines[0] == "gone"
    (base.folder / "tea.md").unlink()
    base.index.sync()
    with pytest.raises(NotFoundError):
        finder(base).preview(choice, "hot water")


def test_a_filter_and_the_mode_are_those_of_the_command(base: Indexed) -> None:
    assert finder(base, Filter(prefix="b")).choices("water").found == ()
    assert [choice.path for choice in finder(base, Filter(prefix="b")).choices("").found] == ["boats.md"]
    with pytest.raises(UnavailableError):
        Finder(base.collections, Filter(), "semantic").choices("water")
