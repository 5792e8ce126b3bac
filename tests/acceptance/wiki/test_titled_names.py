"""A folder that an Otterwiki with its default settings made: names in title case, in every tool and in REST."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from lsprotocol.types import HoverParams, MarkupContent, TextDocumentIdentifier

from agent import agent
from editor import editing
from remotes.replicas import wait_ready
from serving import commonplace, served
from support import new_repo

FILES = {
    "home.md": "---\ncategory: index\n---\n[[Actors/Iran]] and [[wanted page]]\n",
    "actors/iran.md": "---\nlast_updated: 2026-03-08\n---\nAttrition. [[Home]]\n",
    "titled.md": "---\ntitle: kept as written\nlast_updated: 2026-03-07\n---\nAttrition.\n",
    "alone.md": "---\nlast_updated: 2026-03-06\n---\nNobody leads here.\n",
}


def test_every_tool_names_notes_as_otterwiki_does(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "wiki", FILES)
    with agent("mcp", str(repo.path), "--toolset", "wiki", env={}) as wiki:
        shown = wiki.text("read_note", path="actors/iran")
        assert shown.startswith("# Iran\nPath: Actors/Iran\n")
        assert "\nLinks to: Home\nLinked from: Home\n" in shown
        assert wiki.text("read_note", path="Titled").startswith("# kept as written\nPath: Titled\n")
        assert wiki.text("list_notes", prefix="Actors/").startswith(
            "Found 1 notes matching prefix=Actors/:\n\n- Actors/Iran (2 words"
        )
        assert "1. Titled (score" in wiki.text("search_notes", query="attrition kept")
        assert "  - Wanted Page\n" in wiki.text("get_links", path="Home")
        orphans = wiki.text("find_orphaned_notes")
        assert [line[2:].split(" (")[0] for line in orphans.splitlines()[2:]] == ["Titled", "Alone"]
        assert wiki.text("write_note", path="Trends/New One", content="x\n").startswith("Created Trends/New One (")
        assert (repo.path / "trends/new one.md").exists()
        assert wiki.text("write_note", path="trends/NEW one", content="y\n").startswith("Updated Trends/New One (")
        assert wiki.text("get_history", path="trends/new one").startswith("History for Trends/New One (2 revisions)")
        assert wiki.text("rename_note", path="Actors/Iran", new_path="Actors/Persia").startswith(
            "Renamed Actors/Iran -> Actors/Persia ("
        )
        assert "| Actors/Iran, Actors/Persia, Home\n" in wiki.text("get_recent_changes", limit=1)
        assert wiki.text("delete_note", path="alone") == "Deleted Alone"


@pytest.mark.parametrize(
    ("home", "setting", "name"),
    [
        ("home", None, "Actors/Iran"),
        ("home", "true", "actors/iran"),
        ("Home", None, "actors/iran"),
        ("start", None, "actors/iran"),
        ("start", "False", "Actors/Iran"),
    ],
)
@pytest.mark.sampled(4)
def test_rest_follows_the_setting_and_without_one_the_folder(
    tmp_path: Path, home: str, setting: str | None, name: str
) -> None:
    repo = new_repo(tmp_path / "wiki", {f"{home}.md": f"[[{name}]]\n", "actors/iran.md": "Attrition.\n"})
    with served(repo.path, "--toolset", "wiki", env={"RETAIN_PAGE_NAME_CASE": setting} if setting else {}) as server:

        def ask(path: str) -> Any:
            return server.ask("GET", f"/api/v1{path}").json

        page = ask(f"/pages/{quote('actors/iran')}")
        assert (page["path"], page["name"]) == (name, name.partition("/")[2])
        assert name in [row["path"] for row in ask("/pages")["pages"]]
        assert ask("/search?q=attrition")["results"][0]["path"] == name
        assert name in [node["path"] if isinstance(node, dict) else node for node in ask("/links")["nodes"]]
        assert [edge["target"] for edge in ask("/links")["edges"]] == [name]
        assert name in ask("/changelog")["entries"][0]["pages_affected"]
        at = repo.git("rev-parse", "HEAD")
        assert name in [row["path"] for row in ask(f"/pages?at={at}")["pages"]]
        assert ask(f"/pages/{quote('actors/iran')}?at={at}")["path"] == name


LINKS = "[[Actors/Iran]] [[actors/iran]] [[Iran#Aims|the state]] ![[Iran]] [i](actors/iran.md) [[Actors/Other]]\n"
REWRITTEN = (
    "[[Actors/New-Target]] [[actors/new-target]] [[New-Target#Aims|the state]] ![[New-Target]] "
    "[i](actors/new-target.md) [[Actors/Other]]\n"
)


@pytest.mark.parametrize("face", ["mcp", "rest", "command"])
@pytest.mark.parametrize(("setting", "shown"), [(None, True), ("true", False)])
@pytest.mark.sampled(6)
def test_a_rename_writes_links_as_the_wiki_shows_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, face: str, setting: str | None, *, shown: bool
) -> None:
    files = {"home.md": LINKS, "actors/iran.md": "# I\n\n## Aims\n", "actors/other.md": "x\n"}
    repo = new_repo(tmp_path / "wiki", files)
    env = {"RETAIN_PAGE_NAME_CASE": setting} if setting else {}
    if face == "mcp":
        with agent("mcp", str(repo.path), "--toolset", "wiki", env=env) as wiki:
            wiki.text("rename_note", path="actors/iran", new_path="actors/new-target")
    elif face == "rest":
        with served(repo.path, env=env) as server:
            assert server.page("POST", "actors/iran", {"new_path": "actors/new-target"}, below="/rename").status == 200
    else:
        monkeypatch.setenv("RETAIN_PAGE_NAME_CASE", setting or "")
        assert commonplace("mv", "actors/iran", "actors/new-target", "-C", repo.path).returncode == 0
    of_files = REWRITTEN.replace("Actors/New-Target", "actors/new-target").replace("New-Target", "new-target")
    assert (repo.path / "home.md").read_text() == (REWRITTEN if shown else of_files)


FACES = {
    "home.md": "[[Actors/Iran]] in the [[Middle East/Egypt]]\n",
    "actors/iran.md": "Attrition.\n",
    "actors/iraq.md": "# IRAQ\n\n[[Iran]]\n",
    "middle east/egypt.md": "---\ntitle: the old land\n---\nOld. [[iran]]\n",
}


@pytest.mark.parametrize(("setting", "iran"), [("", "Iran"), ("true", "iran")])
@pytest.mark.sampled(2)
def test_every_face_names_a_page_and_a_folder_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, iran: str
) -> None:
    repo = new_repo(tmp_path / "wiki", FACES)
    folder, east = ("Actors", "Middle East") if iran == "Iran" else ("actors", "middle east")
    if setting:
        monkeypatch.setenv("RETAIN_PAGE_NAME_CASE", setting)

    def run(*words: str) -> str:
        return commonplace(*words, "-C", repo.path).stdout

    assert run("list", "--prefix", "actors/") == f"actors/iran.md\t{iran}\t\t\t\nactors/iraq.md\tIRAQ\t\t\t\n"
    for words in (("read", "actors/iran", "--json"), ("list", "--json"), ("links", "home", "--json")):
        assert f'"title":"{iran}"' in run(*words)
    assert run("search", "attrition").startswith(f"actors/iran.md  {iran}\n")
    assert [name for name in ("IRAQ", "the old land") if name not in run("links", "actors/iran")] == []
    at = repo.git("rev-parse", "HEAD")
    with served(repo.path, env={"RETAIN_PAGE_NAME_CASE": setting} if setting else {}) as server:
        wait_ready(server)
        for path in ("/p/actors/iran", f"/p/actors/iran?at={at}", "/p/home", "/timeline", "/search?q=attrition"):
            assert f">{iran}</" in server.ask("GET", path).body.decode(), path
        for path in ("/p/actors/iran", "/tree/actors/", "/tree/", f"/tree/?at={at}", "/overview"):
            assert f">{folder}" in server.ask("GET", path).body.decode(), path
        assert f"<h1>{east}</h1>" in server.ask("GET", "/tree/middle%20east/").body.decode()
    with agent("mcp", str(repo.path), "--toolset", "notes", env={"RETAIN_PAGE_NAME_CASE": setting}) as notes:
        assert f"actors/iran.md ({iran})" in notes.text("search", query="attrition")
    with editing(repo.path) as editor:
        editor.open("home.md")
        params = HoverParams(TextDocumentIdentifier(editor.uri("home.md")), editor.position(FACES["home.md"], 4))
        hover = editor.call(editor.client.text_document_hover_async, params)
        assert isinstance(hover.contents if hover else None, MarkupContent)
        assert f"**{iran}** (actors/iran.md)" in hover.contents.value
