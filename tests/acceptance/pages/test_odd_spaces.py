"""Spaces as they are found: pages whose frontmatter is broken, spaces inside spaces, keys of every script."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent import agent
from spaces.engines import KINDS
from spaces.places import cn

FILES = {
    "fine.md": "---\npage_id: 3\ntitle: Fine\n---\n# Fine\n\nelephant three\n",
    "tab.md": "---\npage_id: 1\ntitle: Tab\nlabels:\n\t- a\n---\n# Tab page\n\nelephant one\n",
    "open.md": "---\npage_id: 2\ntitle: Open\nlabels: [b]\n\n# Open page\n\nelephant two\n",
    "mapped.md": "---\npage_id: [4\ntitle: Mapped\n---\n# Mapped page\n\nelephant four\n",
    "draft.md": "---\ntitle: Draft\n\t- broken\n---\nelephant without an id\n",
    "sub/.confluence.json": '{"spaceKey": "SUB"}',
    "sub/inner.md": "---\npage_id: 5\ntitle: Inner\n---\nelephant five\n",
    "sub/deep/inner.md": "---\npage_id: 6\ntitle: Deeper\n---\nelephant six\n",
}
NAMED = {
    "tab.md": "the front matter is not valid YAML",
    "open.md": "the front matter has no closing line '---'",
    "mapped.md": "the front matter is not valid YAML",
}


@pytest.fixture(params=KINDS)
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Mapping[str, str]:
    """The variables that choose the engine."""
    home = {"HOME": str(tmp_path)}
    return home if request.param == "embedded" else home | request.getfixturevalue("search_server").environment


def write(folder: Path, files: Mapping[str, str], **more: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / ".confluence.json").write_text(json.dumps({"spaceKey": "ODD", **more}))
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.soak
def test_pages_with_broken_frontmatter_are_found_named_and_counted(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    folder = write(tmp_path / "odd", FILES, pages={"4": "mapped.md"}, search={"indexName": "odd-broken"})
    for options in ((), ("--force",), ("--dry-run",)):
        done = cn(folder, "search", "index", *options, env=environment)
        assert (done.code, "4 pages" in done.text) == (1, True), done
        for path, reason in NAMED.items():
            assert f"Error: {path} was indexed with what could be read of it: {reason}" in done.stderr
        assert done.stderr.count("\n") == len(NAMED)
    rows = {row["page_id"]: row for row in cn(folder, "search", "elephant", "--json", env=environment).json["results"]}
    assert {row: rows[row]["title"] for row in rows} == {"1": "Tab", "2": "Open", "3": "Fine", "4": "Mapped"}
    assert rows["2"]["labels"] == ["b"]
    assert "page_id" not in rows["2"]["snippet"]
    status = cn(folder, "search", "status", "--json", env=environment).json
    assert (status["documentCount"], status["unreadablePages"]) == (4, 3)
    assert "3 pages have frontmatter that cannot be read" in cn(folder, "search", "status", env=environment).text
    with agent("mcp", folder, env=environment, module="commonplace.cn") as client:
        for identifier, path in (("2", "open.md"), ("4", "mapped.md")):
            assert client.call("read_page", id=identifier)["path"] == path
        assert client.call("read_page", path="open.md")["content"] == "# Open page\n\nelephant two"


def test_a_nested_space_is_no_part_of_the_outer_one(tmp_path: Path, environment: Mapping[str, str]) -> None:
    folder = write(tmp_path / "odd", FILES, search={"indexName": "odd-nested"})
    cn(folder, "search", "index", env=environment)
    with agent("mcp", folder, env=environment, module="commonplace.cn") as client:
        assert client.call("search", query="five six")["total"] == 0
        message = "Invalid params: path must be a Markdown page in the space"
        assert client.protocol_error("read_page", path="sub/inner.md").error.message == message
        assert client.protocol_error("read_page", path="sub/deep/inner.md").error.message == message
        assert client.protocol_error("read_page", id="5").error.message == "Page not found: 5"
    inner = cn(folder / "sub", "search", "index", env={"HOME": str(tmp_path)})
    assert (inner.code, inner.text) == (0, "Indexed 2 pages\n")


@pytest.mark.parametrize("pages", [0, 150])
@pytest.mark.soak
def test_a_page_whose_title_is_the_query_comes_first(
    tmp_path: Path, environment: Mapping[str, str], pages: int
) -> None:
    noise = "Deploy guide, deploy guide and again the deploy guide: how to deploy by the guide.\n" * 5
    files = {
        "wanted.md": "---\npage_id: wanted\ntitle: Deploy guide\n---\n# Deploy guide\n\nSee below.\n",
        "longer.md": f"---\npage_id: longer\ntitle: Deploy guide for the guide to deploy\n---\n{noise}",
        "a.md": f"---\npage_id: a\ntitle: Guide\nlabels: [x]\n---\n{noise}",
        "b.md": f"---\npage_id: b\ntitle: How to deploy\n---\n{noise}",
    } | {f"n{at}.md": f"---\npage_id: n{at}\ntitle: Deploy guide {at}\n---\n{noise}" for at in range(pages)}
    folder = write(tmp_path / "odd", files, search={"indexName": f"odd-title-{pages}"})
    cn(folder, "search", "index", env=environment)
    for query in ("Deploy guide", "deploy guide", " DEPLOY  GUIDE "):
        shown = cn(folder, "search", query, "--json", "--limit", "2", env=environment).json
        assert (shown["results"][0]["page_id"], len(shown["results"])) == ("wanted", 2), query
        assert shown["totalHits"] >= len(files) - 1
    alone = cn(folder, "search", "Deploy guide", "--json", "--labels", "x", env=environment).json
    assert [row["page_id"] for row in alone["results"]] == ["a"]


def test_keys_without_latin_letters_have_indexes_and_entries_of_their_own(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    names: set[str] = set()
    entries: set[str] = set()
    for number, key in enumerate(("研发", "产品", "отдел")):
        folder = write(tmp_path / str(number), {"fine.md": FILES["fine.md"].replace("three", f"unique{number}")})
        (folder / ".confluence.json").write_text(json.dumps({"spaceKey": key}))
        assert cn(folder, "search", "index", env=environment).code == 0
        names.add(cn(folder, "search", "status", "--json", env=environment).json["indexName"])
        entries |= set(json.loads(cn(folder, "mcp", "--print-config", "cursor", env=environment).text)["mcpServers"])
    assert len(names) == len(entries) == 3
    assert all(name.isascii() for name in names | entries)
    assert cn(tmp_path / "0", "search", "unique0", "--json", env=environment).json["totalHits"] == 1


@pytest.mark.parametrize("search", [{"meilisearchUrl": 7700}, {"meilisearchUrl": "http://localhost", "apiKey": 12}])
def test_a_url_or_a_key_that_is_no_text_is_named_and_not_ignored(tmp_path: Path, search: Mapping[str, Any]) -> None:
    folder = write(tmp_path / "odd", {}, search=search)
    done = cn(folder, "search", "x", env={"HOME": str(tmp_path)})
    assert (done.code, "in .confluence.json must be a text" in done.stderr) == (2, True)
    assert f"search.{next(reversed(search))}" in done.stderr


@pytest.mark.parametrize("command", [("elephant",), ("status",)])
def test_json_and_xml_exclude_each_other(tmp_path: Path, command: tuple[str, ...]) -> None:
    folder = write(tmp_path / "odd", FILES)
    done = cn(folder, "search", *command, "--json", "--xml", env={"HOME": str(tmp_path)})
    assert (done.code, done.stdout) == (6, b"")
    assert done.stderr == "Error: --json and --xml exclude each other: give one of them.\n"


def test_a_nested_space_that_is_taken_away_leaves_its_pages_to_the_outer_one(tmp_path: Path) -> None:
    folder = write(tmp_path / "odd", FILES)
    assert cn(folder, "search", "five", "--json", env={"HOME": str(tmp_path)}).json["totalHits"] == 0
    shutil.move(folder / "sub/.confluence.json", tmp_path / "gone")
    assert cn(folder, "search", "five", "--json", env={"HOME": str(tmp_path)}).json["totalHits"] == 1
