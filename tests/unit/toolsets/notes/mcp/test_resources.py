"""Pages and changes as resources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from commonplace.domain.errors import NotFoundError
from commonplace.faces.mcp.toolset import Call
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from commonplace.services.sessions import SessionMemory
from commonplace.toolsets.notes.mcp.resources import complete_path, list_resources, read_resource, source_of
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "a b/über.md": "---\nsummary: S\n---\n# Über\n",
    "c.md": "# C\n",
    "latin.md": b"caf\xe9\n",
    "p.png": b"x",
}
HEAD = "notes://my%20base"


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with Indexed(tmp_path_factory.mktemp("resources"), FILES) as base:
        collection = replace(base.collection, name="my base")
        services = Services(collections=Collections(lambda: [collection]))
        yield Call(services=services, tier="read", progress=lambda *_: None, session=SessionMemory())


def test_every_page_is_listed_once_over_pages_of_any_size(call: Call) -> None:
    for size in (1, 2, 10):
        found_texts: list[str] = []
        more = True
        while more:
            page, more = list_resources(call, len(found_texts), size)
            found_texts += [resource.uri for resource in page]
        assert found_texts == [
            f"{HEAD}/changes",
            f"{HEAD}/review",
            f"{HEAD}/pages/a%20b%2F%C3%BCber.md",
            f"{HEAD}/pages/c.md",
            f"{HEAD}/pages/latin.md",
        ]
    assert list_resources(call, 99, 10) == ([], False)


def test_what_is_listed_is_read(call: Call) -> None:
    for resource in list_resources(call, 1, 10)[0]:
        assert read_resource(call, resource.uri).content
    assert read_resource(call, f"{HEAD}/pages/a%20b/über.md").content == "---\nsummary: S\n---\n# Über\n"
    assert read_resource(call, f"{HEAD}/pages/latin.md").content == b"caf\xe9\n"
    changes = read_resource(call, f"{HEAD}/changes")
    assert changes.mime_type == "text/plain"
    assert call.session is not None
    assert call.session.seen("my base", "c.md") is not None


@pytest.mark.parametrize(
    "uri",
    [f"{HEAD}/pages/none.md", f"{HEAD}/pages/p.png", f"{HEAD}/pages/../c.md", f"{HEAD}/pages/", f"{HEAD}/other",
     "notes://other/changes", "notes://", "file:///c.md", "c.md"],
)  # fmt: skip
def test_what_is_no_page_is_not_found(call: Call, uri: str) -> None:
    with pytest.raises(NotFoundError):
        read_resource(call, uri)


def test_a_resource_is_followed_by_its_page_or_by_its_folder(call: Call) -> None:
    page = source_of(call, f"{HEAD}/pages/c.md")
    assert page is not None
    assert (page.collection, str(page.address)) == ("my base", "c.md")
    folder = source_of(call, f"{HEAD}/changes")
    assert folder is not None
    assert folder.address is None
    for uri in ("notes://other/changes", f"{HEAD}/pages/../c.md", "x"):
        assert source_of(call, uri) is None


def test_paths_are_completed_those_that_begin_so_first(call: Call) -> None:
    assert complete_path(call, "C", {}) == ["c.md"]
    assert complete_path(call, "b", {}) == ["a b/über.md"]
    assert complete_path(call, "", {"folder": "my base"}) == ["a b/über.md", "c.md", "latin.md"]
