"""Names with `#`, `?` and `^`: the longest path that leads somewhere decides, in every face and through moves."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from pathlib import Path
from typing import cast

import pytest
from lsprotocol import types

from agent import agent
from editor import editing
from serving import Server, commonplace, served
from shell import Shell
from support import GitRepo, eventually, new_repo

INDEX = """# Index

- [[Lang/C#]]
- [[Lang/C]]
- [[C#|see]]
- [[Lang/C##Use]]
- [[Lang/C#Use]]
- [sharp](Lang/C#.md)
- [sharp](Lang/C%23.md#use)
- [plain](Lang/C.md#use)
- [[What?]]
- [what](What?.md)
- [[a^b]]
- [[C# basics]]
- ![](plan#2.png)
- [[C#/intro]]
"""
TARGETS = [
    "Lang/C#.md",
    "Lang/C.md",
    "Lang/C#.md",
    "Lang/C#.md",
    "Lang/C.md",
    "Lang/C#.md",
    "Lang/C#.md",
    "Lang/C.md",
    "What?.md",
    "What?.md",
    "a^b.md",
    "basics.md",
    "plan#2.png",
    "C#/intro.md",
]
PAGES: dict[str, str | bytes] = {
    "index.md": INDEX,
    "Lang/C.md": "# C\n\n## Use\n\nPlain.\n",
    "Lang/C#.md": "# C sharp\n\n## Use\n\nSharp.\n",
    "What?.md": "# What\n",
    "What.md": "# Not this\n",
    "a^b.md": "# Caret\n",
    "basics.md": "---\ntitle: C# basics\n---\nText.\n",
    "plan#2.png": b"png",
    "C#/intro.md": "# Introduction\n",
}


@pytest.fixture
def repo(tmp_path: Path, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    return new_repo(tmp_path / "base", PAGES)


def targets(repo: GitRepo, page: str = "index") -> list[str]:
    out = Shell(repo.path)("links", page, "--json").json["out"]
    return [element["path"] if element.get("path") else element["target"] for element in out]


def test_the_command_line(repo: GitRepo) -> None:
    assert targets(repo) == TARGETS
    findings = Shell(repo.path)("check", "--json").json["findings"]
    assert {finding["rule"] for finding in findings} <= {"unportable_name", "orphan_entry"}
    shell = Shell(repo.path)
    assert shell.ok("read", "Lang/C##Use").text == "## Use\n\nSharp.\n"
    assert shell.ok("read", "Lang/C#Use").text == "## Use\n\nPlain.\n"
    assert shell.ok("read", "C#").text == PAGES["Lang/C#.md"]
    assert shell("open", "C##Use", "--json").json["line"] == 3


def test_notes_kb_and_wiki(repo: GitRepo) -> None:
    with agent("mcp", repo.path, "--no-embed") as client:
        assert "Sharp." in client.text("read", page="Lang/C##Use")
        assert "Plain." in client.text("read", page="[[Lang/C#Use]]")
        assert "Lang/C#.md" in client.text("links", page="index")
    with agent("mcp", repo.path, "--toolset", "kb", "--no-embed") as client:
        entry = client.call("kb_get", entry_id="index")["entry"]
        pages = [target.removesuffix(".md") for target in TARGETS if not target.endswith(".png")]
        assert list(dict.fromkeys(outlink["id"] for outlink in entry["outlinks"])) == list(dict.fromkeys(pages))
        assert client.call("kb_get", entry_id="C##Use")["entry"]["id"] == "Lang/C#"
    with agent("mcp", repo.path, "--toolset", "wiki", "--no-embed") as client:
        linked = client.text("get_links", path="index").splitlines()
        pages = [line.removeprefix("  - ") for line in linked if line.startswith("  - ")]
        assert pages == ["Lang/C#", "Lang/C", "What?", "a^b", "basics", "C#/intro"]


def html(server: Server, path: str) -> str:
    """A page, when the folder is indexed."""
    while (answer := server.ask("GET", path, headers={"Accept": "text/html"})).status == HTTPStatus.SERVICE_UNAVAILABLE:
        pass
    return answer.body.decode()


def test_pages_for_people(repo: GitRepo) -> None:
    with served(repo.path) as server:
        page = html(server, "/p/index")
    article = page.partition("<article")[2].partition("</article>")[0]
    links = re.findall(r'<li><a [^>]*?href="([^"]+)"[^>]*>([^<]*)</a>', article)
    assert links == [
        ("/p/Lang/C%23", "Lang/C#"),
        ("/p/Lang/C", "Lang/C"),
        ("/p/Lang/C%23", "see"),
        ("/p/Lang/C%23#use", "Lang/C# &gt; Use"),
        ("/p/Lang/C#use", "Lang/C &gt; Use"),
        ("/p/Lang/C%23", "sharp"),
        ("/p/Lang/C%23#use", "sharp"),
        ("/p/Lang/C#use", "plain"),
        ("/p/What%3F", "What?"),
        ("/p/What%3F", "what"),
        ("/p/a%5Eb", "a^b"),
        ("/p/basics", "C# basics"),
        ("/p/C%23/intro", "C#/intro"),
    ]
    assert "plan%232.png" in article


def test_the_editor(repo: GitRepo) -> None:
    with editing(repo.path) as editor:
        editor.open("index.md")
        document = types.TextDocumentIdentifier(editor.uri("index.md"))
        for line, target in enumerate(TARGETS, start=2):
            params = types.DefinitionParams(document, types.Position(line, 5))
            found_value = editor.call(editor.client.text_document_definition_async, params)
            (location,) = cast("list[types.Location]", found_value if isinstance(found_value, list) else [found_value])
            assert location.uri == editor.uri(target), line


def moved(repo: GitRepo, old: str, new: str) -> str:
    done = commonplace("mv", old, new, "--kb", repo.path)
    assert done.returncode == 0, done.stderr
    return (repo.path / "index.md").read_text()


def test_moves_rewrite_the_links_that_mean_the_page_and_back(repo: GitRepo) -> None:
    other = moved(repo, "Lang/C#", "Lang/F#")
    assert other.splitlines()[2:9] == [
        "- [[Lang/F#]]",
        "- [[Lang/C]]",
        "- [[F#|see]]",
        "- [[Lang/F##Use]]",
        "- [[Lang/C#Use]]",
        "- [sharp](Lang/F%23.md)",
        "- [sharp](Lang/F%23.md#use)",
    ]
    assert targets(repo) == [target.replace("Lang/C#", "Lang/F#") for target in TARGETS]
    assert moved(repo, "Lang/F#", "Lang/C#") == INDEX
    assert "- [[Lang/D]]\n- [[C#|see]]\n" in moved(repo, "Lang/C", "Lang/D")
    assert targets(repo) == [target.replace("Lang/C.md", "Lang/D.md") for target in TARGETS]


def test_links_follow_a_name_that_comes_and_goes(repo: GitRepo) -> None:
    with agent("mcp", repo.path, "--toolset", "kb", "--tier", "write", "--no-embed") as client:

        def leads() -> list[str]:
            return [outlink["id"] for outlink in client.call("kb_get", entry_id="index")["entry"]["outlinks"]][:2]

        with_sharp = ["Lang/C#", "Lang/C"]
        assert leads() == with_sharp
        client.call("kb_get", entry_id="Lang/C#")
        client.call("kb_delete", entry_id="Lang/C#", kb_name="base")
        assert "Lang/C#" not in leads()
        assert leads()[0] == "Lang/C"
        (repo.path / "Lang/C#.md").write_text("# Again\n\n## Use\n")
        eventually(lambda: leads() == with_sharp)
    (repo.path / "Lang/C#.md").unlink()
    (repo.path / "Lang/C.md").unlink()
    completed = commonplace("wanted", "--kb", repo.path, "--json")
    assert {element["name"] for element in json.loads(completed.stdout)["wanted"]} >= {"Lang/C#", "Lang/C"}
