"""Cases that users of such spaces rely on, one line each: a call over the real process, and facts of its answer.

Cases that differ by choice are in docs/differences.md.
"""

# ruff: noqa: E501 - one line a case

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from agent import Agent, agent
from shell import Done
from spaces.engines import KINDS
from spaces.places import cn

HOME = "---\npage_id: home\ntitle: Test space\nlabels: []\n---\n\n# Test space\n\nWelcome.\n"
DOCS = """\
---
page_id: "page-123"
title: "Test Page"
space_key: "TEST"
labels:
  - documentation
  - api
author_email: "author@example.com"
author_name: Ann Author
last_modifier_email: modifier@example.com
created_at: "2024-01-15T10:00:00Z"
updated_at: "2024-01-20T15:30:00Z"
parent_id: 41
parent_title: Parent Page
version: 7
url: "https://example.org/wiki/spaces/TEST/pages/123"
synced_at: 2024-01-21T00:00:00Z
---

# Test Page

This is the **test content** about authentication with some markdown.

## Section 1

More [content](other.md) here.
"""
PAGES = {
    "README.md": HOME,
    "docs/test-page.md": DOCS,
    "docs/README.md": "---\npage_id: 41\ntitle: Parent Page\n---\n# Parent Page\n\nA parent in a newer tree.\n",
    "older/index.md": "---\npage_id: 42\ntitle: Older parent\nlabels: [Draft]\nauthor_name: Boris Bělák\ncreated_at: 2024-06-01\nupdated_at: 2024-12-31\n---\n# Older parent\n\nA parent in an older tree, about authentication.\n",
    "other/another-page.md": "---\npage_id: page-456\nspace_key: TEST\nlabels: documentation\nauthor_email: Second@Example.com\ncreated_at: 2023-03-01 12:00:00\nupdated_at: 2025-03-01T23:59:59+00:00\n---\n# Another Page\n\nThis is another page. Nothing about the other thing.\n",
    "minimal.md": "---\npage_id: 456\n---\nElephants, and nothing else.\n",
    "nested/deep/nested.md": "---\npage_id: 0007\ntitle: 'Deep: \"nested\"'\n---\n# Deep\n\nDeep text with authentification.\n",
    "über/größe.md": "---\npage_id: uml\ntitle: Größe & Maß\nlabels: [über-uns]\n---\n# Größe\n\nDie Größe des Elefanten über allem.\n",
    "i18n/会议.md": "---\npage_id: zh\ntitle: 会议纪要\n---\n# 会议纪要\n\n数据库迁移在周五完成。\n",
}
NO_PAGES = {
    "no-id.md": "---\ntitle: No Page ID\n---\nsentinel\n",
    "plain.md": "sentinel\n",
    "empty-id.md": "---\npage_id:\n---\nsentinel\n",
    "image.png": "sentinel",
    "notes.txt": "---\npage_id: txt\n---\nsentinel\n",
    ".hidden.md": "---\npage_id: hidden\n---\nsentinel\n",
    ".git/x.md": "---\npage_id: git\n---\nsentinel\n",
    "node_modules/x.md": "---\npage_id: node\n---\nsentinel\n",
    "dist/x.md": "---\npage_id: dist\n---\nsentinel\n",
    "a/build/x.md": "---\npage_id: build\n---\nsentinel\n",
    "coverage/x.md": "---\npage_id: coverage\n---\nsentinel\n",
    "__pycache__/x.md": "---\npage_id: cache\n---\nsentinel\n",
}
MAP = {"page-123": "docs/test-page.md", "page-456": "other/another-page.md", "gone": "not/there.md", "away": "../x.md"}


