"""What the tools of the `cascade` toolset do: call a service and show what it returns."""

from __future__ import annotations

from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.domain.json import Json
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.toolsets.cascade.mcp.parameters import GetLinks, ListConcepts, ReadFile, SearchConcepts
from commonplace.toolsets.cascade.rules.concepts import concept_id
from commonplace.toolsets.cascade.rules.json_output import raw_json, resolved_json
from commonplace.toolsets.cascade.service import CASCADE_KEY, concept_links, concept_search
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptRow


def search(call: Call, arguments: SearchConcepts) -> ToolResult:
    """Concepts that answer a query, best first."""
    entries = concept_search.search(_cascade(call), arguments.query, int(arguments.limit))
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


def read_file(call: Call, arguments: ReadFile) -> ToolResult:
    """A concept, resolved or as one layer has it."""
    identifier = concept_id(arguments.concept_id)
    if arguments.layer is not None:
        return raw_json(_cascade(call).raw(identifier, arguments.layer), arguments.layer)
    return resolved_json(_cascade(call).resolve(identifier))


def list_concepts(call: Call, arguments: ListConcepts) -> ToolResult:
    """Every concept, or those of a type."""
    rows = _cascade(call).overview().rows.values()
    return [_row(row) for row in rows if arguments.type is None or row.type == arguments.type]


def get_links(call: Call, arguments: GetLinks) -> ToolResult:
    """Links of a concept, both ways."""
    cascade = _cascade(call)
    resolved = cascade.resolve(concept_id(arguments.concept_id))
    return {
        "source": {"id": resolved.id, "contributors": [one.layer for one in resolved.contributors]},
        "outgoing": [
            {"raw": one.raw, "target": one.target, "id": one.id, "layers": list(one.layers)}
            for one in concept_links.outgoing(cascade, resolved)
        ],
        "incoming": [
            {"id": one.id, "layer": one.layer, "raw": one.raw} for one in concept_links.incoming(cascade, resolved.id)
        ],
    }


def show_error(error: KnowledgeError) -> str:
    """What was wrong and what to do next, as text."""
    nearest = error.context.get("nearest")
    near = f"Nearest: {', '.join(nearest)}." if isinstance(nearest, list) and nearest else ""
    return " ".join(filter(None, [str(error), near, error.hint]))


def _row(row: ConceptRow) -> dict[str, Json]:
    return {"id": row.id, "type": row.type, "title": row.title, "layers": list(row.layers)}


def _cascade(call: Call) -> Cascade:
    cascade = call.services.of(CASCADE_KEY)
    if cascade is None:
        raise ConfigError("No layers are open.", kind="manifest", hint="Start with --manifest FILE.")
    return cascade
