"""Tools of the `cascade` toolset: each calls a service and formats its result."""

from __future__ import annotations

from pydantic_core import to_json

from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.domain.findings import RULES, NewFinding, shortened
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.toolset import Call, ContentBlocks, ToolResult
from commonplace.services.findings import findings_of_writes
from commonplace.services.writes.recorded import RecordedWrites, record_new_findings, recording_writes
from commonplace.services.writes.requests import WriteRequest
from commonplace.toolsets.cascade.mcp.parameters import (
    ConfirmCapture,
    GetLinks,
    ListConcepts,
    LogCapture,
    ReadFile,
    SearchConcepts,
)
from commonplace.toolsets.cascade.rules.health import health_json, not_asked
from commonplace.toolsets.cascade.rules.output.json_output import contributor_json, raw_json, resolved_json
from commonplace.toolsets.cascade.service import CASCADE_KEY, concept_links, concept_search
from commonplace.toolsets.cascade.service.captures import Capture
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptRow
from commonplace.toolsets.cascade.service.concept_search import ConceptHit


def search(call: Call, arguments: SearchConcepts) -> ToolResult:
    """Concepts that answer a query, best first."""
    cascade = _cascade(call)
    found = concept_search.search(cascade, arguments.query, int(arguments.limit), arguments.layer)
    return _list_with_health(cascade, [_hit(one) for one in found])


def read_file(call: Call, arguments: ReadFile) -> ToolResult:
    """A concept, resolved or as one layer has it."""
    cascade = _cascade(call)
    identifier = cascade.identify(arguments.concept_id)
    if arguments.layer is None:
        return _with_health(cascade, resolved_json(cascade.resolve(identifier)))
    concept = cascade.raw(identifier, arguments.layer)
    suppressed = cascade.suppressed_keys(identifier, arguments.layer)
    return _with_health(cascade, raw_json(concept, arguments.layer, suppressed))


def list_concepts(call: Call, arguments: ListConcepts) -> ToolResult:
    """Every concept, or those of a type."""
    cascade = _cascade(call)
    rows = cascade.overview().rows.values()
    return _list_with_health(
        cascade, [_row(row) for row in rows if arguments.type is None or row.type == arguments.type]
    )


def get_links(call: Call, arguments: GetLinks) -> ToolResult:
    """Links of a concept, both ways."""
    cascade = _cascade(call)
    resolved = cascade.resolve(cascade.identify(arguments.concept_id), dated=False)
    return _with_health(
        cascade,
        {
            "source": {"id": resolved.id, "contributors": [contributor_json(one) for one in resolved.contributors]},
            "outgoing": [
                {"raw": one.raw, "target": one.target, "id": one.id, "layers": list(one.layers)}
                for one in concept_links.outgoing(cascade, resolved)
            ],
            "incoming": [
                {"id": one.id, "layer": one.layer, "raw": one.raw}
                for one in concept_links.incoming(cascade, resolved.id)
            ],
        },
    )


def log_capture(call: Call, arguments: LogCapture) -> ToolResult:
    """A capture as it would be written, for the user to see; nothing is written."""
    live = _cascade(call).live()
    staged = live.stage(
        Capture(
            kind=arguments.kind,
            title=arguments.title,
            sections=arguments.sections,
            confidence=arguments.confidence or "",
            links=arguments.links or (),
        )
    )
    layer = live.layer.rank.name
    return {"staged": True, "token": staged.token, "id": staged.id, "layer": layer, "preview": staged.text}


def confirm_capture(call: Call, arguments: ConfirmCapture) -> ToolResult:
    """Write a staged capture."""
    live = _cascade(call).live()
    with recording_writes() as done:
        identifier = live.confirm(arguments.token, WriteRequest(session=call.session))
    record_new_findings(_findings_of(call, done, identifier))
    return {"id": identifier, "layer": live.layer.rank.name, "pushed": False}


def _findings_of(call: Call, done: RecordedWrites, identifier: str) -> list[NewFinding]:
    """The findings that a capture newly causes; its links may lead into any layer."""
    cascade, path, rule = _cascade(call), f"{identifier}.md", "broken_link"
    new = [one for one in findings_of_writes(call.services.collections, done).shown if one.rule != rule]
    for link in concept_links.outgoing(cascade, cascade.resolve(identifier, dated=False)):
        if link.id is None:
            message = f"The link to {shortened(link.raw)!r} leads nowhere."
            new.append(NewFinding(path=path, severity=RULES[rule], rule=rule, message=message))
    return new


def show_error(error: KnowledgeError) -> str:
    """The error and the next step, as text."""
    nearest = error.context.get("nearest")
    near = f"Nearest: {', '.join(nearest)}." if isinstance(nearest, list) and nearest else ""
    return " ".join(filter(None, [str(error), near, error.hint]))


def _with_health(cascade: Cascade, shown: dict[str, Json]) -> dict[str, Json]:
    """An answer about one concept, with the state of the layers unless all are `ok`."""
    states = cascade.health()
    layers = health_json(states)
    if not layers:
        return shown
    missing: list[Json] = [one.rank.name for one in not_asked(states)]
    return {**shown, "layers": layers, **({"notAsked": missing} if missing else {})}


def _list_with_health(cascade: Cascade, shown: list[Json]) -> ToolResult:
    """A list. Unless all layers are `ok`, their state follows in a separate block: the list's own text is an array."""
    layers = health_json(cascade.health())
    if not layers:
        return shown
    notes: dict[str, Json] = {"layers": layers}
    blocks: list[JsonObject] = [{"type": "text", "text": to_json(part).decode()} for part in (shown, notes)]
    return ContentBlocks(blocks, {"result": shown, **notes})


def _hit(one: ConceptHit) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "id": one.row.id,
        "title": one.row.title,
        "score": one.score,
        "layers": list(one.row.layers),
        "snippet": one.snippet,
        "section": {"key": one.section.key, "heading": one.section.heading} if one.section else None,
        "inbound": one.inbound,
    }
    flags = {"contested": one.contested, "suppressed": one.suppressed}
    return {**shown, **{name: True for name, is_set in flags.items() if is_set}}


def _row(row: ConceptRow) -> dict[str, Json]:
    return {"id": row.id, "type": row.type, "title": row.title, "layers": list(row.layers)}


def _cascade(call: Call) -> Cascade:
    cascade = call.services.of(CASCADE_KEY)
    if cascade is None:
        raise ConfigError("No layers are open.", kind="manifest", hint="Start with --manifest FILE.")
    return cascade
