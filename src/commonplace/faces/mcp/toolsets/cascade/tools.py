"""What the tools of the `cascade` toolset do: call a service and show what it returns."""

from __future__ import annotations

from commonplace.domain.cascade.concepts import concept_id
from commonplace.domain.cascade.shapes import raw_json, resolved_json
from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.domain.json import Json
from commonplace.faces.mcp.dialect import Call, Shown
from commonplace.faces.mcp.toolsets.cascade.parameters import GetLinks, ListConcepts, ReadFile, Search
from commonplace.services.layering import links, searching
from commonplace.services.layering.cascade import Cascade, Row


def search(call: Call, given: Search) -> Shown:
    """Concepts that answer a query, best first."""
    entries = searching.search(_cascade(call), given.query, int(given.limit))
    return [
        {
            "id": one.row.id,
            "title": one.row.title,
            "score": one.score,
            "layers": list(one.row.layers),
            "snippet": one.snippet,
        }
        for one in entries
    ]


def read_file(call: Call, given: ReadFile) -> Shown:
    """A concept, resolved or as one layer has it."""
    identifier = concept_id(given.concept_id)
    if given.layer is not None:
        return raw_json(_cascade(call).raw(identifier, given.layer), given.layer)
    return resolved_json(_cascade(call).resolve(identifier))


def list_concepts(call: Call, given: ListConcepts) -> Shown:
    """Every concept, or those of a type."""
    rows = _cascade(call).overview().rows.values()
    return [_row(row) for row in rows if given.type is None or row.type == given.type]


def get_links(call: Call, given: GetLinks) -> Shown:
    """Links of a concept, both ways."""
    cascade = _cascade(call)
    resolved = cascade.resolve(concept_id(given.concept_id))
    return {
        "source": {"id": resolved.id, "contributors": [one.layer for one in resolved.contributors]},
        "outgoing": [
            {"raw": one.raw, "target": one.target, "id": one.id, "layers": list(one.layers)}
            for one in links.outgoing(cascade, resolved)
        ],
        "incoming": [
            {"id": one.id, "layer": one.layer, "raw": one.raw} for one in links.incoming(cascade, resolved.id)
        ],
    }


def show_error(error: KnowledgeError) -> str:
    """What was wrong and what to do next, as text."""
    nearest = error.context.get("nearest")
    near = f"Nearest: {', '.join(nearest)}." if isinstance(nearest, list) and nearest else ""
    return " ".join(filter(None, [str(error), near, error.hint]))


def _row(row: Row) -> dict[str, Json]:
    return {"id": row.id, "type": row.type, "title": row.title, "layers": list(row.layers)}


def _cascade(call: Call) -> Cascade:
    if call.services.cascade is None:
        raise ConfigError("No layers are open.", kind="manifest", hint="Start with --manifest FILE.")
    return call.services.cascade
