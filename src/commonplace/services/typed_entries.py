"""Typed entries: the schema in `kb.yaml`, and creating, updating and linking entries by the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from commonplace.domain import edits
from commonplace.domain.addresses import Address, parse_address, parse_document_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import (
    ALREADY_WRITTEN,
    AlreadyExistsError,
    InvalidInputError,
    KnowledgeError,
)
from commonplace.domain.frontmatter import set_fields, text_items
from commonplace.domain.json import Json, JsonObject, mapping_of
from commonplace.domain.query import Record
from commonplace.domain.records import build_record
from commonplace.domain.schema import (
    COMMON_FIELDS,
    FIXED_KEYS,
    SCHEMA_FILE,
    EntryType,
    Schema,
    declared_schema,
    new_entry_path,
)
from commonplace.domain.slugs import slug
from commonplace.domain.validation import TypeOfReference, Violation, violations
from commonplace.services import writes
from commonplace.services.collections import MAX_NEAREST_IDS, Collection, record_of
from commonplace.services.extensions import DEFAULT_TYPE, Operation, entry_fields, type_of
from commonplace.services.related_documents import NearDuplicates
from commonplace.services.writes import WriteReceipt, WriteRequest

LINKS_HINT = "Leave out links. Once the entry exists, add each link with kb_link."
"""Hint for links given as a field: below `metadata` they would lead nowhere."""
ASSESSMENT_TYPE = "qa_assessment"
"""The type of entries that store assessments; they are not assessed themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """A new entry as given by a caller."""

    entry_type: str
    title: str
    body: str = ""
    fields: JsonObject
    """Common or declared frontmatter fields by name; fields with the value None are omitted."""
    metadata: JsonObject
    """Further fields; written at the top level if common or declared by the type, otherwise under `metadata:`."""
    id: str = ""
    """The id; "" for one that is made from the title."""
    allow_undeclared: bool = False
    """Whether the schema need not declare the type."""
    at_top: tuple[str, ...] = ()
    """Names of further fields that are written at the top level in any case."""


@dataclass(frozen=True, slots=True)
class SavedEntry:
    """A written entry, with the violations of its type."""

    entry_id: str
    written: WriteReceipt
    warnings: tuple[Violation, ...] = ()
    same: str = ""
    """The id of a near-duplicate of a new entry; "" if there is none."""


def current_schema(collection: Collection) -> Schema:
    """The schema of the collection's `kb.yaml` and the plugins; a type declared in the file takes precedence."""
    schema = declared_schema(collection.store)
    added = collection.extensions.types
    if not added:
        return schema
    own = {name: item for name, item in schema.types.items() if item.declared is not None or name not in added}
    return replace(schema, types={**schema.types, **added, **own})


def schema_findings(schema: Schema) -> list[str]:
    """The error in the YAML of a `kb.yaml`, for every answer that depends on it; empty if it can be read."""
    return [finding.message for finding in schema.findings]


def reference_types(collection: Collection) -> TypeOfReference:
    """A function that returns the type of the entry that an `object-ref` names; "" for another collection's entry."""

    def type_of_reference(reference: str) -> str | None:
        record = collection.index.find(reference)
        if record is None:
            return "" if ":" in reference else None
        return record.type or DEFAULT_TYPE

    return type_of_reference


def tags_of(collection: Collection, record: Record) -> list[str]:
    """The tags of an entry. In a base with `kb.yaml` only the frontmatter states them, not `#channel` in a text."""
    if collection.store.stat(parse_address(SCHEMA_FILE)) is None:
        return list(record.tags)
    return list(dict.fromkeys(tag.lstrip("#") for tag in text_items(record.frontmatter.get("tags"))))


