"""`commonplace find` where there is no terminal; on one it is walked in tests/acceptance/terminal."""

from __future__ import annotations

from shell import Shell


def test_without_a_terminal_it_names_the_command_that_needs_none(shell: Shell) -> None:
    done = shell("find", "tea", "--json")
    assert (done.code, done.text) == (2, "")
    assert "on a terminal only" in done.error["message"]
    assert "commonplace search" in done.error["hint"]


def test_a_wrong_mode_is_refused_first(shell: Shell) -> None:
    done = shell("find", "--mode", "magic")
    assert (done.code, done.text) == (2, "")
    assert "magic" in done.stderr
