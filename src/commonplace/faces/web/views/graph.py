"""The graph of a collection: a page with a list, and the nodes and edges as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from commonplace.domain.query import Record
from commonplace.faces.web.exchange import PageRequest, PageResponse, compressed
from commonplace.faces.web.pages import base_title, page
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection
from commonplace.services.site.documents import GRAPHS, state_of
from commonplace.services.site.overview import OVERVIEWS

MAX_SHARE = 0.6
"""Maximum share of nodes in one folder for which folders of the first level are shown."""
LISTED = 60
"""Maximum number of documents in the list beside the graph, those with most links first."""
MAX_CACHED = 4
"""Maximum number of graphs whose JSON is cached."""
_JSON: BoundedCache[PageResponse] = BoundedCache(MAX_CACHED)


@dataclass(frozen=True, slots=True)
class GraphRow:
    """A document in the list."""

    title: str
    url: str
    links: int


def _collection(request: PageRequest) -> Collection:
    return request.located()[0]


def graph(request: PageRequest) -> PageResponse:
    """The page of the graph. A script draws the graph; the list works without scripts."""
    collection = _collection(request)
    whole = GRAPHS.of(collection)
    rows = [
        GraphRow(whole.nodes[at].title, request.urls.page(collection.name, whole.nodes[at].address.path), degree)
        for at, degree in whole.most_linked[:LISTED]
    ]
    return page(
        request,
        "graph.html",
        collection=collection,
        name=base_title(request, collection),
        collections=list(request.collections),
        rows=rows,
        nodes=len(whole.nodes),
        edges=len(whole.edges),
        types=[name for name, _ in OVERVIEWS.of(collection).counts.types if name],
    )


def _depth(nodes: Sequence[Record]) -> int:
    """The number of folders by which nodes are colored: 2 if most nodes are in one folder, otherwise 1."""
    counts = Counter(record.address.folder.partition("/")[0] for record in nodes if record.address.folder)
    return 2 if counts and counts.most_common(1)[0][1] > len(nodes) * MAX_SHARE else 1


def graph_json(request: PageRequest) -> PageResponse:
    """Nodes as title, URL, folder, type and tags; edges as pairs of indexes into the nodes; the version of both."""
    collection = _collection(request)
    key = (state_of(collection), request.urls.page(collection.name, ""))
    return _JSON.get(key) or _JSON.put(key, _encoded(request, collection), 1)


def _encoded(request: PageRequest, collection: Collection) -> PageResponse:
    whole = GRAPHS.of(collection)
    depth = _depth(whole.nodes)
    nodes = [
        [record.title, request.urls.page(collection.name, record.address.path),
         collection.shown_name("/".join(record.address.folder.split("/")[:depth])), record.type, " ".join(record.tags)]
        for record in whole.nodes
    ]  # fmt: skip
    text = json.dumps({"nodes": nodes, "edges": whole.edges}, ensure_ascii=False, separators=(",", ":"))
    data = text.encode("utf-8", "replace")
    version = blake2b(data, digest_size=12).hexdigest()
    data = b'{"version":"' + version.encode() + b'",' + data[1:]
    return PageResponse(data, "application/json", headers={"etag": f'"{version}"'}, compressed=compressed(data))