def create_entry(collection: Collection, entry: NewEntry, intent: WriteRequest = writes.UNCONDITIONAL) -> SavedEntry:
    """Write a new entry into the folder of its type.

    Raises:
        InvalidInputError: kind "type" for an undeclared type, "schema" for an enforced violation or a path that the
            entry lacks a field for, "argument" for an undeclared field, "title" for a title without a letter or digit.
        AlreadyExistsError: the id or the path is taken.
    """
    prepared = _prepared(collection, current_schema(collection), entry, NearDuplicates(collection))
    written = writes.create(collection, prepared.document.address, prepared.document.raw, intent)
    _after(collection, "create", prepared.document, written)
    return SavedEntry(prepared.identifier, written, prepared.warnings, prepared.same)


def create_entries(
    collection: Collection, entries: Sequence[NewEntry], intent: WriteRequest = writes.UNCONDITIONAL
) -> list[SavedEntry | KnowledgeError]:
    """Write several new entries as one step. An invalid entry does not prevent the others.

    Returns:
        For each entry, in order, the saved entry or the error.
    """
    schema, duplicates = current_schema(collection), NearDuplicates(collection)
    prepared: list[_Prepared | KnowledgeError] = []
    for entry in entries:
        try:
            prepared.append(_prepared(collection, schema, entry, duplicates))
        except KnowledgeError as error:
            prepared.append(error)
    drafts = [
        (other_prepared.document.address, other_prepared.document.raw)
        for other_prepared in prepared
        if isinstance(other_prepared, _Prepared)
    ]
    results = iter(writes.create_all(collection, drafts, intent))
    saved = [element if isinstance(element, KnowledgeError) else _saved(element, next(results)) for element in prepared]
    for knowledge_error, made in zip(saved, prepared, strict=True):
        if isinstance(knowledge_error, SavedEntry) and isinstance(made, _Prepared):
            _after(collection, "create", made.document, knowledge_error.written)
    return saved


def update_entry(
    collection: Collection,
    address: Address,
    changes: JsonObject,
    body: str | None = None,
    intent: WriteRequest = writes.UNCONDITIONAL,
    *,
    declared_only: Iterable[str] = (),
) -> SavedEntry:
    """Change the named frontmatter fields of an entry, and its body if given; nothing else.

    Args:
        collection: Collection of the entry.
        address: Address of the entry.
        changes: New values; None removes a field. The keys of a mapping `metadata` are set one by one.
        body: The new text after the frontmatter; None for no change.
        intent: As for any write.
        declared_only: Fields among the changes that the entry's type must declare.

    Raises:
        InvalidInputError: kind "schema" for an enforced violation, "argument" for an undeclared field.
        ConflictError: the entry is no longer at the expected revision.
    """
    schema = current_schema(collection)
    warnings: tuple[Violation, ...] = ()
    made: list[Document] = []

    def change(document: Document) -> bytes:
        nonlocal warnings
        values = document.frontmatter.values
        entry_type = type_of(values)
        declared = schema.types.get(entry_type)
        field_names = _field_names(schema, declared)
        _require_known(entry_type, field_names, set(declared_only) - values.keys())
        fields = _merged(field_names, values, changes)
        warnings = _checked(collection, schema, entry_type, {"title": document.title, **values, **fields})
        changed = read_document(address, set_fields(document, fields)) if fields else document
        return changed.raw if body is None else edits.give_body(changed, body)

    def accept(document: Document) -> None:
        made.append(document)
        collection.extensions.run_hooks("before_save", entry_fields(collection.name, document), operation="update")

    written = writes.edit(collection, address, change, intent, whole=body is not None, accept=accept)
    _after(collection, "update", made[-1], written)
    return SavedEntry(build_record(made[-1], written.revision).id, written, warnings)


def delete_entry(collection: Collection, address: Address, intent: WriteRequest = writes.UNCONDITIONAL) -> WriteReceipt:
    """Delete an entry.

    Raises:
        NotFoundError: there is no such entry.
        InvalidInputError: kind "hook": a plugin rejected it.
    """
    entry = entry_fields(collection.name, collection.index.document(address))

    def accept(_: Document) -> None:
        collection.extensions.run_hooks("before_delete", entry, operation="delete")

    written = writes.delete(collection, address, intent, accept=accept)
    collection.extensions.run_hooks("after_delete", entry, written.answer_by, "delete")
    return written


