"""`commonplace mv`: a new name, a folder, or a path."""

from __future__ import annotations

import pytest

from shell import Shell
from support import GitRepo


@pytest.mark.parametrize(
    ("page", "new", "path", "link"),
    [
        ("idea", "thought", "thought.md", "[[thought]]"),
        ("idea", "drinks/", "drinks/idea.md", "[[idea]]"),
        ("idea", "deep/er/thought.md", "deep/er/thought.md", "[[thought]]"),
        ("drinks/tea", "chai", "drinks/chai.md", "[tea](drinks/chai.md#Steps)"),
        ("drinks/tea", "./chai", "chai.md", "[tea](chai.md#Steps)"),
    ],
)
def test_the_page_goes_there_and_its_links_with_it(
    shell: Shell, repo: GitRepo, page: str, new: str, path: str, link: str
) -> None:
    done = shell.ok("mv", page, new, "--json").json
    assert (done["action"], done["path"], done["commit"]) == ("renamed", path, repo.git("rev-parse", "HEAD"))
    assert link in (repo.path / "index.md").read_text()
    assert repo.git("status", "--porcelain") == ""


def test_a_page_that_is_there_is_not_overwritten(shell: Shell, repo: GitRepo) -> None:
    assert shell("mv", "idea", "lonely").code == 5
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize(("code", "new"), [(4, "../out"), (4, ""), (4, "a/../b"), (4, "/etc/x")])
def test_a_name_that_cannot_be_is_refused(shell: Shell, repo: GitRepo, code: int, new: str) -> None:
    done = shell("mv", "idea", new)
    assert (done.code, done.text) == (code, ""), done
    assert repo.git("status", "--porcelain") == ""
