"""`commonplace related`: near pages, and which of them are linked."""

from __future__ import annotations

import pytest

from shell import Shell
from support import GitRepo


def test_near_pages_come_first_and_linked_ones_are_marked(shell: Shell, repo: GitRepo) -> None:
    repo.write("green.md", "# Green tea\n\nBoil the water for green tea. See [tea](drinks/tea.md).\n")
    repo.write("black.md", "# Black tea\n\nBoil the water for black tea.\n")
    json = shell.ok("related", "green", "--json").json
    assert json["page"] == "green"
    assert "green.md" not in [element["path"] for element in json["related"]]
    assert {item["path"]: item["linked"] for item in json["related"][:2]} == {"black.md": False, "drinks/tea.md": True}
    assert "drinks/tea.md  Tea  linked" in shell.ok("related", "green").lines
    assert len(shell.ok("related", "green", "--limit", "1").lines) == 1


def test_a_page_unlike_all_others_has_none(shell: Shell, repo: GitRepo) -> None:
    repo.write("alone.md", "zzqxj\n")
    done = shell.ok("related", "alone")
    assert (done.text, done.stderr) == ("", "Nothing is near to it.\n")


@pytest.mark.parametrize(
    ("code", "arguments"), [(2, ["idea", "--limit", "26"]), (2, ["idea", "--limit", "0"]), (3, ["x"])]
)
def test_what_cannot_be_is_refused(shell: Shell, code: int, arguments: list[str]) -> None:
    assert shell("related", *arguments).code == code
