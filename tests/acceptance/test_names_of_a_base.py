"""A base answers to its declared name and to its folder's, in links and in calls, in every face."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent
from editor import editing
from serving import served
from shell import Shell
from support import eventually

NAMES = ("alpha", "alpha-notes", "")
"""The name in `kb.yaml`, the folder's, and a link without a name."""
LINKS = "".join(f"- target: c\n  kb: '{name}'\n  relation: supports\n" for name in NAMES)
TEXT = " ".join(f"[[{name}:c]]" for name in NAMES if name)
PAGES = {
    "alpha-notes/kb.yaml": "name: alpha\n",
    "alpha-notes/a.md": f"---\ntitle: A\nlinks:\n{LINKS}---\nSee {TEXT} and [[c]].\n",
    "alpha-notes/c.md": "# C\n\nText.\n",
    "beta/b.md": f"# B\n\nSee {TEXT}.\n",
}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return written(tmp_path, PAGES)


def written(folder: Path, pages: dict[str, str]) -> tuple[Path, Path]:
    for path, text in pages.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return folder / "alpha-notes", folder / "beta"


def test_links_that_name_their_own_base_lead_to_its_entries(folders: tuple[Path, Path]) -> None:
    with agent("mcp", "--toolset", "kb", *folders) as reader:
        links = reader.call("kb_get", entry_id="a")["entry"]["outlinks"]
        assert {link["id"] for link in links} == {"c"}
        back = reader.call("kb_backlinks", entry_id="c", kb_name="alpha")
        assert sorted({(link["id"], link["kb_name"]) for link in back["backlinks"]}) == [("a", "alpha"), ("b", "beta")]
        assert reader.call("kb_qa_validate")["issues"] == []
        for name in filter(None, NAMES):
            assert reader.call("kb_get", entry_id="c", kb_name=name)["entry"]["kb_name"] == "alpha"
            assert reader.call("kb_get", entry_id=f"{name}:c")["entry"]["kb_name"] == "alpha"
    with agent("mcp", "--toolset", "notes", *folders) as reader:
        assert "# C" in reader.text("read", page="alpha-notes:c")


def test_they_do_so_on_the_command_line_in_the_browser_and_in_editors(folders: tuple[Path, Path]) -> None:
    alpha, beta = folders
    shell = Shell(alpha)
    assert [finding["rule"] for finding in shell("check", "--json").json["findings"]] == ["orphan_entry"]
    assert len(shell.ok("links", "c", "--json").json["back"]) == len(NAMES) * 2
    with served(alpha, beta) as server:
        eventually(lambda: server.ask("GET", "/health/ready").status == 200)
        for page, links in (("a", 3), ("@beta/b", 2)):
            html = server.ask("GET", f"/p/{page}").body.decode()
            assert "wanted" not in html
            assert html.count('class="page-link" href="/p/c"') == links
        assert server.ask("GET", "/p/@alpha-notes/a").headers["location"] == "/p/a"
    with editing(alpha) as editor:
        editor.open("a.md")
        editor.diagnosed("a.md")


def test_a_move_keeps_the_name_and_rewrites_the_rest(folders: tuple[Path, Path]) -> None:
    shell = Shell(folders[0])
    shell.ok("mv", "c", "d")
    assert (folders[0] / "a.md").read_text() == PAGES["alpha-notes/a.md"].replace(": c\n", ": d\n").replace(
        ":c]]", ":d]]"
    ).replace("[[c]]", "[[d]]")
    assert [finding["rule"] for finding in shell("check", "--json").json["findings"]] == ["orphan_entry"]


def test_a_name_that_is_declared_later_holds_from_the_next_start(folders: tuple[Path, Path]) -> None:
    shell = Shell(folders[0])
    shell.ok("check")
    (folders[0] / "kb.yaml").write_text("name: gamma\n")
    (folders[0] / "s.md").write_text("# S\n\n[[alpha:c|gone]] [[gamma:c|there]] [[gamma:none|x]]\n")
    lost = [
        finding["message"]
        for finding in shell("check", "--json").json["findings"]
        if finding["path"] == "s.md" and finding["line"]
    ]
    assert lost == ["The link to 'alpha:c' leads nowhere.", "The link to 'gamma:none' leads nowhere."]
    (folders[0] / "kb.yaml").write_text("name: alpha\n")
    lost = [
        finding["message"]
        for finding in shell("check", "--json").json["findings"]
        if finding["path"] == "s.md" and finding["line"]
    ]
    assert lost == ["The link to 'gamma:c' leads nowhere.", "The link to 'gamma:none' leads nowhere."]


def test_of_two_bases_of_one_name_each_means_itself_and_others_mean_the_first(tmp_path: Path) -> None:
    alpha, beta = written(tmp_path, PAGES)
    (tmp_path / "twin").mkdir()
    (tmp_path / "twin" / "kb.yaml").write_text("name: alpha\n")
    (tmp_path / "twin" / "c.md").write_text("# Twin\n\n[[alpha:d]] [[alpha-2:d]] [[twin:d]]\n")
    (tmp_path / "twin" / "d.md").write_text("# D\n")
    with agent("mcp", "--toolset", "kb", alpha, tmp_path / "twin", beta) as reader:
        links = reader.call("kb_get", entry_id="b")["entry"]["outlinks"]
        assert {link["kb_name"] for link in links} == {"alpha"}
        links = reader.call("kb_get", entry_id="c", kb_name="twin")["entry"]["outlinks"]
        assert [(link["id"], link["kb_name"]) for link in links] == [("d", "alpha-2")]
        back = reader.call("kb_backlinks", entry_id="d", kb_name="alpha-2")
        assert {(link["id"], link["kb_name"]) for link in back["backlinks"]} == {("c", "alpha-2")}
        assert reader.call("kb_get", entry_id="c", kb_name="alpha")["entry"]["title"] == "C"


def test_a_name_that_fits_several_bases_names_them(tmp_path: Path) -> None:
    for parent in ("one", "two"):
        folder = tmp_path / parent / "notes"
        folder.mkdir(parents=True)
        (folder / "kb.yaml").write_text(f"name: {parent}\n")
        (folder / "a.md").write_text("# A\n")
    with agent("mcp", "--toolset", "kb", tmp_path / "one" / "notes", tmp_path / "two" / "notes") as reader:
        refused = reader.refusal("kb_orient", kb_name="notes")
        assert (refused["error_code"], refused["did_you_mean"]) == ("KB_NOT_FOUND", ["one", "two"])
        assert "several" in refused["error"]
