"""Services for the tools of `kb`, beyond the core services."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import parse_address
from commonplace.domain.documents import Severity
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json, JsonObject, equal_json, mapping_of
from commonplace.domain.ports import Progress
from commonplace.domain.query import Filter, ListQuery, Record
from commonplace.domain.schema import CORE_TYPES, SCHEMA_FILE, Schema, read_schema, yaml_finding
from commonplace.domain.schema_problems import KEYS, schema_problems
from commonplace.domain.slugs import slug
from commonplace.domain.yaml_edits import as_json_types, change_keys
from commonplace.domain.yaml_loader import load
from commonplace.services import findings, writes
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import Issue
from commonplace.services.listing import every_document
from commonplace.services.typed_entries import ASSESSMENT_TYPE
from commonplace.services.writes import DocumentDraft

# Quality assessments: the result of an entry's checks, stored as a separate entry.


ASSESSMENT_FOLDER = "qa_assessments"
STATUSES = ("pass", "warn", "fail")
MAX_STEM_BYTES = 180
"""Maximum length in bytes of the part of an assessment's id that names the entry."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """The assessment of one entry."""

    id: str
    """Id of the assessment's entry."""
    target: Record
    reference: str
    """Reference of the assessed entry."""
    status: str
    """`fail` if there are errors, `warn` if there are warnings, else `pass`."""
    issues: tuple[Issue, ...]
    assessed_at: str
    """ISO 8601 UTC with milliseconds."""


@dataclass(frozen=True, slots=True)
class AssessmentCoverage:
    """Number of assessed entries of a collection."""

    total: int
    assessed: int
    by_status: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class KeptAssessment:
    """A stored assessment."""

    id: str
    """Id of the assessment's entry."""
    target: str
    """Reference of the assessed entry."""
    status: str
    issues_found: int
    assessed_at: str
    """ISO 8601 UTC with milliseconds."""


def assess(
    collections: Collections,
    collection: Collection,
    targets: Sequence[Record],
    max_age_hours: float,
    progress: Progress = lambda _done, _total: None,
) -> list[Assessment]:
    """Check entries and store the results in one step. Unchanged entries with a recent assessment are skipped.

    Args:
        collections: All open collections, for links between them.
        collection: The collection of the entries.
        targets: The entries.
        max_age_hours: Maximum age in hours of an assessment that counts as recent; 0 or less to assess every entry.
        progress: Called with the number of checked entries, before the results are written.
    """
    fresh = _fresh_revisions(collection, max_age_hours) if max_age_hours > 0 else {}
    due = [target for target in targets if fresh.get(target.address.path) != target.revision]
    results: dict[str, Assessment] = {}
    for number, target in enumerate(due):
        progress(number, len(due))
        reference, when = target.reference, moment_of_write()
        while collection.index.by_id(_id_of(reference, when)) or _id_of(reference, when) in results:
            when += timedelta(milliseconds=1)
        results[_id_of(reference, when)] = _assessment(collections, collection, target, reference, when)
    drafts = [_draft(result) for result in results.values()]
    writes.put_all(collection, drafts, writes.WriteRequest(message="Assess"))
    return list(results.values())


def assessable(collection: Collection) -> list[Record]:
    """Every entry except assessments."""
    return [record for record in every_document(collection) if record.type != ASSESSMENT_TYPE]


def coverage(collection: Collection) -> AssessmentCoverage:
    """The number of entries with an assessment, and the number per status."""
    records = assessable(collection)
    statuses: dict[str, str] = {}
    for assessment in history(collection):
        statuses.setdefault(assessment.target, assessment.status)
    latest = [statuses.get(record.id) or statuses.get(record.address.path) for record in records]
    counted = Counter(status for status in latest if status is not None)
    return AssessmentCoverage(len(records), counted.total(), {status: counted[status] for status in STATUSES})


def history(collection: Collection) -> list[KeptAssessment]:
    """All stored assessments, newest first."""
    assessments = [
        KeptAssessment(
            record.id,
            str(record.frontmatter.get("target_entry") or ""),
            str(record.frontmatter.get("qa_status") or ""),
            number if isinstance(number := record.frontmatter.get("issues_found"), int) else 0,
            str(record.frontmatter.get("assessed_at") or ""),
        )
        for record in _kept(collection)
    ]
    return sorted(assessments, key=lambda assessment: (assessment.assessed_at, assessment.id), reverse=True)


