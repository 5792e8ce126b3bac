"""Code in snippets, notices of searches that only exclude, and places of broken links, in every face."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

from agent import agent
from serving import Server, served
from shell import Shell
from support import new_repo

CODE = "[int][Math]::Round(5 / 2, 1) | Sort-Object *x*"
TEXT = "Open Settings > Sync history now."
PAGES: dict[str, str | bytes] = {
    "round.md": f"# Round\n\n```powershell\n{CODE}\n```\n\nOpen **[[Settings#Sync history]]** ![[cog.svg#icon]] now.\n",
    "Settings.md": "# Settings\n\n## Sync history\n\nQuiet.\n\n[[lost]]\n\nAnd [[lost|again]].\n",
}
HTML = {"Accept": "text/html"}
WITHOUT = "it asks for the pages without 'Quiet'."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_repo(tmp_path_factory.mktemp("plain") / "base", PAGES).path


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with served(folder) as running:
        while running.ask("GET", "/", headers=HTML).status == 503:
            pass
        yield running


def web(server: Server, path: str) -> str:
    """The text of a page's main part."""
    page = server.ask("GET", path, headers=HTML).body.decode().partition("<main")[2]
    return " ".join(unescape(re.sub(r"<[^>]*>", "", page)).split())


def answers(folder: Path, server: Server, query: str) -> dict[str, str]:
    """Text of the answer of a search, by face."""
    requested_query = quote(query)
    done = Shell(folder)("search", "--no-color", "--", query)
    found_values = {
        "command": " ".join(f"{done.text} {done.stderr}".split()),
        "browser": web(server, f"/search?q={requested_query}"),
        "REST": repr(server.ask("GET", f"/api/v1/search?q={requested_query}").json),
    }
    with agent("mcp", folder, "--no-embed") as client:
        found_values["notes"] = client.text("search", query=query)
    with agent("mcp", "--toolset", "kb", folder, "--no-embed") as client:
        found_values["kb"] = repr(client.call("kb_search", query=query))
    return {face: text.replace("\\'", "'") for face, text in found_values.items()}


def test_every_face_shows_code_as_it_stands_and_links_as_text(folder: Path, server: Server) -> None:
    for query, shown in (("round math", CODE), ("history now", TEXT)):
        for face, text in answers(folder, server, query).items():
            if face != "notes" or shown == CODE:  # agents of that toolset get the Markdown
                assert shown in " ".join(text.split()), (face, text)
    assert TEXT in web(server, "/p/Settings").partition("Linked from")[2]
    assert TEXT in Shell(folder).ok("links", "Settings", "--back").text


@pytest.mark.parametrize("query", ["-Quiet", "NOT Quiet"])
def test_every_face_says_that_a_search_only_excludes(folder: Path, server: Server, query: str) -> None:
    for face, text in answers(folder, server, query).items():
        assert WITHOUT in " ".join(text.split()), (face, text)
        assert "round" in text, face


def test_every_face_says_how_many_places_a_broken_link_has(folder: Path, server: Server) -> None:
    said = "The link to 'lost' leads nowhere. 2 places: lines 7 and 9."
    shell = Shell(folder)
    assert said in shell("check").text
    (found_value,) = [
        finding
        for finding in shell("check", "--json").json["findings"]
        if finding["rule"] == "broken_link" and "lost" in finding["message"]
    ]
    assert (found_value["line"], found_value["lines"]) == (7, [7, 9])
    broken = shell.ok("links", "--broken")
    assert "3 broken links in 2 pages; `check` counts a target once in a page: 2." in broken.stderr
    assert said in web(server, "/findings")
    assert "Settings (lines 7 and 9)" in web(server, "/broken")
    with agent("mcp", "--toolset", "kb", folder, "--no-embed") as client:
        issues = client.call("kb_qa_validate")["issues"]
    assert said in [issue["message"] for issue in issues]
