"""Wanted pages are the same in every face: what a link means decides, not how it is written."""

from __future__ import annotations

import json
import re
from html import unescape
from http import HTTPStatus
from pathlib import Path

import pytest

from agent import agent
from serving import Server, commonplace, served
from support import new_repo

PAGES = {
    "one/a.md": "[x](./miss.md) ![](gone.png) [[other:there]] [[other:lost]] [[Not yet]]\n",
    "two/b.md": "[x](./miss.md) [y](../one/miss.md#part) [[not yet]] [z](Not%20yet.md) [[./F#]]\n",
    "c.md": "[[/one/miss]] [[one/miss.md]]\n",
}
WANTED = {
    "one/miss": ["c.md", "one/a.md", "two/b.md"],
    "Not yet": ["one/a.md", "two/b.md"],
    "gone.png": ["one/a.md"],
    "other:lost": ["one/a.md"],
    "two/F#": ["two/b.md"],
    "two/miss": ["two/b.md"],
}


@pytest.fixture
def folders(tmp_path: Path, cache_dir: Path) -> list[Path]:
    assert cache_dir.is_dir()
    new_repo(tmp_path / "base", dict(PAGES))
    new_repo(tmp_path / "other", {"there.md": "# There\n"})
    return [tmp_path / "base", tmp_path / "other"]


def page(server: Server, path: str) -> str:
    while (answer := server.ask("GET", path, headers={"Accept": "text/html"})).status == HTTPStatus.SERVICE_UNAVAILABLE:
        pass
    return unescape(answer.body.decode())


def test_every_face_lists_the_same_wanted_pages(folders: list[Path]) -> None:
    done = commonplace("wanted", *(f"--kb={folder}" for folder in folders), "--json")
    found_value = json.loads(done.stdout)["wanted"]
    assert {element["name"]: element["sources"] for element in found_value} == WANTED
    with agent("mcp", *folders, "--no-embed") as client:
        lines = client.text("links", kind="wanted").splitlines()[1:-1]
        assert {line.partition(" <- ")[0]: line.partition(" <- ")[2].split(", ") for line in lines} == WANTED
        of_page = client.text("links", page="base:two/b.md", kind="wanted")
        assert set(re.findall(r"\?\? (.*) \(not there\)", of_page)) == {"one/miss", "not yet", "two/F#", "two/miss"}
    with served(*folders) as server:
        shown = page(server, "/wanted")
        names = re.findall(r'class="wanted" href="[^"]*">([^<]*)</a>', shown)
        assert set(names) == set(WANTED)
        assert "6 names in 11 links" in shown
        targets = re.findall(r'class="wanted" href="([^"]*)"', page(server, "/p/two/b"))
        assert targets[0] == "/wanted/two/miss"