def _assessment(
    collections: Collections, collection: Collection, target: Record, reference: str, when: datetime
) -> Assessment:
    issues = tuple(findings.page_issues(collections, collection, target, strict=True))
    severities = {issue.severity for issue in issues}
    status = "fail" if Severity.ERROR in severities else "warn" if Severity.WARNING in severities else "pass"
    return Assessment(_id_of(reference, when), target, reference, status, issues, _text_of(when))


def _id_of(reference: str, when: datetime) -> str:
    """The id of an assessment: the id of the entry and the time to the millisecond."""
    stem = slug(reference).encode()[:MAX_STEM_BYTES].decode("utf-8", "ignore")
    return f"qa-{stem}-{when:%Y%m%dt%H%M%S}{when.microsecond // 1000:03d}z"


def _text_of(when: datetime) -> str:
    return f"{when.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _draft(result: Assessment) -> DocumentDraft:
    lines = [f"- {issue.severity}: {issue.rule}: {issue.message}" for issue in result.issues]
    values: dict[str, Json] = {
        "id": result.id,
        "title": f"Assessment of {result.target.title}",
        "type": ASSESSMENT_TYPE,
        "target_entry": result.reference,
        "target_path": result.target.address.path,
        "target_revision": result.target.revision,
        "qa_status": result.status,
        "issues_found": len(result.issues),
        "assessed_at": result.assessed_at,
    }
    body = "\n".join(lines) or "No issues."
    return parse_address(f"{ASSESSMENT_FOLDER}/{result.id}.md"), set_fields(f"\n{body}\n".encode(), values)


def _fresh_revisions(collection: Collection, max_age_hours: float) -> dict[str, str]:
    """Revisions by path of the entries with a recent assessment, as of the newest assessment."""
    oldest = _text_of(datetime.now(UTC) - timedelta(hours=max_age_hours))
    fresh: dict[str, str] = {}
    for record in sorted(_kept(collection), key=lambda other_record: str(other_record.frontmatter.get("assessed_at"))):
        if str(record.frontmatter.get("assessed_at")) >= oldest:
            path = record.frontmatter.get("target_path") or f"{record.frontmatter.get('target_entry')}.md"
            fresh[str(path)] = str(record.frontmatter.get("target_revision"))
    return fresh


def _kept(collection: Collection) -> list[Record]:
    return list(every_document(collection, ListQuery(filter=Filter(types=(ASSESSMENT_TYPE,)))))


# Changes of a collection's `kb.yaml`. Comments and all other keys are preserved.


def add_type(collection: Collection, name: str, definition: JsonObject) -> Schema:
    """Declare a type. The same declaration again changes nothing.

    Raises:
        InvalidInputError: kind "schema": the type has another declaration in the file, the definition is invalid, or
            the file cannot be changed.
    """

    def added(types: Mapping[str, Json]) -> dict[str, Json]:
        if types.get(name, definition) != definition:
            raise InvalidInputError(
                f"The type {name!r} has another declaration in {SCHEMA_FILE}, so nothing was changed.",
                kind="schema",
                hint=f"Change it with kb_manage, action set_schema, and the whole of `types` with the new {name!r}; "
                "show_schema shows the present declaration.",
            )
        return {**types, name: dict(definition)}

    return _change(collection, f"Declare the type {name}", added)


def remove_type(collection: Collection, name: str) -> Schema:
    """Remove the declaration of a type. Entries of the type stay; a core type gets its built-in declaration.

    Raises:
        NotFoundError: kind "type": the type is not declared.
    """

    def without(types: Mapping[str, Json]) -> dict[str, Json]:
        if name not in types:
            core = " It is a core type." if name in CORE_TYPES else ""
            raise NotFoundError(
                f"The type {name!r} is not declared in {SCHEMA_FILE}.{core} Declared: {', '.join(types) or 'none'}.",
                kind="type",
                hint="Give a declared type.",
            )
        return {key: value for key, value in types.items() if key != name}

    return _change(collection, f"Remove the type {name}", without)


