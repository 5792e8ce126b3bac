"""The published view of a base fulfils the ports of a store and an index, and answers without hidden pages."""

from __future__ import annotations

from pathlib import Path

import commonplace
from commonplace.domain.addresses import Address
from commonplace.domain.ports import Index, Store
from commonplace.domain.query import Filter, ListQuery, Record, SearchQuery
from commonplace.services.site.published_view import PublishedIndex, PublishedStore
from indexed import Indexed

OPEN = {
    "index.md": "---\ntags: [port]\n---\n# Start\n\nThe port. [[Moor]], [gone](/no/where.md), [[Moor#None]].\n",
    "guides/Moor.md": "---\nstatus: draft\n---\n# Moor\n\nThe port.\n",
    "lone.md": "---\nid: lone\ntype: note\n---\n# Lone\n\nNo port, [[Nowhere]].\n",
}
HIDDEN = {
    "secret/plan.md": "---\nid: plan\ntype: plan\ntags: [secret]\nstatus: draft\n---\n"
    "# Plan\n\nThe port, [[Lone]], [[Void]].\n"
}


def _members(port: type) -> set[str]:
    return {name for name in vars(port) if not name.startswith("_")}


def _paths(records: object) -> list[str]:
    return [record.address.path for record in records]  # type: ignore[attr-defined]


def test_every_member_answers_as_an_index_of_the_published_pages_alone(tmp_path: Path) -> None:
    with Indexed(tmp_path / "all", {**OPEN, **HIDDEN}) as whole, Indexed(tmp_path / "open", OPEN) as alone:
        hidden = frozenset(Address(path) for path in HIDDEN)
        records: dict[str, Record] = {
            record.address.path: record for record in whole.index.records() if record.address not in hidden
        }
        view, only = PublishedIndex(whole.index, records, hidden), alone.index
        store = PublishedStore(whole.store, hidden)
        assert [name for name in _members(Index) if not hasattr(view, name)] == []
        assert [name for name in _members(Store) if not hasattr(store, name)] == []
        for ask in (
            lambda index: _paths(index.records()),
            lambda index: _paths(index.list(ListQuery(limit=9)).records),
            lambda index: [hit.record.address for hit in index.search(SearchQuery(text="port")).hits],
            lambda index: index.tags(Filter()),
            lambda index: index.counts(),
            lambda index: index.links(),
            lambda index: index.hubs(9),
            lambda index: _paths(index.orphans()),
            lambda index: sorted(index.statuses()),
            lambda index: sorted(index.revisions()),
            lambda index: [(link.source, link.link.raw) for link in index.broken()],
            lambda index: [(link.source, link.link.raw) for link in index.dead_links()],
            lambda index: [(link.source, link.link.raw) for link in index.links_from(None)],
            lambda index: index.links_to(Address("lone.md"), sentences=False),
            lambda index: (index.find("Plan"), index.by_id("plan"), index.lookup().at("secret/plan.md")),
            lambda index: [document.address for document in index.lookup().named("plan")],
        ):
            assert ask(view) == ask(only)  # type: ignore[no-untyped-call]


def test_no_service_passes_off_what_does_not_fulfil_a_port() -> None:
    services = Path(commonplace.__file__).parent / "services"
    assert [file.name for file in services.rglob("*.py") if "type: ignore[arg-type]" in file.read_text()] == []
