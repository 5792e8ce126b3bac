"""Opening of a file in the user's editor."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.errors import ConfigError, UnavailableError
from commonplace.faces.cli.commands.new import editor_command, open_in_editor

FILE = Path("/notes/my file.md")


@each_case(
    ("editor", "command"),
    [
        ("vim", ["vim", "+3", "/notes/my file.md"]),
        ("nvim -p", ["nvim", "-p", "+3", "/notes/my file.md"]),
        ("/opt/my tools/nano".replace(" ", "\\ "), ["/opt/my tools/nano", "+3", "/notes/my file.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/notes/my file.md:3"]),
        ("/usr/bin/hx", ["/usr/bin/hx", "/notes/my file.md:3"]),
        ("'a b'", ["a b", "+3", "/notes/my file.md"]),
    ],
)
def test_each_editor_is_given_the_line_in_its_own_way(editor: str, command: list[str]) -> None:
    assert editor_command(FILE, 3, {"EDITOR": editor}) == command


def test_the_visual_editor_comes_first_and_an_empty_one_counts_for_nothing() -> None:
    assert editor_command(FILE, 1, {"VISUAL": "a", "EDITOR": "b"})[0] == "a"
    assert editor_command(FILE, 1, {"VISUAL": "", "EDITOR": "b"})[0] == "b"


@pytest.mark.parametrize("editor", ["'open quote", "  ", "\\"])
def test_what_is_no_command_is_refused(editor: str) -> None:
    with pytest.raises(ConfigError, match="is no command") as caught:
        editor_command(FILE, 1, {"EDITOR": editor})
    assert "export EDITOR=" in caught.value.hint


def test_an_editor_that_fails_or_is_not_there_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    for editor, said in (
        ("false", "'false' ended with code 1"),
        ("no-such-editor", "'no-such-editor' cannot be started"),
    ):
        monkeypatch.setenv("EDITOR", editor)
        with pytest.raises(UnavailableError, match=said):
            open_in_editor(tmp_path / "a.md", 1)
    monkeypatch.setenv("EDITOR", "true")
    open_in_editor(tmp_path / "a.md", 1)