def link_entries(
    collection: Collection,
    source: Address,
    target: str,
    link: tuple[str, str | None],
    intent: WriteRequest = writes.UNCONDITIONAL,
    *,
    base: str = "",
) -> WriteReceipt:
    """Add a link to an entry's frontmatter. An existing link with the same target and relation changes nothing.

    Args:
        collection: Collection of the entry.
        source: Address of the entry.
        target: The target as written in the link.
        base: Name of the target's base; "" for this one.
        link: Its relation and its note.
        intent: As for any write.
    """
    relation, note = link

    def change(document: Document) -> bytes:
        links = document.frontmatter.values.get("links")
        present: list[Json] = list(links) if isinstance(links, list) else [] if links is None else [links]
        if any(_same_link(link, (target, base), relation) for link in present):
            return document.raw
        added: dict[str, Json] = {"target": target, **({"kb": base} if base else {}), "relation": relation}
        return set_fields(document, {"links": [*present, added | ({"note": note} if note else {})]})

    message = intent.message or f"Link: {source.id} {relation} {target}"
    return writes.edit(collection, source, change, replace(intent, message=message))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A new entry that was checked."""

    identifier: str
    document: Document
    warnings: tuple[Violation, ...]
    same: str


def _prepared(collection: Collection, schema: Schema, entry: NewEntry, duplicates: NearDuplicates) -> _Prepared:
    declared = _declared(schema, entry.entry_type, allow_undeclared=entry.allow_undeclared)
    identifier = entry.id or slug(entry.title)
    tops = frozenset(entry.at_top) | _field_names(schema, declared)
    _require_known(entry.entry_type, tops, (key for key, value in entry.fields.items() if value is not None))
    fields = {key: value for key, value in entry.fields.items() if value is not None}
    common = COMMON_FIELDS - FIXED_KEYS - fields.keys()  # filters by status or date look at the top level alone
    top, below = _placed(tops | common, entry.metadata)
    values: dict[str, Json] = {"id": identifier, "title": entry.title, "type": entry.entry_type}
    values |= fields | top
    values |= {name: rule.default for name, rule in declared.fields.items() if rule.default is not None} | values
    values |= {"metadata": below} if below else {}
    taken = record_of(collection.index, identifier)
    warnings = () if taken else _checked(collection, schema, entry.entry_type, values)
    content = set_fields(f"\n{entry.body}".encode() if entry.body else b"", values)
    if taken is not None:
        raise _taken(collection, taken, content)
    address = parse_document_address(new_entry_path(declared, identifier, values))
    document = read_document(address, content)
    collection.extensions.run_hooks("before_save", entry_fields(collection.name, document), operation="create")
    return _Prepared(identifier, document, warnings, duplicates.of(identifier, document))


def _taken(collection: Collection, taken: Record, content: bytes) -> AlreadyExistsError:
    try:
        same = collection.store.read(taken.address) == content
    except KnowledgeError:  # the entry exists, even if its text is unreadable
        same = False
    return AlreadyExistsError(
        f"There already is an entry {taken.id!r}.",
        kind="document",
        hint=ALREADY_WRITTEN if same else "Update it, or choose another title.",
        reference=taken.id,
    )


def _saved(prepared: _Prepared, result: WriteReceipt | KnowledgeError) -> SavedEntry | KnowledgeError:
    return (
        result
        if isinstance(result, KnowledgeError)
        else SavedEntry(prepared.identifier, result, prepared.warnings, prepared.same)
    )


def _same_link(link: Json, target: tuple[str, str], relation: str) -> bool:
    """Whether a link leads to a target, an id and a base, as `{target, kb}` or as `kb:target`."""
    stated = link if isinstance(link, Mapping) else {"target": link}
    forms = {target, (f"{target[1]}:{target[0]}", "") if target[1] else target}
    return (stated.get("target"), stated.get("kb") or "") in forms and (
        stated.get("relation") or "related_to"
    ) == relation


def _declared(schema: Schema, name: str, *, allow_undeclared: bool = False) -> EntryType:
    declared = schema.types.get(name) or (EntryType(name=name) if allow_undeclared else None)
    if declared is None:
        broken = "".join(f" {finding}" for finding in schema_findings(schema))
        raise InvalidInputError(
            f"The type {name!r} is not declared. Declared: {', '.join(schema.types)}.{broken}",
            kind="type",
            hint=f"Repair {SCHEMA_FILE} first." if broken else f"Use a declared type, or add it to {SCHEMA_FILE}.",
            nearest=get_close_matches(name, schema.types, MAX_NEAREST_IDS),
        )
    return declared


def _field_names(schema: Schema, declared: EntryType | None) -> frozenset[str]:
    """The fields that the type declares, and the fields for which the base has a rule."""
    return frozenset(name for name, _ in schema.rules) | (declared.field_names if declared else frozenset[str]())


def _require_known(entry_type: str, declared: frozenset[str], names: Iterable[str]) -> None:
    """Reject fields that no entry of the type has at the top level.

    Raises:
        InvalidInputError: kind "argument"; the message names the fields that the type has.
    """
    common_fields = COMMON_FIELDS | declared
    unknown = sorted(set(names) - common_fields)
    if unknown:
        names, below = ", ".join(sorted(common_fields)), f'{{"metadata": {{"{unknown[0]}": ...}}}}'
        hint = f"Put it into metadata, as in {below}, or declare it in {SCHEMA_FILE}."
        raise InvalidInputError(
            f"Unknown argument {', '.join(unknown)}: the type {entry_type!r} does not declare it. Fields that entries "
            f"of this type take by name: {names}.",
            kind="argument",
            hint=LINKS_HINT if "links" in unknown else hint,
            nearest=get_close_matches(unknown[0], sorted(common_fields), MAX_NEAREST_IDS),
        )


def _placed(tops: frozenset[str], metadata: JsonObject) -> tuple[dict[str, Json], dict[str, Json]]:
    """The further fields, divided into those of the top level and the others."""
    top = {key: value for key, value in metadata.items() if key in tops}
    return top, {key: value for key, value in metadata.items() if key not in tops}


def _merged(field_names: frozenset[str], values: JsonObject, changes: JsonObject) -> dict[str, Json]:
    """The changes as fields of the frontmatter. A field that stands at the top and below `metadata` changes in both."""
    metadata = changes.get("metadata", {})
    if not isinstance(metadata, Mapping):
        return dict(changes)
    before = mapping_of(values.get("metadata"))
    top, below = _placed(field_names | ((values.keys() | COMMON_FIELDS - changes.keys()) - FIXED_KEYS), metadata)
    fields = {key: value for key, value in changes.items() if key != "metadata"} | top
    below |= {key: fields[key] for key in fields.keys() & before.keys() - FIXED_KEYS}
    merged = {key: value for key, value in {**before, **below}.items() if value is not None}
    return fields | ({"metadata": merged or None} if below else {})


def _after(collection: Collection, operation: Operation, document: Document, written: WriteReceipt) -> None:
    """Run the plugins' after-hooks with the written document, which is not read again because that could fail."""
    if collection.extensions.hooks.get("after_save"):
        entry = entry_fields(collection.name, document)
        collection.extensions.run_hooks("after_save", entry, written.answer_by, operation)


def _checked(collection: Collection, schema: Schema, entry_type: str, values: JsonObject) -> tuple[Violation, ...]:
    found_violations = (
        *violations(schema, entry_type, values, reference_types(collection)),
        *collection.extensions.violations(entry_type, values, collection.name),
    )
    refusing = [
        violation
        for violation in found_violations
        if (schema.enforce if violation.enforced is None else violation.enforced)
    ]
    if refusing:
        raise InvalidInputError(
            f"The entry breaks its type {entry_type!r}: {'; '.join(map(str, refusing))}.",
            kind="schema",
            hint="Correct the named fields and try again.",
        )
    return found_violations
