"""The graph of a collection, as data and as a list."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.exchange import View
from commonplace.faces.web.views.graph import LISTED, graph, graph_json

FILES = {
    "hub.md": "---\ntitle: Hub </script>\ntype: guide\ntags: [x, y]\n---\n",
    "sub/deep/a.md": "# A\n\n[[hub]] [[hub]] [[nowhere]]\n",
    "c.md": "# C\n\n[[hub]]\n",
    "b.md": "# B\n\n[[hub]] and [[sub/deep/a]]\n",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("graph")
    for name in ("empty", "base", "large"):
        (place / name).mkdir()
    for path, text in FILES.items():
        (place / "base" / path).parent.mkdir(parents=True, exist_ok=True)
        (place / "base" / path).write_text(text)
    for number in range(LISTED + 10):
        (place / "large" / f"{number:03}.md").write_text(f"# N{number}\n")
    with Pages(place, place / "empty", place / "base", place / "large") as served:
        yield served


def test_the_data_name_each_document_and_where_its_links_lead(pages: Pages) -> None:
    found_value = json.loads(pages.view(graph_json, "@base"))
    nodes = {node[0]: node for node in found_value["nodes"]}

    assert nodes["Hub </script>"] == ["Hub </script>", "/p/@base/hub", "", "guide", "x y"]
    assert nodes["A"][1:3] == ["/p/@base/sub/deep/a", "sub"]
    titles = [node[0] for node in found_value["nodes"]]
    edges = sorted((titles[source], titles[target]) for source, target in found_value["edges"])
    assert edges == [("A", "Hub </script>"), ("B", "A"), ("B", "Hub </script>"), ("C", "Hub </script>")]


def test_the_list_begins_with_what_has_most_links(pages: Pages) -> None:
    page = pages.view(graph, "@base")
    order = [page.index(title) for title in ('href="/p/@base/hub"', 'href="/p/@base/sub/deep/a"', 'href="/p/@base/b"')]
    assert order == sorted(order)
    assert "Hub &lt;/script&gt;" in page


def test_an_empty_collection_and_a_large_one_have_a_page_each(pages: Pages) -> None:
    nothing = json.loads(pages.view(graph_json))
    assert (nothing["nodes"], nothing["edges"]) == ([], [])
    assert nothing["version"] != json.loads(pages.view(graph_json, "@base"))["version"]
    assert 'href="/p/' not in pages.view(graph)
    assert pages.view(graph, "@large").count('href="/p/@large/') == LISTED


@pytest.mark.parametrize("view", [graph, graph_json])
def test_another_collection_has_no_graph(pages: Pages, view: View) -> None:
    with pytest.raises(NotFoundError):
        view(pages.request("@other"))


def test_the_data_are_packed_once_for_each_state(pages: Pages) -> None:
    first, again = (pages.get("/graph.json/@large", {"accept-encoding": "gzip"}) for _ in range(2))
    assert json.loads(gzip.decompress(first.body)) == json.loads(pages.view(graph_json, "@large"))
    assert (first.headers["etag"], first.headers["content-encoding"]) == (again.headers["etag"], "gzip")
    assert pages.get("/graph.json/@large", {"if-none-match": first.headers["etag"]}).status == 304
    plain = pages.get("/graph.json/@large", {})
    assert json.loads(plain.body)["version"] in first.headers["etag"]