@pytest.fixture(scope="module", params=KINDS)
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The variables that choose the engine."""
    home = {"HOME": str(tmp_path_factory.mktemp("home"))}
    return home if request.param == "embedded" else home | request.getfixturevalue("search_server").environment


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("cases") / "space"
    for path, text in {**PAGES, **NO_PAGES}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    values = {
        "spaceKey": "TEST",
        "spaceId": "9",
        "spaceName": "Test Space",
        "pages": MAP,
        "search": {"indexName": "cases"},
    }
    (folder / ".confluence.json").write_text(json.dumps(values))
    done = cn(folder, "search", "index", env=environment)
    assert (done.code, done.text) == (0, f"Indexed {len(PAGES)} pages\n"), done
    return folder


@pytest.fixture(scope="module")
def reader(space: Path, environment: Mapping[str, str]) -> Iterator[Agent]:
    with agent("mcp", space, env=environment, module="commonplace.cn") as client:
        yield client


Check = Callable[[Any], bool]
"""Whether an answer holds what the case is about."""


def ids(shown: Any) -> set[str]:
    return {row["id"] for row in shown["results"]}


def first(shown: Any) -> dict[str, Any]:
    return shown["results"][0]


DATED = {"page-123", "42", "page-456"}
KEYS = ["id", "title", "path", "snippet", "labels", "author", "created_at", "updated_at", "url"]
SEARCHES: list[tuple[str, dict[str, Any], Check]] = [
    # The answer.
    ("the query comes back", {"query": "authentication"}, lambda a: a["query"] == "authentication"),
    ("three keys", {"query": "x"}, lambda a: set(a) == {"results", "total", "query"}),
    ("every key of a hit, in order", {"query": "elephants"}, lambda a: list(first(a)) == KEYS),
    ("unknown values are null or empty", {"query": "elephants nothing else"},
     lambda a: [first(a)[key] for key in KEYS[4:]] == [[], None, None, None, None]),
    ("all values", {"query": "test content"},
     lambda a: [first(a)[key] for key in KEYS if key != "snippet"] == ["page-123", "Test Page", "docs/test-page.md", ["documentation", "api"], "author@example.com", "2024-01-15T10:00:00Z", "2024-01-20T15:30:00Z", "https://example.org/wiki/spaces/TEST/pages/123"]),
    ("no match", {"query": "zzzyxw"}, lambda a: (a["results"], a["total"]) == ([], 0)),
    ("nothing but pages", {"query": "sentinel"}, lambda a: a["total"] == 0),
    ("the limit is 10", {"query": "", "sort": "updated_at"}, lambda a: a["total"] == len(a["results"]) == len(PAGES)),
    ("a total beyond the limit", {"query": "", "sort": "updated_at", "limit": 2}, lambda a: (a["total"], len(a["results"])) == (len(PAGES), 2)),
    ("limit 1", {"query": "authentication", "limit": 1}, lambda a: (len(a["results"]), a["total"] > 1) == (1, True)),
    ("limit 100", {"query": "authentication", "limit": 100}, lambda a: a["total"] == len(a["results"])),
    # The snippet.
    ("a snippet shows the word", {"query": "authentication"}, lambda a: "authentication" in first(a)["snippet"]),
    ("without markers", {"query": "test content"}, lambda a: not {"*", "[", "`"} & set(first(a)["snippet"])),
    ("at most 200 characters", {"query": "content"}, lambda a: all(len(item["snippet"]) <= 200 for item in a["results"])),
    ("of the body's start without a word in it", {"query": "Größe Maß"}, lambda a: first(a)["snippet"].startswith("Die Größe")),
    # Words.
    ("in another case", {"query": "ELEPHANTS"}, lambda a: "456" in ids(a)),
    ("a swap of letters", {"query": "contnet test"}, lambda a: "page-123" in ids(a)),
    ("a typing error", {"query": "elephamts"}, lambda a: "456" in ids(a)),
    ("two in nine letters", {"query": "authentikasion"}, lambda a: "page-123" in ids(a)),
    ("the last word is a prefix", {"query": "elepha"}, lambda a: "456" in ids(a)),
    ("without accents", {"query": "uber elefanten"}, lambda a: "uml" in ids(a)),
    ("another script", {"query": "数据库"}, lambda a: "zh" in ids(a)),
    ("a title of another script", {"query": "会议纪要"}, lambda a: first(a)["id"] == "zh"),
    ("the title is searched", {"query": "Older parent"}, lambda a: first(a)["id"] == "42"),
    ("a title in quotation marks and colons", {"query": 'Deep: "nested"'}, lambda a: first(a)["id"] == "0007"),
    ("signs alone match nothing", {"query": "!!! → ..."}, lambda a: a["total"] == 0),
    # Filters.
    ("a label", {"query": "", "labels": ["documentation"]}, lambda a: ids(a) == {"page-123", "page-456"}),
    ("either label", {"query": "", "labels": ["api", "draft"]}, lambda a: ids(a) == {"page-123", "42"}),
    ("a label in another case", {"query": "", "labels": ["DOCUMENTATION"]}, lambda a: ids(a) == {"page-123", "page-456"}),
    ("half a label", {"query": "", "labels": ["document"]}, lambda a: a["total"] == 0),
    ("a label of another script", {"query": "", "labels": ["ÜBER-UNS"]}, lambda a: ids(a) == {"uml"}),
    ("an author's e-mail", {"query": "", "author": "author@example.com"}, lambda a: ids(a) == {"page-123"}),
    ("in another case, too", {"query": "", "author": "second@example.COM"}, lambda a: ids(a) == {"page-456"}),
    ("an author's name", {"query": "", "author": "Ann Author"}, lambda a: ids(a) == {"page-123"}),
    ("a name alone is the author", {"query": "", "author": "boris bělák"}, lambda a: first(a)["author"] == "Boris Bělák"),
    ("half a name", {"query": "", "author": "Ann"}, lambda a: a["total"] == 0),
    ("a quotation mark in a filter", {"query": "", "author": 'x" OR author_email = "author@example.com'}, lambda a: a["total"] == 0),
    ("words and label", {"query": "authentication", "labels": ["draft"]}, lambda a: ids(a) == {"42"}),
    ("words, label and author", {"query": "authentication", "labels": ["api"], "author": "Ann Author"}, lambda a: ids(a) == {"page-123"}),
    # Dates.
    ("created after, the day included", {"query": "", "created_after": "2024-01-15"}, lambda a: ids(a) == {"page-123", "42"}),
    ("created before, the day included", {"query": "", "created_before": "2024-01-15"}, lambda a: ids(a) == {"page-123", "page-456"}),
    ("updated after", {"query": "", "updated_after": "2024-12-31"}, lambda a: ids(a) == {"42", "page-456"}),
    ("updated before, the last second included", {"query": "", "updated_before": "2025-03-01"}, lambda a: ids(a) == DATED),
    ("one day", {"query": "", "created_after": "2024-06-01", "created_before": "2024-06-01"}, lambda a: ids(a) == {"42"}),
    ("created within", {"query": "", "created_within": "1d"}, lambda a: a["total"] == 0),
    ("created within long", {"query": "", "created_within": "99y"}, lambda a: ids(a) == DATED),
    ("updated within weeks", {"query": "", "updated_within": "2w"}, lambda a: a["total"] == 0),
    ("updated within months", {"query": "", "updated_within": "999m"}, lambda a: ids(a) == DATED),
    ("stale", {"query": "", "stale": "30d"}, lambda a: ids(a) == DATED),
    ("stale for a century", {"query": "", "stale": "99y"}, lambda a: a["total"] == 0),
    ("a date is a day", {"query": "", "labels": ["draft"]}, lambda a: first(a)["created_at"] == "2024-06-01T00:00:00Z"),
    # Sorts.
    ("oldest first", {"query": "", "sort": "created_at", "created_within": "99y"}, lambda a: [item["id"] for item in a["results"]] == ["page-456", "page-123", "42"]),
    ("newest first", {"query": "", "sort": "-created_at", "created_within": "99y"}, lambda a: [item["id"] for item in a["results"]] == ["42", "page-123", "page-456"]),
    ("by change", {"query": "", "sort": "-updated_at"}, lambda a: [item["id"] for item in a["results"]][:3] == ["page-456", "42", "page-123"]),
    ("without a date comes last", {"query": "", "sort": "updated_at"}, lambda a: {item["updated_at"] for item in a["results"][3:]} == {None}),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "holds"), [row[1:] for row in SEARCHES], ids=[row[0] for row in SEARCHES])
def test_a_search_answers_as_its_users_know_it(reader: Agent, arguments: dict[str, Any], holds: Check) -> None:
    answer = reader.call("search", **arguments)
    assert holds(answer), json.dumps(answer, indent=1)


READS: list[tuple[str, dict[str, Any], Check]] = [
    ("by path", {"path": "docs/test-page.md"}, lambda a: (a["id"], a["title"]) == ("page-123", "Test Page")),
    ("by id", {"id": "page-123"}, lambda a: a["path"] == "docs/test-page.md"),
    ("five keys", {"id": "page-123"}, lambda a: list(a) == ["id", "title", "path", "content", "metadata"]),
    ("the metadata", {"id": "page-123"}, lambda a: a["metadata"] == {"labels": ["documentation", "api"], "author": "author@example.com", "created_at": "2024-01-15T10:00:00Z", "updated_at": "2024-01-20T15:30:00Z", "url": "https://example.org/wiki/spaces/TEST/pages/123"}),
    ("no frontmatter in the content", {"id": "page-123"}, lambda a: "page_id" not in a["content"] and not a["content"].startswith("-")),
    ("the content is trimmed Markdown", {"id": "page-123"}, lambda a: a["content"] == DOCS.split("---\n", 2)[2].strip()),
    ("an id outside the map", {"id": "456"}, lambda a: a["path"] == "minimal.md"),
    ("an id with zeros", {"id": "0007"}, lambda a: a["path"] == "nested/deep/nested.md"),
    ("a title from the heading", {"id": "page-456"}, lambda a: a["title"] == "Another Page"),
    ("a title from the file name", {"id": "456"}, lambda a: a["title"] == "minimal"),
    ("a folder's page", {"path": "docs/README.md"}, lambda a: a["id"] == "41"),
    ("an older folder's page", {"path": "older/index.md"}, lambda a: a["id"] == "42"),
    ("the home page", {"path": "README.md"}, lambda a: a["id"] == "home"),
    ("a path of another script", {"path": "i18n/会议.md"}, lambda a: a["id"] == "zh"),
    ("a path with accents", {"path": "über/größe.md"}, lambda a: a["title"] == "Größe & Maß"),
    ("unknown metadata", {"id": "456"}, lambda a: a["metadata"] == {"labels": [], "author": None, "created_at": None, "updated_at": None, "url": None}),
    ("labels as a text", {"id": "page-456"}, lambda a: a["metadata"]["labels"] == ["documentation"]),
    ("a time with a zone", {"id": "page-456"}, lambda a: a["metadata"]["updated_at"] == "2025-03-01T23:59:59Z"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "holds"), [row[1:] for row in READS], ids=[row[0] for row in READS])
def test_a_page_reads_as_its_users_know_it(reader: Agent, arguments: dict[str, Any], holds: Check) -> None:
    answer = reader.call("read_page", **arguments)
    assert holds(answer), json.dumps(answer, indent=1)


NO_PATH = "Invalid params: path must be a Markdown page in the space"
REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("neither path nor id", "read_page", {}, "Invalid params: "),
    ("both path and id", "read_page", {"path": "minimal.md", "id": "456"}, "Invalid params: "),
    ("no such path", "read_page", {"path": "non/existent/file.md"}, "Page not found: non/existent/file.md"),
    ("no such id", "read_page", {"id": "unknown-page-id"}, "Page not found: unknown-page-id"),
    ("a mapped file that is gone", "read_page", {"id": "gone"}, "Page not found: gone"),
    ("a mapped file outside", "read_page", {"id": "away"}, "Page not found: away"),
    ("a path above", "read_page", {"path": "../outside/file.md"}, NO_PATH),
    ("a path that leads above", "read_page", {"path": "docs/../../outside/file.md"}, NO_PATH),
    ("a path that leads back", "read_page", {"path": "docs/../minimal.md"}, NO_PATH),
    ("an absolute path", "read_page", {"path": "/etc/passwd"}, NO_PATH),
    ("the space file", "read_page", {"path": ".confluence.json"}, NO_PATH),
    ("a hidden page", "read_page", {"path": ".hidden.md"}, NO_PATH),
    ("a file in .git", "read_page", {"path": ".git/x.md"}, NO_PATH),
    ("no Markdown", "read_page", {"path": "image.png"}, NO_PATH),
    ("a text file", "read_page", {"path": "notes.txt"}, NO_PATH),
    ("a folder", "read_page", {"path": "docs"}, NO_PATH),
    ("a product", "read_page", {"path": "dist/x.md"}, NO_PATH),
    ("no page", "read_page", {"path": "plain.md"}, NO_PATH),
    ("a null byte", "read_page", {"path": "a\x00.md"}, NO_PATH),
    ("no query", "search", {}, "Invalid params: "),
    ("an empty query alone", "search", {"query": " "}, "Invalid params: query is empty"),
    ("limit 0", "search", {"query": "x", "limit": 0}, "Invalid params: "),
    ("limit 101", "search", {"query": "x", "limit": 101}, "Invalid params: "),
    ("a limit in words", "search", {"query": "x", "limit": "ten"}, "Invalid params: "),
    ("an unknown sort", "search", {"query": "x", "sort": "title"}, "Invalid params: "),
    ("a day that is none", "search", {"query": "x", "created_after": "2024-02-30"}, "Invalid params: "),
    ("a time for a day", "search", {"query": "x", "updated_before": "2024-01-01T00:00:00Z"}, "Invalid params: "),
    ("a duration without a unit", "search", {"query": "x", "created_within": "30"}, "Invalid params: "),
    ("a duration of an unknown unit", "search", {"query": "x", "stale": "3h"}, "Invalid params: "),
    ("within and stale", "search", {"query": "x", "updated_within": "2w", "stale": "6m"}, "Invalid params: updated_within and stale"),
    ("labels that are no list", "search", {"query": "x", "labels": 5}, "Invalid params: "),
    ("an unknown argument", "search", {"query": "x", "space": "OPS"}, "Invalid params: "),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_refusal_is_a_protocol_error_that_says_why(
    reader: Agent, tool: str, arguments: dict[str, Any], says: str
) -> None:
    error = reader.protocol_error(tool, **arguments).error
    assert (error.code, error.message[: len(says)]) == (INVALID_PARAMS, says)
    assert error.code != INTERNAL_ERROR


def xml(done: Done) -> ET.Element:
    return ET.fromstring(done.text)  # noqa: S314 - this program wrote it just now


COMMANDS: list[tuple[str, tuple[str, ...], int, Callable[[Done], bool]]] = [
    ("JSON", ("authentication", "--json"), 0, lambda d: list(d.json) == ["query", "totalHits", "processingTimeMs", "filters", "results"]),
    ("JSON without filters", ("authentication", "--json"), 0, lambda d: d.json["filters"] is None),
    ("a result in JSON", ("test content", "--json"), 0, lambda d: list(d.json["results"][0]) == ["rank", "title", "path", "page_id", "labels", "snippet", "url", "created_at", "updated_at"]),
    ("dates in JSON are seconds", ("test content", "--json"), 0, lambda d: d.json["results"][0]["created_at"] == 1705312800),
    ("ranks count from 1", ("authentication", "--json"), 0, lambda d: [item["rank"] for item in d.json["results"]][:2] == [1, 2]),
    ("options before the query", ("--json", "--limit", "1", "authentication"), 0, lambda d: len(d.json["results"]) == 1),
    ("two words without quotation marks", ("test", "content", "--json"), 0, lambda d: d.json["query"] == "test content"),
    ("a label", ("", "--labels", "draft", "--json"), 0, lambda d: [item["page_id"] for item in d.json["results"]] == ["42"]),
    ("labels are OR-ed", ("", "--labels", "draft", "--labels", "api", "--json"), 0, lambda d: d.json["totalHits"] == 2),
    ("an author", ("", "--author", "author@example.com", "--json"), 0, lambda d: d.json["totalHits"] == 1),
    ("a range of days", ("", "--created-after", "2024-01-15", "--created-before", "2024-01-15", "--json"), 0, lambda d: d.json["totalHits"] == 1),
    ("a sort", ("", "--sort", "-updated_at", "--json"), 0, lambda d: d.json["results"][0]["page_id"] == "page-456"),
    ("stale", ("", "--stale", "1y", "--json"), 0, lambda d: d.json["totalHits"] == 3),
    ("XML", ("authentication", "--xml"), 0, lambda d: (xml(d).tag, xml(d).get("query")) == ("search-results", "authentication")),
    ("labels in XML", ("test content", "--xml"), 0, lambda d: [item.text for item in xml(d).findall("result[@rank='1']/labels/label")] == ["documentation", "api"]),
    ("a result in XML", ("test content", "--xml"), 0, lambda d: xml(d).findtext("result/page_id") == "page-123"),
    ("nothing empty in XML", ("elephants nothing else", "--xml"), 0, lambda d: {item.tag for item in xml(d)[0]} == {"title", "path", "page_id", "snippet"}),
    ("filters in XML", ("authentication", "--xml", "--author", "Ann Author"), 0, lambda d: xml(d).findtext("filters/author") == "Ann Author"),
    ("for people", ("test content",), 0, lambda d: d.lines[0] == 'Found 1 result(s) for "test content"' or d.lines[0].startswith("Found ")),
    ("nothing found", ("zzzyxw",), 0, lambda d: d.text == 'No results found for "zzzyxw"\n'),
    ("status in JSON", ("status", "--json"), 0, lambda d: list(d.json) == ["connected", "meilisearchUrl", "indexName", "documentCount", "space", "error"]),
    ("what the status says", ("status", "--json"), 0, lambda d: (d.json["indexName"], d.json["documentCount"], d.json["space"], d.json["error"]) == ("cases", len(PAGES), {"key": "TEST", "name": "Test Space"}, None)),
    ("status in XML", ("status", "--xml"), 0, lambda d: [item.tag for item in xml(d)][-2:] == ["index", "space"] and xml(d).get("connected") == "true"),
    ("index", ("index",), 0, lambda d: d.text == f"Indexed {len(PAGES)} pages\n"),
    ("index by force", ("index", "--force"), 0, lambda d: d.text == f"Indexed {len(PAGES)} pages\n"),
    ("index on trial", ("index", "--dry-run"), 0, lambda d: d.text == f"Would index {len(PAGES)} pages\n"),
    ("no query", (), 6, lambda d: d.stderr.startswith("Error: ")),
    ("a limit of 0", ("x", "--limit", "0"), 6, lambda d: "--limit" in d.stderr),
    ("an unknown sort", ("x", "--sort", "title"), 6, lambda d: "sort must be one of" in d.stderr),
    ("an unknown option", ("x", "--space", "OPS"), 6, lambda d: "--space" in d.stderr),
    ("a day that is none", ("x", "--created-after", "soon"), 6, lambda d: "created_after must be a day" in d.stderr),
    ("within and stale", ("x", "--updated-within", "2w", "--stale", "6m"), 6, lambda d: "exclude each other" in d.stderr),
    ("JSON and XML", ("x", "--json", "--xml"), 6, lambda d: "exclude each other" in d.stderr),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "holds"), [command[1:] for command in COMMANDS], ids=[command[0] for command in COMMANDS]
)
def test_a_command_does_what_its_users_know(
    space: Path, environment: Mapping[str, str], arguments: tuple[str, ...], code: int, holds: Callable[[Done], bool]
) -> None:
    done = cn(space, "search", *arguments, env=environment)
    assert (done.code, holds(done)) == (code, True), done
    assert "Traceback" not in done.stderr


def test_the_schema_of_read_page_lists_both_names_as_optional(reader: Agent) -> None:
    schema = reader.tools()["read_page"].input_schema
    assert set(schema["properties"]) == {"path", "id"}
    assert not schema.get("required")


def test_two_tools_are_listed(reader: Agent) -> None:
    assert list(reader.tools()) == ["search", "read_page"]


@pytest.mark.parametrize(
    ("key", "name"),
    [("ENG", "cn-eng"), ("DOCS", "cn-docs"), ("MySpace", "cn-myspace"), ("~a.b", "cn-_a_b"), ("A B", "cn-a_b")],
)
def test_an_index_is_named_after_the_key(tmp_path: Path, key: str, name: str) -> None:
    (tmp_path / ".confluence.json").write_text(json.dumps({"spaceKey": key}))
    assert cn(tmp_path, "search", "status", "--json").json["indexName"] == name