def set_schema(collection: Collection, schema: JsonObject) -> Schema:
    """Set the given keys of the file; all others stay.

    Args:
        collection: The collection.
        schema: Keys and values; `preset` names a plugin's preset, whose keys are set unless given here.

    Raises:
        InvalidInputError: kind "schema": a key is unknown, or the file cannot be changed.
        NotFoundError: kind "preset": there is no such preset.
    """
    if "preset" in schema:
        overrides = {key: value for key, value in schema.items() if key != "preset"}
        schema = {**_preset(collection, schema["preset"]), **overrides}
    unknown = sorted(set(schema) - KEYS)
    if unknown:
        raise InvalidInputError(
            f"Unknown keys of {SCHEMA_FILE}: {', '.join(unknown)}. Valid: {', '.join(sorted(KEYS))}.",
            kind="schema",
            hint="Remove them.",
        )
    return _write(collection, "Set the schema", lambda _: schema)


def _preset(collection: Collection, name: Json) -> JsonObject:
    presets = collection.extensions.presets
    if isinstance(name, str) and name in presets:
        return presets[name]
    raise NotFoundError(
        f"There is no preset {name!r}. Presets: {', '.join(presets) or 'none'}.",
        kind="preset",
        hint="Give one of them, or the keys themselves.",
    )


def _change(collection: Collection, message: str, change: Callable[[Mapping[str, Json]], dict[str, Json]]) -> Schema:
    return _write(collection, message, lambda types: {"types": change(types) or None})


def _write(collection: Collection, message: str, changes: Callable[[Mapping[str, Json]], JsonObject]) -> Schema:
    address = parse_address(SCHEMA_FILE)
    with collection.store.transaction(message) as transaction:
        raw = transaction.read(address) if transaction.exists(address) else b""
        value = load(raw.decode("utf-8-sig", "replace")).value
        types = value.get("types") if isinstance(value, Mapping) else None
        content = set_keys(raw, changes(types if isinstance(types, Mapping) else {}))
        before, after = schema_problems(read_schema(raw)).wrong, schema_problems(read_schema(content)).wrong
        new = [problem for problem in after if problem not in before]
        if new:
            raise InvalidInputError(" ".join(new), kind="schema", hint="Correct the definition and try again.")
        transaction.put(
            address, content, keep=_loses(value, load(content.decode()).value) or _loses_comment(raw, content)
        )
    return read_schema(content)


def _loses(before: Json, after: Json) -> bool:
    """Whether a declared value was removed or changed."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return any(key not in after or _loses(value, after[key]) for key, value in before.items())
    return before is not None and before != after


def _loses_comment(before: bytes, after: bytes) -> bool:
    """Whether a comment was removed, because the lines of changed keys are rewritten."""
    return any(comment not in after for line in before.splitlines() if (comment := line.partition(b"#")[2]))


# Changes single keys of a `kb.yaml`; comments and all other bytes are unchanged.


def set_keys(raw: bytes, changes: Mapping[str, Json]) -> bytes:
    """A `kb.yaml` with new values for some of its keys; comments and all other bytes are unchanged.

    Args:
        raw: The current file; b"" for a new one.
        changes: New values by top-level key; None removes the key.

    Raises:
        InvalidInputError: kind "schema": the file is unreadable, or a key cannot be changed separately.
    """
    body = raw.removeprefix(codecs.BOM_UTF8)
    text, newline, old = _schema_text(body)
    normalised = {key: as_json_types(value) for key, value in changes.items()}
    target = {key: value for key, value in normalised.items() if not equal_json(old.get(key), value)}
    if not target:
        return raw
    changed = change_keys(text, old, target, newline)
    removed = {key for key in target if target[key] is None}
    expected = {key: value for key, value in {**old, **target}.items() if key not in removed}
    if not equal_json(mapping_of(load(changed).value), expected):
        raise InvalidInputError(
            f"{SCHEMA_FILE} cannot be changed by key: it would not read back the same.",
            kind="schema",
            hint="Edit the file by hand.",
        )
    return raw[: len(raw) - len(body)] + changed.encode()


def _schema_text(raw: bytes) -> tuple[str, str, Mapping[str, Json]]:
    """The text of a `kb.yaml`, ended by a line end; its line end; and its keys with their values.

    Raises:
        InvalidInputError: kind "schema": the file is unreadable.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{SCHEMA_FILE} is broken: it is not UTF-8.", kind="schema", hint="Save the file as UTF-8 first."
        ) from None
    loaded = load(text)
    if loaded.failed or not isinstance(loaded.value or {}, Mapping):
        raise InvalidInputError(
            f"{SCHEMA_FILE} is broken: {yaml_finding(loaded.problems[0]).message if loaded.problems else 'no mapping'}",
            kind="schema",
            hint="Repair the file by hand first.",
        )
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    return text, newline, mapping_of(loaded.value)
