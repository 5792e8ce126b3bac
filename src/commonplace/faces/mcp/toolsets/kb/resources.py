"""The resources of the `kb` toolset: bases and entries as JSON, under `pyrite://` and `commonplace://` alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from urllib.parse import quote, unquote

from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import Json
from commonplace.domain.query import ListQuery
from commonplace.faces.mcp.dialect import Call, Content, Followed, Resource, Resources, ResourceTemplate
from commonplace.faces.mcp.toolsets.kb.entries import whole_entry
from commonplace.faces.mcp.toolsets.kb.overview import show_collection
from commonplace.faces.mcp.toolsets.kb.prompts import complete_base, complete_entry
from commonplace.faces.mcp.toolsets.kb.shapes import show_row
from commonplace.services import listing
from commonplace.services.collections import Found

SCHEMES = ("pyrite", "commonplace")
JSON_TYPE = "application/json"


def list_resources(call: Call, offset: int, limit: int) -> tuple[Sequence[Resource], bool]:
    """The bases, then every entry."""
    bases = [
        Resource(uri=f"{SCHEMES[0]}://kbs", name="kbs", title="Knowledge bases", mime_type=JSON_TYPE),
        *(
            Resource(
                uri=f"{SCHEMES[0]}://kbs/{_part(collection.name)}/entries",
                name=collection.name,
                title=f"Entries of {collection.name}",
                mime_type=JSON_TYPE,
            )
            for collection in call.services.collections
        ),
    ]
    shown = bases[offset : offset + limit]
    query = ListQuery(sort="path", offset=max(0, offset - len(bases)), limit=limit - len(shown) + 1)
    found = listing.list_documents(call.services.collections.members, query).found
    shown += [_resource(one) for one in islice(found, limit - len(shown))]
    total = len(bases) + sum(collection.index.counts().documents for collection in call.services.collections)
    return shown, offset + len(shown) < total


def read_resource(call: Call, uri: str) -> Content:
    """What a URI of either scheme holds."""
    scheme, separator, rest = uri.partition("://")
    if scheme not in SCHEMES or not separator:
        raise NotFoundError(f"There is no resource {uri[:200]!r}.", kind="resource")
    # Only the parts of the URI are decoded, so that an id may hold a slash, a percent sign or a question mark.
    match rest.split("/"):
        case ["kbs"]:
            shown: Json = {"knowledge_bases": [show_collection(one) for one in call.services.collections]}
        case ["kbs", name, "entries"]:
            shown = _entries_of(call, unquote(name))
        case ["kbs", name, "entries", *parts] if parts:
            shown = _entry(call, unquote("/".join(parts)), unquote(name))
        case ["entries", *parts] if parts:
            shown = _entry(call, unquote("/".join(parts)), None)
        case _:
            raise NotFoundError(f"There is no resource {uri[:200]!r}.", kind="resource")
    return Content(json.dumps(shown, ensure_ascii=False), JSON_TYPE)


def stands_for(call: Call, uri: str) -> Followed | None:
    """What a URI's resource is made of."""
    scheme, _, rest = uri.partition("://")
    if scheme not in SCHEMES:
        return None
    collections = call.services.collections
    try:
        match rest.split("/"):
            case ["kbs"]:
                return Followed()
            case ["kbs", name, "entries"]:
                return Followed(collections.get(unquote(name)).name)
            case ["kbs", name, "entries", *parts] if parts:
                found = collections.locate(unquote("/".join(parts)), unquote(name))
            case ["entries", *parts] if parts:
                found = collections.locate(unquote("/".join(parts)))
            case _:
                return None
    except NotFoundError:
        return None
    return Followed(found.collection.name, found.record.address)


def _entries_of(call: Call, name: str) -> Json:
    collection = call.services.collections.get(name)
    rows = [show_row(Found(collection, record)) for record in listing.every_document(collection)]
    return {"kb_name": name, "total": len(rows), "entries": rows}


def _entry(call: Call, reference: str, name: str | None) -> Json:
    return {"entry": whole_entry(call, call.services.collections.locate(reference, name))}


def _resource(found: Found) -> Resource:
    record = found.record
    return Resource(
        uri=f"{SCHEMES[0]}://kbs/{_part(found.collection.name)}/entries/{_part(record.id)}",
        name=record.id,
        title=record.title,
        description=record.description,
        mime_type=JSON_TYPE,
        size=record.size,
        last_modified=record.updated,
    )


def _part(text: str) -> str:
    return quote(text, safe="")


def _templates() -> tuple[ResourceTemplate, ...]:
    return tuple(
        template
        for scheme in SCHEMES
        for template in (
            ResourceTemplate(
                uri_template=f"{scheme}://kbs/{{name}}/entries",
                name=f"{scheme}-kb-entries",
                description="The entries of a base",
                mime_type=JSON_TYPE,
                complete={"name": complete_base},
            ),
            ResourceTemplate(
                uri_template=f"{scheme}://entries/{{id}}",
                name=f"{scheme}-entry",
                description="An entry by id, in the first base that has it",
                mime_type=JSON_TYPE,
                complete={"id": complete_entry},
            ),
            ResourceTemplate(
                uri_template=f"{scheme}://kbs/{{name}}/entries/{{id}}",
                name=f"{scheme}-kb-entry",
                description="An entry of a base by id",
                mime_type=JSON_TYPE,
                complete={"name": complete_base, "id": complete_entry},
            ),
        )
    )


RESOURCES = Resources(templates=_templates(), list=list_resources, read=read_resource, stands_for=stands_for)
