"""`commonplace tags`: counted, the commonest first."""

from __future__ import annotations

from shell import Shell


def test_the_commonest_comes_first(shell: Shell) -> None:
    assert shell.ok("tags", "--json").json == {
        "total": 2,
        "tags": [{"tag": "tea", "documents": 2}, {"tag": "plan/next", "documents": 1}],
    }
    assert shell.ok("tags").lines == ["2\ttea", "1\tplan/next"]


def test_a_prefix_may_carry_the_mark_of_a_tag(shell: Shell) -> None:
    assert shell.ok("tags", "#plan").lines == shell.ok("tags", "plan/").lines == ["1\tplan/next"]
    none = shell.ok("tags", "zz")
    assert (none.text, none.stderr) == ("", "No such tags.\n")


def test_where_no_page_has_one_that_is_said(shell: Shell) -> None:
    (shell.folder / "none").mkdir()
    none = shell.ok("tags", "-C", shell.folder / "none")
    assert (none.text, none.stderr) == ("", "No tags.\n")
