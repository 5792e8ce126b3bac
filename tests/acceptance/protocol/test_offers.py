"""Offers besides tools: resources, completions, links in search results, discovery, cache hints."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from mcp_types import PromptReference, ResourceLink, ResourceTemplateReference, TextContent

from agent import Agent
from ways import ENTRIES, Site


def file_of(path: str) -> str:
    return f"commonplace://kbs/notes/files/{quote(path, safe='')}"


def listed(client: Agent) -> dict[str, Any]:
    """Every listed resource by its URI, page by page."""
    resource: dict[str, Any] = {}
    cursor = None
    while True:
        page = client.run(lambda: client.client.list_resources(cursor=cursor))  # noqa: B023 - called at once
        resource |= {str(other_resource.uri): other_resource for other_resource in page.resources}
        cursor = page.next_cursor
        if cursor is None:
            return resource


def test_each_document_is_a_resource_with_its_size_and_date(client: Agent, site: Site) -> None:
    found_values = listed(client)
    assert list(found_values)[:2] == ["pyrite://kbs", "pyrite://kbs/notes/entries"]
    assert len([uri for uri in found_values if "/files/entries%2F" in uri]) == ENTRIES
    path = "entries/e007.md"
    found_value = found_values[file_of(path)]
    size = (site.repo.path / path).stat().st_size
    assert (found_value.mime_type, found_value.size, found_value.title) == ("text/markdown", size, "Entry 7")
    committed = datetime.fromtimestamp(int(site.repo.git("log", "-1", "--format=%at", "--", path)), UTC)
    assert found_value.annotations.last_modified == f"{committed:%Y-%m-%dT%H:%M:%SZ}"
    (content,) = client.run(client.client.read_resource, found_value.uri).contents
    assert content.text.encode() == (site.repo.path / path).read_bytes()


def test_entries_of_a_tag_and_of_a_type_are_resources(client: Agent) -> None:
    for uri, total in (("tags/group%2Fg1", ENTRIES // 4), ("types/note", ENTRIES), ("types/event", 0)):
        (content,) = client.run(client.client.read_resource, f"commonplace://kbs/notes/{uri}").contents
        rows = [row for row in json.loads(content.text)["entries"] if row["id"].startswith("entries/")]
        assert len(rows) == total, uri


def test_arguments_and_variables_are_completed(client: Agent) -> None:
    def completed(ref: Any, name: str, value: str, /, **others: str) -> Any:
        argument = {"name": name, "value": value}
        return client.run(lambda: client.client.complete(ref, argument, others or None)).completion

    template = "commonplace://kbs/{name}"
    file, tag, kind = (
        ResourceTemplateReference(uri=f"{template}/{rest}") for rest in ("files/{path}", "tags/{tag}", "types/{type}")
    )
    assert completed(file, "name", "no").values == ["notes"]
    assert completed(file, "path", "entries/e19", name="notes").values == [f"entries/e19{n}.md" for n in range(10)]
    many = completed(file, "path", "entries/")
    assert (len(many.values), many.total, many.has_more) == (100, ENTRIES, True)
    assert sorted(completed(tag, "tag", "group/").values) == [f"group/g{number}" for number in range(4)]
    assert completed(kind, "type", "no").values == ["note"]
    entry = PromptReference(name="summarize_entry")
    assert completed(entry, "entry_id", "entries/e00").values == [f"entries/e00{number}" for number in range(10)]
    assert completed(PromptReference(name="research_topic"), "topic", "group/g3").values == ["group/g3"]
    assert completed(PromptReference(name="daily_briefing"), "days", "3").values == ["30"]


def test_hits_come_with_links_to_their_files_and_the_text_stays_as_it_was(client: Agent) -> None:
    result = client.raw("kb_search", query="Text", limit=5, fields=["title"])
    first, *links = result.content
    assert isinstance(first, TextContent)
    assert json.loads(first.text) == result.structured_content
    hits = [row["id"] for row in json.loads(first.text)["results"]]
    assert [link.name for link in links if isinstance(link, ResourceLink)] == hits
    for link in links:
        assert isinstance(link, ResourceLink)
        (content,) = client.run(client.client.read_resource, str(link.uri)).contents
        assert "Text" in content.text


def test_what_is_discovered_says_for_how_long_it_holds(site: Site) -> None:
    server = site.ways["http", "auto"].server
    assert server is not None
    rpc = server.rpc("kb", "server/discover", {})
    assert "2026-07-28" in rpc["supportedVersions"]
    assert rpc["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    assert "kb_orient" in rpc["instructions"]
    assert "kb_update" in rpc["instructions"]
    hints = {
        method: server.rpc("kb", method, params)
        for method, params in (
            ("server/discover", {}),
            ("tools/list", {}),
            ("prompts/list", {}),
            ("resources/templates/list", {}),
            ("resources/list", {}),
            ("resources/read", {"uri": "pyrite://kbs"}),
        )
    }
    for method, said in hints.items():
        lasting = 0 if method in {"resources/list", "resources/read"} else 60_000
        assert (said["ttlMs"], said["cacheScope"], said["resultType"]) == (lasting, "private", "complete"), method
