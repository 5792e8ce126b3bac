"""`commonplace wanted`: names that links have and no page."""

from __future__ import annotations

from pathlib import Path

from shell import Shell
from support import GitRepo


def test_the_most_wanted_comes_first_with_the_pages_that_want_it(shell: Shell, repo: GitRepo) -> None:
    repo.write("more.md", "# More\n\n[[kettle]] and [[not written]].\n")
    json = shell.ok("wanted", "--json").json
    assert json == {
        "total": 2,
        "wanted": [
            {"collection": "notes", "name": "not written", "sources": ["index.md", "more.md"]},
            {"collection": "notes", "name": "kettle", "sources": ["more.md"]},
        ],
    }
    assert shell.ok("wanted").lines == ["not written\tindex.md\tmore.md", "kettle\tmore.md"]


def test_with_several_folders_each_page_names_its_own(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    done = shell.ok("wanted", "-C", shell.folder, "-C", tmp_path / "other")
    assert done.lines == ["not written\tnotes:index.md"]


def test_where_every_link_leads_somewhere_there_is_none(shell: Shell, repo: GitRepo) -> None:
    repo.write("index.md", "# Index\n")
    done = shell.ok("wanted")
    assert (done.text, done.stderr) == ("", "No wanted pages.\n")
