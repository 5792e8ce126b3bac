"""An Obsidian vault: what `write`, `edit` and `move` make keeps its ways of linking, its properties and block ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent import agent
from support import GitRepo, new_repo

SETTINGS = json.dumps(
    {"newLinkFormat": "shortest", "useMarkdownLinks": False, "attachmentFolderPath": "files"}, indent=2
)
TEA = (
    "---\naliases:\n  - Sencha\ntags: [tea, drinks/green]\ncssclasses: wide # a theme's\ndue: 2026-02-01\n---\n"
    "# Green tea\r\n\r\n## Brewing\n\nWater of 80 degrees. ^heat\n\n- [ ] buy a pot\n\t- [x] of clay\n\n"
    "> [!note]- Folded\n> Of ==spring==. %%hidden%%\n\n```dataview\nLIST FROM [[Pots]]\n```\n"
)
HUB = (
    "# Hub\n\n- [[Green tea]]\n- [[Green tea|the green one]]\n- [[Sencha]]\n- [[Green tea#Brewing]]\n"
    "- [[Green tea#^heat]]\n- ![[Green tea#^heat]]\n- ![[pot.png|200]]\n- [by path](drinks/Green%20tea.md)\n"
    "- `[[Green tea]]` is code, %% a comment %%\n- [[Pots]]\n"
)
VAULT: dict[str, str | bytes] = {
    ".obsidian/app.json": SETTINGS,
    ".obsidian/workspace.json": '{"main": {}}\n',
    "Hub.md": HUB,
    "drinks/Green tea.md": TEA,
    "drinks/Pots.md": "# Pots\n\nFor [[Green tea]].\n",
    "files/pot.png": b"\x89PNG\r\n",
    "Board.canvas": '{"nodes": [{"type": "file", "file": "drinks/Green tea.md"}]}\n',
}


@pytest.fixture
def vault(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "vault", VAULT)


def files_of(vault: GitRepo) -> dict[str, bytes]:
    """Every file that is not Git's, by path."""
    paths = (path for path in vault.path.rglob("*") if path.is_file())
    found_contents = {path.relative_to(vault.path).as_posix(): path.read_bytes() for path in paths}
    return {path: content for path, content in found_contents.items() if path in VAULT or path.endswith(".md")}


def expected(changes: dict[str, str | None]) -> dict[str, bytes]:
    """The vault with some files changed, added, or (None) gone."""
    whole = {**VAULT, **changes}
    return {
        path: text if isinstance(text, bytes) else text.encode() for path, text in whole.items() if text is not None
    }


def test_a_page_that_moves_is_linked_as_before_in_the_shortest_form(vault: GitRepo) -> None:
    with agent("mcp", vault.path, "--tier", "write", "--commit", "auto", "--no-embed") as client:
        client.text("move", page="Green tea", to="drinks/Gyokuro.md")
        moved = HUB.replace("- [[Green tea]]\n", "- [[Gyokuro]]\n").replace("[[Green tea|", "[[Gyokuro|")
        moved = moved.replace("[[Green tea#", "[[Gyokuro#").replace("drinks/Green%20tea.md", "drinks/Gyokuro.md")
        pots = "# Pots\n\nFor [[Gyokuro]].\n"
        changes: dict[str, str | None] = {"Hub.md": moved, "drinks/Pots.md": pots, "drinks/Green tea.md": None}
        assert files_of(vault) == expected({**changes, "drinks/Gyokuro.md": TEA})
        client.text("move", page="Gyokuro", to="drinks/Green tea.md")
    assert files_of(vault) == expected({})
    assert vault.git("status", "--short") == ""


def test_a_page_that_moves_to_another_folder_keeps_links_by_name_byte_for_byte(vault: GitRepo) -> None:
    with agent("mcp", vault.path, "--tier", "write", "--commit", "auto", "--no-embed") as client:
        client.text("move", page="drinks/Green tea.md", to="archive/2025/Green tea.md")
    hub = HUB.replace("(drinks/Green%20tea.md)", "(archive/2025/Green%20tea.md)")
    assert files_of(vault) == expected({"Hub.md": hub, "drinks/Green tea.md": None, "archive/2025/Green tea.md": TEA})


def test_edits_keep_properties_block_ids_and_every_other_byte(vault: GitRepo) -> None:
    changes = [
        {"do": "block", "block": "^heat", "text": "Water of 75 degrees."},
        {"do": "task", "task": "buy a pot"},
        {"do": "fields", "fields": {"due": "2026-03-01"}},
        {"do": "append", "section": "Brewing", "text": "See [[Pots]]."},
    ]
    with agent("mcp", vault.path, "--tier", "write", "--commit", "auto", "--no-embed") as client:
        client.text("edit", page="Sencha", changes=changes)
        block = client.text("read", page="Green tea#^heat")
    tea = TEA.replace("80 degrees", "75 degrees").replace("- [ ] buy", "- [x] buy").replace("2026-02-01", "2026-03-01")
    now = (vault.path / "drinks/Green tea.md").read_bytes().decode()
    assert now == tea + "\nSee [[Pots]].\n"
    assert "Water of 75 degrees. ^heat" in block
    assert files_of(vault) == expected({"drinks/Green tea.md": now})


def test_a_new_page_is_written_as_given_and_answers_its_wanted_link(vault: GitRepo) -> None:
    text = "---\naliases: [Kyusu]\n---\n# Side-handle pot\n\n![[pot.png|100]] of [[Pots]]. ^clay\n"
    with agent("mcp", vault.path, "--tier", "write", "--commit", "auto", "--no-embed") as client:
        client.text("write", page="drinks/Side-handle pot", text=text)
        assert "of [[Pots]]. ^clay" in client.text("read", page="[[Kyusu#^clay]]")
        assert "drinks/Side-handle pot.md" in client.text("links", page="Pots", kind="in")
    assert files_of(vault) == expected({"drinks/Side-handle pot.md": text})
