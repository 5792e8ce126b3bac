"""Link reference definitions that no text uses are links: seen, checked and kept right by moves in every face."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from agent import agent
from editor import editing
from serving import commonplace
from shell import Shell
from support import GitRepo, new_repo

INDEX = """# Index

[used][u] and `[code]: old.md`

[u]: notes/old.md#part
[unused]: <notes/old.md> "title"
> [quoted]: notes/old.md
[self]: #index
[//]: # (a comment)
[web]: https://example.org/old.md
[u]: notes/second-of-a-label.md
[gone]: gone.md
[picture]: plan.png

```
[fenced]: notes/old.md
```
"""
PAGES: dict[str, str | bytes] = {
    "index.md": INDEX,
    "notes/old.md": "# Old\n\n## Part\n\n[back]: ../index.md\n",
    "alone.md": "# Alone\n\n[only]: notes/old.md\n",
    "plan.png": b"png",
}


@pytest.fixture
def repo(tmp_path: Path, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    return new_repo(tmp_path / "base", PAGES)


def test_they_are_links(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    assert {element["path"] for element in shell("links", "notes/old", "--back", "--json").json["back"]} == {
        "alone.md",
        "index.md",
    }
    findings = shell("check", "--json").json["findings"]
    assert {(finding["rule"], finding["path"], finding["line"]) for finding in findings} == {
        ("broken_link", "index.md", 12),
        ("orphan_entry", "alone.md", 0),
    }
    with editing(repo.path) as editor:
        editor.open("alone.md")
        params = types.DefinitionParams(types.TextDocumentIdentifier(editor.uri("alone.md")), types.Position(2, 12))
        assert editor.uri("notes/old.md") in repr(editor.call(editor.client.text_document_definition_async, params))


def test_a_move_rewrites_them_and_a_move_back_restores_every_byte(repo: GitRepo) -> None:
    assert commonplace("mv", "notes/old", "./new", "--kb", repo.path).returncode == 0
    text = INDEX.replace("]: notes/old.md", "]: new.md").replace("<notes/old.md>", "<new.md>")
    text = text.replace("[fenced]: new.md", "[fenced]: notes/old.md")
    assert (repo.path / "index.md").read_text() == text
    assert (repo.path / "alone.md").read_text() == "# Alone\n\n[only]: new.md\n"
    assert (repo.path / "new.md").read_text() == "# Old\n\n## Part\n\n[back]: index.md\n"
    with agent("mcp", repo.path, "--tier", "write", "--no-embed") as client:
        client.text("move", page="new", to="notes/old")
    assert {path: (repo.path / path).read_bytes() for path in PAGES} == {
        path: text if isinstance(text, bytes) else text.encode() for path, text in PAGES.items()
    }
