"""`commonplace brief`: what matters for a task, within a budget."""

from __future__ import annotations

from commonplace.domain.tokens import tokens_of
from shell import Shell
from support import GitRepo


def test_rules_changes_and_sections_are_told(shell: Shell, repo: GitRepo) -> None:
    repo.commit("Rules", **{"AGENTS.md": "# Rules\n\nPlain words.\n", "walrus.md": "# Walrus\n\nIt swims.\n"})
    done = shell.ok("brief", "how does a walrus swim", "--since", "yesterday", "--max-tokens", "400")
    assert done.lines[0] == "AGENTS.md: # Rules"
    assert "walrus.md (" in done.text
    assert "[walrus.md#walrus] changed since Walrus" in done.text
    assert tokens_of(done.text) <= 400
    row = shell.ok("brief", "--json").json
    assert row["since"] is None
    assert row["lines"][0] == "AGENTS.md: # Rules\nPlain words."


def test_a_moment_that_is_none_is_refused(shell: Shell) -> None:
    for text, sentence in (("someday", "'someday' is no moment"), ("2999-01-01", "lies in the future")):
        assert sentence in shell("brief", "--since", text).stderr
    row = shell.ok("brief", "--since", "HEAD", "--json").json
    assert row["since"].endswith(" (HEAD)")
    assert f"Since {row['since']}: no page changed." in row["lines"]
