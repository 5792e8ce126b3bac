"""Links to headings as Obsidian writes them lead to their headings in every face."""

from __future__ import annotations

import re
from html import unescape
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote

import pytest
from lsprotocol import types

from agent import agent, text_of
from editor import Editor, editing
from serving import Server, served
from shell import Shell
from support import new_repo

KINDS = {
    "Stardew: The Farm": "Stardew The Farm",
    "Run `npm ci` first": "Run `npm ci` first",
    "A **very** _odd_ step": "A **very** _odd_ step",
    "Why? Because!": "why BECAUSE",
    "C# & .NET (2.0)": "C NET 2 0",
    "'Quoted' command...": "'Quoted' command...",
    "Cost: 5 $ / day": "Cost 5 day",
    "See [[Other page|this]]": "See Other page this",
    "Read [the manual](https://x.example/m)": "Read the manual https x example m",
    "测试：第 1.2 节（新）": "测试：第 1 2 节（新）",  # noqa: RUF001 - wide marks stay
    "סיכום: שלב 2": "סיכום שלב 2",
    "مرحلة (أ) next": "مرحلة أ next",
    "Marked ^mark": "Marked",
    "Tagged #done in it": "Tagged done in it",
    "Left | right": "Left right",
    "A&amp;B": "A B",
}
"""Source of a heading, and a link's fragment."""
TARGET = "# T\n\n" + "".join(f"## {heading}\n\nText {at}.\n\n" for at, heading in enumerate(KINDS))
SOURCE = "# I\n\n" + "".join(f"[[t#{fragment}]]\n\n![[t#{fragment}]]\n\n" for fragment in KINDS.values())


@pytest.fixture
def folder(tmp_path: Path, cache_dir: Path) -> Path:
    assert cache_dir.is_dir()
    return new_repo(tmp_path / "base", {"t.md": TARGET, "i.md": SOURCE}).path


def dead_anchors(folder: Path) -> list[str]:
    findings = Shell(folder)("check", "--json").json["findings"]
    return [str(finding["message"]) for finding in findings if finding["rule"] == "dead_anchor"]


def test_check_read_and_edits_find_every_kind_of_heading(folder: Path) -> None:
    assert dead_anchors(folder) == []
    for at, (heading, fragment) in enumerate(KINDS.items()):
        assert Shell(folder).ok("read", f"t#{fragment}").text == f"## {heading}\n\nText {at}.\n\n"
    with agent("mcp", folder, "--tier", "write", "--no-embed") as client:
        for at, fragment in enumerate(KINDS.values()):
            assert f"Text {at}." in client.text("read", page=f"t#{fragment}")
            client.text("edit", page="t", changes=[{"do": "append", "section": fragment, "text": f"More {at}."}])
    for at in range(len(KINDS)):
        assert f"Text {at}.\n\nMore {at}.\n" in (folder / "t.md").read_text("utf-8")


def html(server: Server, path: str) -> str:
    """A page, when the folder is indexed."""
    answer = server.ask("GET", path, headers={"Accept": "text/html"})
    while answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
        answer = server.ask("GET", path, headers={"Accept": "text/html"})
    return answer.body.decode()


def test_pages_show_the_embedded_sections_and_link_to_elements_that_are_there(folder: Path) -> None:
    with served(folder) as server:
        page, target = html(server, "/p/i"), html(server, "/p/t")
    elements = set(map(unescape, re.findall(r'<h2 id="([^"]+)"', target)))
    links = [unquote(unescape(match)) for match in re.findall(r'href="/p/t#([^"]+)"', page)]
    assert len(set(links)) == len(KINDS)
    assert set(links) <= elements
    for at in range(len(KINDS)):
        assert f"<p>Text {at}.</p>" in page


def rename(editor: Editor, path: str, line: int, name: str) -> None:
    """Rename the heading on a line, and carry the edits out."""
    editor.open(path)
    document = types.TextDocumentIdentifier(editor.uri(path))
    edit = editor.call(
        editor.client.text_document_rename_async, types.RenameParams(document, types.Position(line, 4), name)
    )
    assert edit is not None
    editor.apply(edit)


