"""Resources of the `kb` toolset: bases and entries as JSON, under both `pyrite://` and `commonplace://`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from urllib.parse import quote, unquote

from commonplace.domain.addresses import parse_address
from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError
from commonplace.domain.json import Json
from commonplace.domain.query import Filter, ListQuery
from commonplace.domain.revisions import revision_of
from commonplace.faces.mcp.toolset import Call, Resource, ResourceContents, ResourceSource
from commonplace.services import listing
from commonplace.services.collections import FoundDocument, find_document
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.toolsets.kb.mcp.entries import remember, whole_entry
from commonplace.toolsets.kb.mcp.json_output import file_uri, show_row, types_matching
from commonplace.toolsets.kb.mcp.overview import show_collection
from commonplace.toolsets.kb.mcp.uris import JSON_TYPE, REFERENCE_SCHEME, SCHEMES

MAX_LISTED_RESOURCES = 600_000
"""Maximum size in bytes of the entries in one resource.

Clients refuse HTTP messages above 1 MB, and quoting adds to it.
"""


def list_resources(call: Call, offset: int, limit: int) -> tuple[Sequence[Resource], bool]:
    """The bases, then every document as an unchanged file."""
    bases = [
        Resource(
            uri=f"{SCHEMES[0]}://kbs",
            name="kbs",
            title="Knowledge bases",
            description="The knowledge bases that are served, as kb_list shows them",
            mime_type=JSON_TYPE,
        ),
        *(
            Resource(
                uri=f"{SCHEMES[0]}://kbs/{_part(collection.name)}/entries",
                name=collection.name,
                title=f"Entries of {collection.name}",
                description=f"The entries of the base {collection.name}, as kb_list_entries shows them",
                mime_type=JSON_TYPE,
            )
            for collection in call.services.collections
        ),
    ]
    shown = bases[offset : offset + limit]
    query = ListQuery(sort="path", offset=max(0, offset - len(bases)), limit=limit - len(shown) + 1)
    documents = listing.list_documents(call.services.collections.members, query).found
    shown += [_resource(document) for document in islice(documents, limit - len(shown))]
    total = len(bases) + sum(collection.index.counts().documents for collection in call.services.collections)
    return shown, offset + len(shown) < total


def read_resource(call: Call, uri: str) -> ResourceContents:
    """The content of a URI of either scheme."""
    scheme, separator, rest = uri.partition("://")
    if scheme not in SCHEMES or not separator:
        raise NotFoundError(f"There is no resource {uri[:200]!r}.", kind="resource")
    # The parts of the URI are decoded separately, so that an id may contain a slash, a percent sign or a question mark.
    match rest.split("/"):
        case ["kbs"]:
            bases: list[Json] = [show_collection(collection) for collection in call.services.collections]
            shown: Json = bases if scheme == REFERENCE_SCHEME else {"knowledge_bases": bases}
        case ["kbs", name, "entries"]:
            return _rows(call, unquote(name), Filter(), bare=scheme == REFERENCE_SCHEME)
        case ["kbs", name, "tags", tag]:
            return _rows(call, unquote(name), Filter(tags=(unquote(tag),)))
        case ["kbs", name, "types", kind]:
            return _rows(call, unquote(name), Filter(types=types_matching(unquote(kind))))
        case ["kbs", name, "files", *parts] if parts:
            return _file(call, unquote(name), unquote("/".join(parts)))
        case ["kbs", name, "entries", *parts] if parts:
            shown = _entry(call, unquote("/".join(parts)), unquote(name), bare=scheme == REFERENCE_SCHEME)
        case ["entries", *parts] if parts:
            shown = _entry(call, unquote("/".join(parts)), None, bare=scheme == REFERENCE_SCHEME)
        case _:
            raise NotFoundError(f"There is no resource {uri[:200]!r}.", kind="resource")
    return ResourceContents(json.dumps(shown, ensure_ascii=False), JSON_TYPE)


def source_of(call: Call, uri: str) -> ResourceSource | None:
    """The source of the resource at a URI; None if there is no such resource."""
    scheme, _, rest = uri.partition("://")
    try:
        return _made_of(call, [unquote(part) for part in rest.split("/")]) if scheme in SCHEMES else None
    except (NotFoundError, InvalidInputError):
        return None


def _made_of(call: Call, parts: Sequence[str]) -> ResourceSource | None:
    collections = call.services.collections
    match parts:
        case ["kbs"]:
            return ResourceSource()
        case ["kbs", name, "entries"] | ["kbs", name, "tags" | "types", _]:
            return ResourceSource(collections.get(name).name)
        case ["kbs", name, "files", *path] if path:
            return ResourceSource(collections.get(name).name, parse_address("/".join(path)))
        case ["kbs", name, "entries", *reference] if reference:
            document = collections.locate("/".join(reference), name)
        case ["entries", *reference] if reference:
            document = collections.locate("/".join(reference))
        case _:
            return None
    return ResourceSource(document.collection.name, document.record.address)


def complete_path(call: Call, typed: str, others: Mapping[str, str]) -> Sequence[str]:
    """Paths of documents that contain the typed text; paths that begin with it come first."""
    wanted_text = typed.casefold()
    chosen = call.services.collections.select(others.get("name"))
    paths = {address.path for collection in chosen for address in collection.index.revisions()}
    complete_paths = [path for path in paths if wanted_text in path.casefold()]
    return sorted(complete_paths, key=lambda path: (not path.casefold().startswith(wanted_text), path))


def complete_tag(call: Call, typed: str, others: Mapping[str, str]) -> Sequence[str]:
    """Tags of a base, most frequent first."""
    return [tag for tag, _ in listing.list_tags(call.services.collections.select(others.get("name")), prefix=typed)]


def complete_type(call: Call, typed: str, others: Mapping[str, str]) -> Sequence[str]:
    """Types of a base's entries, most frequent first."""
    counts: Counter[str] = Counter()
    for collection in call.services.collections.select(others.get("name")):
        for name, count in collection.index.counts().types:
            counts[name or DEFAULT_TYPE] += count
    return [name for name, _ in counts.most_common() if name.casefold().startswith(typed.casefold())]


