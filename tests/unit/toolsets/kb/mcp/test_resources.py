"""Resources of the knowledge bases: files as they are, entries as JSON, and what each is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError
from commonplace.faces.mcp.toolset import Call, ResourceSource
from commonplace.services.services import Services
from commonplace.toolsets.kb.mcp import resources
from indexed import Indexed

FILES = {
    "a/tea.md": "---\nid: 50%/tea?\ntags: [hot/very, drink]\ntype: drink\n---\n# Tea\n",
    "b.md": "# B\r\n\nSee [[tea]].\n",
    "bytes.md": b"# L\xe4rm\n",
}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with Indexed(tmp_path_factory.mktemp("resources"), FILES) as base:
        yield Call(services=Services(collections=base.collections), tier="read", progress=lambda *_: None)


def told(call: Call, uri: str) -> Any:
    return json.loads(resources.read_resource(call, uri).content)


def test_the_list_is_the_bases_and_then_every_file_in_parts_of_any_size(call: Call) -> None:
    whole, more = resources.list_resources(call, 0, 100)
    assert not more
    assert [resource.uri.rpartition("/")[2] for resource in whole] == [
        "kbs",
        "entries",
        "a%2Ftea.md",
        "b.md",
        "bytes.md",
    ]
    for size in (1, 2, 3):
        parts = [resources.list_resources(call, at, size) for at in range(0, len(whole), size)]
        assert [resource.uri for part, _ in parts for resource in part] == [resource.uri for resource in whole]
        assert [further for _, further in parts] == [*[True] * (len(parts) - 1), False]


def test_a_file_is_given_as_it_is(call: Call) -> None:
    base = "commonplace://kbs/base/files"
    assert resources.read_resource(call, f"{base}/b.md").content == "# B\r\n\nSee [[tea]].\n"
    assert resources.read_resource(call, f"{base}/bytes.md").content == b"# L\xe4rm\n"
    assert resources.read_resource(call, f"{base}/a%2Ftea.md") == resources.read_resource(call, f"{base}/a/tea.md")


def test_an_id_may_hold_whatever_a_uri_quotes(call: Call) -> None:
    uri = "entries/50%25%2Ftea%3F"
    assert told(call, f"commonplace://{uri}")["entry"]["title"] == "Tea"
    assert told(call, f"pyrite://{uri}")["title"] == "Tea"
    assert resources.source_of(call, f"commonplace://{uri}") == ResourceSource("base", Address("a/tea.md"))


def test_lists_of_a_base_are_chosen_by_tag_and_type(call: Call) -> None:
    assert [entry["title"] for entry in told(call, "commonplace://kbs/base/tags/hot%2Fvery")["entries"]] == ["Tea"]
    assert told(call, "commonplace://kbs/base/types/note")["total"] == 2
    assert [element["title"] for element in told(call, "pyrite://kbs/base/entries")] == ["B", "Lärm", "Tea"]
    assert [knowledge_base["name"] for knowledge_base in told(call, "commonplace://kbs")["knowledge_bases"]] == ["base"]


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "file:///etc/passwd",
        "commonplace://",
        "commonplace://kbs/other/entries",
        "commonplace://kbs/base/files/../kb.yaml",
        "commonplace://kbs/base/files/none.md",
        "commonplace://kbs/base/files/",
        "commonplace://entries/none",
        "commonplace://kbs/base/colours/red",
    ],
)
def test_what_is_not_there_is_not_found_and_made_of_nothing(call: Call, uri: str) -> None:
    with pytest.raises(NotFoundError):
        resources.read_resource(call, uri)


def test_completion_offers_paths_tags_and_types(call: Call) -> None:
    assert resources.complete_path(call, "b", {"name": "base"}) == ["b.md", "bytes.md"]
    assert resources.complete_path(call, "TEA", {}) == ["a/tea.md"]
    assert resources.complete_tag(call, "dr", {"name": "base"}) == ["drink"]
    assert resources.complete_type(call, "", {}) == ["note", "drink"]