@pytest.mark.soak
def test_a_rename_of_a_heading_edits_the_links_in_every_spelling(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    files: dict[str, str | bytes] = {
        "t.md": "# T\n\n## Stardew: The Farm\n\n[[#Stardew The Farm]]\n",
        "i.md": "[[t#Stardew The Farm]] [[t#Stardew: The Farm|x]] [y](t.md#Stardew%20The%20Farm) "
        "[z](t.md#stardew-the-farm) [[T#T#Stardew The Farm]]\n",
    }
    repo = new_repo(tmp_path / "base", files)
    with editing(repo.path) as editor:
        rename(editor, "t.md", 2, "Terraria: Game")
    assert (repo.path / "t.md").read_text() == "# T\n\n## Terraria: Game\n\n[[#Terraria Game]]\n"
    assert (repo.path / "i.md").read_text() == (
        "[[t#Terraria Game]] [[t#Terraria Game|x]] [y](t.md#Terraria%20Game) "
        "[z](t.md#terraria-game) [[T#T#Terraria Game]]\n"
    )
    assert dead_anchors(repo.path) == []


def test_a_rename_to_the_name_of_another_heading_leaves_every_link_at_its_heading(
    tmp_path: Path, cache_dir: Path
) -> None:
    """The other heading's anchor, and paths through the renamed heading, change with it; ids of its own stay."""
    assert cache_dir.is_dir()
    files: dict[str, str | bytes] = {
        "t.md": "# T\n\n## Use\n\n### Deep\n\n## Use\n\n### Deep\n\n## Set up {#setup} \n\n## Mark ^m\n",
        "i.md": "[a](t.md#use) [b](t.md#use-1) [[t#Use#Deep]] [c](t.md#deep-1) [[t#setup]] [[t#^m]]\n",
    }
    repo = new_repo(tmp_path / "base", files)
    with editing(repo.path) as editor:
        rename(editor, "t.md", 2, "Install")
        rename(editor, "t.md", 10, "First steps")
        rename(editor, "t.md", 12, "Marker")
    assert "## First steps {#setup}" in (repo.path / "t.md").read_text()
    assert "## Marker ^m\n" in (repo.path / "t.md").read_text()
    assert (repo.path / "i.md").read_text() == (
        "[a](t.md#install) [b](t.md#use) [[t#Deep]] [c](t.md#deep-1) [[t#setup]] [[t#^m]]\n"
    )
    assert dead_anchors(repo.path) == []


def test_an_id_on_the_line_below_a_heading_is_its_anchor_and_survives_an_edit(folder: Path) -> None:
    """As kramdown has it; the line is not shown and is no part of the section's text."""
    text = "## 1.0.0 / 2013-05-06\n{: #v1-0-0}\n\nx\n\nTwo\n---\n{: .note #two }\n[a](#v1-0-0) [b](#two)\n"
    (folder / "h.md").write_text(text)
    assert dead_anchors(folder) == []
    assert Shell(folder).ok("read", "h#v1-0-0").text == "## 1.0.0 / 2013-05-06\n{: #v1-0-0}\n\nx\n\n"
    assert Shell(folder).ok("read", "h#two").text.startswith("Two\n---\n")
    with agent("mcp", folder, "--tier", "write", "--no-embed") as client:
        change = {"do": "section", "section": "#v1-0-0", "text": "## 1.0.0 / 2013-05-06\n\nNew."}
        client.text("edit", page="h", changes=[change])
    assert (folder / "h.md").read_text() == text.replace("\nx\n", "\nNew.\n")
    with served(folder) as server:
        page = html(server, "/p/h")
    assert '<h2 id="v1-0-0">' in page
    assert '<h2 id="two">' in page
    assert "{:" not in page.partition("<main")[2]


def test_a_block_id_in_a_heading_reads_the_section_and_one_below_a_table_keeps_its_blank_line(folder: Path) -> None:
    (folder / "n.md").write_text("## Head ^h1\n\ntext\n\n## N\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n^tab-1\n\nend\n")
    assert Shell(folder).ok("read", "n#^H1").text == "## Head ^h1\n\ntext\n\n"
    with agent("mcp", folder, "--tier", "write", "--no-embed") as client:
        change = {"do": "block", "block": "tab-1", "text": "| a | b |\n|---|---|\n| 9 | 9 |"}
        client.text("edit", page="n", changes=[change])
        assert 'section "#head-h1"' in text_of(client.raw("edit", page="n", changes=[{**change, "block": "h1"}]))
    assert (folder / "n.md").read_text().endswith("| 9 | 9 |\n\n^tab-1\n\nend\n")