def _file(call: Call, name: str, path: str) -> ResourceContents:
    try:
        address = parse_address(path)
    except InvalidInputError as error:
        raise NotFoundError(str(error), kind="resource") from error
    collection = call.services.collections.get(name)
    if not address.is_document or collection.index.record(address) is None:
        raise NotFoundError(f"There is no document {path[:200]!r}.", kind="resource")
    raw = collection.store.read(address)
    if call.session is not None:
        call.session.show(collection.name, address.path, revision_of(raw), raw)
    try:
        return ResourceContents(raw.decode())
    except UnicodeDecodeError:
        return ResourceContents(raw)


def _rows(call: Call, name: str, kept_filter: Filter, *, bare: bool = False) -> ResourceContents:
    """The entries that match a filter, in the order of `kb_list_entries`, up to the size limit of a resource.

    A bare list is an array; otherwise an object with the number of entries. Each entry is serialized at once, because
    thousands of entry objects would take five times the memory.
    """
    query = ListQuery(filter=kept_filter, sort="title")
    collection = call.services.collections.get(name)
    rows: list[str] = []
    left = MAX_LISTED_RESOURCES
    for record in listing.every_document(collection, query):
        row = json.dumps(show_row(FoundDocument(collection, record)), ensure_ascii=False)
        left -= len(row.encode("utf-8", "surrogatepass"))
        if left < 0:
            break
        rows.append(row)
    if bare:
        return ResourceContents(f"[{', '.join(rows)}]", JSON_TYPE)
    total = collection.index.list(replace(query, limit=1)).total
    shown: dict[str, Json] = {"kb_name": name, "total": total}
    if len(rows) < total:
        shown |= {"has_more": True, "suggestion": f"Call kb_list_entries with offset {len(rows)} for the rest."}
    about = json.dumps(shown, ensure_ascii=False).removesuffix("}")
    return ResourceContents(f'{about}, "entries": [{", ".join(rows)}]}}', JSON_TYPE)


def _entry(call: Call, reference: str, name: str | None, *, bare: bool) -> Json:
    found_document = find_document(call.services.collections, reference, name)
    document = found_document.collection.index.document(found_document.record.address)
    entry = whole_entry(call, found_document, document)
    remember(call, found_document, document, entry)
    return entry if bare else {"entry": entry}


def _resource(document: FoundDocument) -> Resource:
    record = document.record
    try:
        stat = document.collection.store.stat(record.address)
    except StorageError:  # the resource is then listed with the data of the index
        stat = None
    return Resource(
        uri=file_uri(document),
        name=record.id,
        title=record.title,
        description=record.description or f"{record.type or DEFAULT_TYPE} in {document.collection.name}",
        size=stat.size if stat else record.size,
        last_modified=record.updated,
    )


def _part(text: str) -> str:
    return quote(text, safe="")
