"""A page that moves away and back gets every link as its author wrote it."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from shell import Shell
from support import GitRepo, MakeRepo

BETA = "projects/Beta Plan.md"
SPELLINGS = {
    "projects/near.md": "[1](./Beta%20Plan.md) [2](Beta%20Plan.md) [3](<Beta Plan.md>)\n"
    "[4](../projects/Beta%20Plan.md#a) [5](..//projects/./Beta%20Plan.md) [6](B%65ta%20Plan.md) [7](Beta%20Plan)\n",
    "wiki.md": "[[projects/beta plan]] [[Projects/Beta Plan|x]] [[Beta Plan.md]] [[beta plan]] [[/projects/Beta Plan]]",
    "far/more.md": "[r]: ../projects/Beta%20Plan.md 'T'\n\n[r] and [[../projects/Beta Plan]]\r\n"
    "![x](/projects/Beta%20Plan.md)\n",
    "front.md": "---\nrelated: [\"[[Projects/beta plan]]\", '[[./projects/Beta Plan]]']\n---\n# F\n",
}
FILES = {
    BETA: "# B\n\n[up](./near.md) [[Near]] [[projects/near]] [w](../wiki.md) [[../wiki]]\n"
    "[self](Beta%20Plan.md#x)\n\n## x\n",
    **SPELLINGS,
}
"""Pages with links to one page and from it, in as many spellings as people use."""
IN_PROJECTS = [BETA, "projects/near.md"]


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo(files=FILES)


def texts(repo: GitRepo) -> dict[str, str]:
    return {path: (repo.path / path).read_bytes().decode() for path in repo.git("ls-files", "-z").split("\0") if path}


@pytest.mark.parametrize("away", ["archive/Beta Plan", "Beta Plan", "projects/Gamma", "projects/old/Beta Plan"])
def test_every_byte_is_as_it_was(repo: GitRepo, away: str) -> None:
    shell = Shell(repo.path)
    shell.ok("mv", BETA, f"{away}.md")
    assert texts(repo) != FILES
    shell.ok("write", "between", stdin="# Between\n")
    shell.ok("mv", f"{away}.md", BETA)
    assert texts(repo) == {**FILES, "between.md": "# Between\n"}


def test_two_pages_in_turn_come_back(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    shell.ok("mv", "projects/Beta Plan", "old/things/")
    shell.ok("mv", "wiki", "old/notes/wiki")
    shell.ok("mv", "old/notes/wiki", "./wiki")
    shell.ok("mv", "old/things/Beta Plan", "projects/")
    assert texts(repo) == FILES


def test_a_folder_comes_back_with_every_link(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    would = shell.ok("mv", "projects/", "old/things/", "--dry-run", "--json").json
    assert would["action"] == "planned"
    assert texts(repo) == FILES
    moved = shell.ok("mv", "projects/", "old/things/", "--json").json
    assert moved["moved"] == would["moved"] == {path: path.replace("projects", "old/things") for path in IN_PROJECTS}
    assert moved["updated"] == would["updated"] == ["far/more.md", "front.md", "wiki.md"]
    assert "[4](../things/Beta%20Plan.md#a)" in texts(repo)["old/things/near.md"], "the way round stays"
    assert shell.ok("links", "--broken").stdout == b""
    back = shell.ok("mv", "./old/things/", "projects").text
    assert back.startswith("Moved old/things/ to projects/: 2 files, with links rewritten in 2 of them  commit ")
    assert "Rewrote links in far/more.md, front.md, wiki.md" in back
    assert texts(repo) == FILES


def test_a_folder_is_not_moved_into_itself_nor_over_pages(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    assert "lies in 'projects' itself" in shell("mv", "projects/", "projects/old/").stderr
    assert "There is no folder 'nowhere'" in shell("mv", "nowhere/", "x/").stderr
    assert "commonplace mv projects/ NEW/" in shell("mv", "projects", "x").stderr
    shell.ok("write", "x/near", stdin="# Another\n")
    assert "There already is a document 'x/near'" in shell("mv", "projects/", "x/").stderr
    assert "A folder has no revision" in shell("mv", "projects/", "y/", "--revision", "1234567").stderr
    assert texts(repo) == {**FILES, "x/near.md": "# Another\n"}


def test_a_page_moves_to_the_top_and_its_own_name_says_how(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    stderr = shell("mv", "projects/near", "near").stderr
    assert "'near' is the page's name already: a name keeps the page in projects/." in stderr
    assert "Give './near'" in stderr
    assert shell.ok("mv", "projects/near", "./", "--json").json["path"] == "near.md"


def test_names_in_another_normal_form_come_back(git_repo: MakeRepo) -> None:
    decomposed = unicodedata.normalize("NFD", "Café")
    files = {"in/Café.md": "# C\n", "a.md": f"[[{decomposed}]] [x](in/{decomposed}.md) [[in/{decomposed}]]\n"}
    repo = git_repo(files=files)
    shell = Shell(repo.path)
    shell.ok("mv", "in/Café", "out/Tea")
    shell.ok("mv", "out/Tea", "in/Café")
    assert texts(repo) == files


def test_a_page_that_was_edited_meanwhile_keeps_its_edit(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    shell.ok("mv", BETA, "archive/Beta Plan.md")
    near = repo.path / "projects/near.md"
    near.write_text(near.read_text() + "New line.\n", encoding="utf-8")
    repo.git("commit", "--quiet", "--all", "--message", "Edited")
    shell.ok("mv", "archive/Beta Plan.md", BETA)
    now = texts(repo)
    assert now.pop("projects/near.md").endswith("New line.\n")
    assert now == {path: text for path, text in FILES.items() if path != "projects/near.md"}
    assert "leads nowhere" not in shell("check").text


def test_an_earlier_spelling_that_means_another_page_now_is_not_used(git_repo: MakeRepo) -> None:
    repo = git_repo(files={"a/Plan.md": "# P\n", "x.md": "See [[plan]].\n"})
    shell = Shell(repo.path)
    shell.ok("mv", "a/Plan", "b/Other")
    assert texts(repo)["x.md"] == "See [[Other]].\n"
    shell.ok("write", "plan", stdin="# Another\n")
    shell.ok("mv", "b/Other", "a/Plan")
    assert texts(repo)["x.md"] == "See [[a/Plan]].\n"


def test_a_folder_without_commits_has_links_that_lead_right(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/Plan.md").write_text("# P\n", encoding="utf-8")
    (tmp_path / "x.md").write_text("See [p](./a/Plan.md).\n", encoding="utf-8")
    shell = Shell(tmp_path)
    shell.ok("mv", "a/Plan", "b/Other")
    shell.ok("mv", "b/Other", "a/Plan")
    assert shell.ok("links", "--broken").stdout == b""


EDITED = {
    "a/ziel.md": "# Z\n",
    "Sub Dir/a.png": "x",
    "Sub Dir/p.md": "# P\n",
    "list.md": "- [[ziel]]\n- [[Ziel]]\n- [[b]]\n\nSee [[ziel|x]] and [y](a/ziel.md#z), [[a/ziel]].\n",
    "html.md": '---\nup: "[[ziel]]"\n---\n\nFirst.\n\n<img src="Sub Dir/a.png">\n',
    "b.md": "# B\n",
}


def test_links_that_nobody_edited_come_back_in_pages_that_were_edited_elsewhere(git_repo: MakeRepo) -> None:
    repo = git_repo(files=EDITED)
    shell = Shell(repo.path)
    shell.ok("mv", "a/ziel", "./Anders")
    shell.ok("mv", "Sub Dir/", "Other Dir/")
    assert texts(repo)["list.md"].startswith("- [[Anders]]\n- [[Anders]]\n- [[b]]\n\nSee [[Anders|x]]")
    edits = {
        "list.md": (("- [[b]]", "- [[Anders#new]]\n- [[b]]\n- new"), ("See ", "Also see ")),
        "html.md": (("First.", "First line, edited."),),
    }
    for path, changes in edits.items():
        page = repo.path / path
        for old, new in changes:
            page.write_text(page.read_text().replace(old, new), encoding="utf-8")
    repo.git("commit", "--quiet", "--all", "--message", "Edited")
    shell.ok("mv", "Anders", "a/ziel")
    shell.ok("mv", "Other Dir/", "Sub Dir/")
    now = texts(repo)
    expected = EDITED["list.md"].replace("- [[b]]", "- [[ziel#new]]\n- [[b]]\n- new").replace("See ", "Also see ")
    assert now["list.md"] == expected
    assert now["html.md"] == EDITED["html.md"].replace("First.", "First line, edited.")


def test_a_link_whose_way_does_not_change_keeps_its_letters(git_repo: MakeRepo) -> None:
    pages = {
        "x.md": "[[layout]] and ![[LAYOUT#a]] and [l](docs/Queries/Layout.md) and [[queries/layout|q]]\n",
        "docs/y.md": "[[layout]]\n",
        "docs/Queries/z.md": "[[layout]] [l](layout.md)\n",
    }
    repo = git_repo(files={"docs/Queries/Layout.md": "# L\n\n## A\n", **pages})
    Shell(repo.path).ok("mv", "docs/Queries/", "docs/Abfragen & Co/")
    now = texts(repo)
    assert now["docs/y.md"] == pages["docs/y.md"]
    assert now["docs/Abfragen & Co/z.md"] == pages["docs/Queries/z.md"]
    assert now["x.md"].startswith("[[layout]] and ![[LAYOUT#a]] and [l](docs/Abfragen%20%26%20Co/Layout.md) and ")
    assert now["x.md"].endswith("[[Abfragen & Co/Layout|q]]\n")
