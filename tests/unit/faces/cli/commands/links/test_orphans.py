"""`commonplace orphans`: as `links --orphans`."""

from __future__ import annotations

from shell import Shell
from support import GitRepo


def test_it_is_the_list_of_links(shell: Shell) -> None:
    assert shell.ok("orphans").text == shell.ok("links", "--orphans").text
    json = shell.ok("orphans", "--json").json
    assert (json["total"], [orphan["path"] for orphan in json["orphans"]]) == (2, ["index.md", "lonely.md"])


def test_where_every_page_is_linked_there_is_none(shell: Shell, repo: GitRepo) -> None:
    repo.write("idea.md", "# Idea\n\n[[index]] and [[lonely]]\n")
    done = shell.ok("orphans")
    assert (done.text, done.stderr) == ("", "No orphans.\n")
