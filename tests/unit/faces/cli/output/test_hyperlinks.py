"""Terminals that show links, and the form of a link."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from commonplace.faces.cli.output import file_link, terminal_shows_links, without_links


@pytest.mark.parametrize(
    ("environment", "shows"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "foot"}, True),
        ({"TERM_PROGRAM": "iTerm.app"}, True),
        ({"VTE_VERSION": "7200"}, True),
        ({"VTE_VERSION": "4900"}, False),
        ({"VTE_VERSION": "new"}, False),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4a"}, True),
        ({"TERM": "screen", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a", "VTE_VERSION": "7200"}, False),
        ({"TERM": "screen", "KITTY_WINDOW_ID": "1"}, False),
        ({"FORCE_HYPERLINK": "1"}, True),
        ({"FORCE_HYPERLINK": "0", "TERM": "foot"}, False),
    ],
)
def test_a_terminal_that_is_known_to_show_links_gets_them(environment: dict[str, str], shows: bool) -> None:
    assert terminal_shows_links(environment) is shows


def test_a_link_holds_its_file_and_no_control_character_of_the_name() -> None:
    file = Path("/notes/a b#\x1b\\]é.md")
    link = file_link("shown", file)
    target = link.removeprefix("\x1b]8;;").partition("\x1b\\")[0]
    assert target.isprintable()
    assert urlsplit(target).hostname
    assert unquote(urlsplit(target).path) == str(file)
    assert without_links(f"a {link} b") == "a shown b"
