"""Rules for a single entry: its title, text, dates, importance, and the requirements of `kb.yaml`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from commonplace.domain.addresses import fold
from commonplace.domain.documents import Document, Finding
from commonplace.domain.findings import finding_of
from commonplace.domain.query import Record
from commonplace.domain.schema import Schema
from commonplace.domain.schema_problems import Subject, unmet_field
from commonplace.domain.validation import is_date, violations
from commonplace.services.collections import Collection
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.typed_entries import reference_types
from commonplace.services.writes.new_paths import TEMPLATE_FOLDERS

IMPORTANCE = range(1, 11)
"""Valid values of `importance`."""
DATE_FIELDS = ("date", "created_at", "updated_at", "last_updated")
MAX_SHOWN = 120
"""Maximum length in characters of a rubric's statement in a message."""


def is_entry(schema: Schema) -> bool:
    """Whether the documents of a base are entries: it has a `kb.yaml`.

    A page of any other folder has the name of its file as its title, and rules for entries count one step less in it,
    except for `kb`.
    """
    return schema.values is not None


def entry_findings(
    collection: Collection, schema: Schema, record: Record, version: Document | None = None, *, strict: bool = False
) -> Iterator[Finding]:
    """The findings of the rules in one entry.

    Args:
        collection: The entry's.
        schema: The collection's.
        record: The entry.
        version: The version of the entry that the record describes; None for that of the index.
        strict: Whether every document counts as an entry; by default `is_entry` says so. The title of a page that is
            none may be its file's name in either case.

    Raises:
        NotFoundError: the entry was deleted meanwhile.
    """
    titled_by_file = not is_entry(schema)
    milder = titled_by_file and not strict
    yield from record.findings
    if not titled_by_file and not record.frontmatter.get("title") and _has_no_heading(collection, record, version):
        message = "The entry has no title: neither in its frontmatter nor as a heading of level 1."
        yield finding_of("missing_title", message, "title")
    if record.words == 0:
        yield finding_of("empty_body", "The entry has no text.", milder=milder)
    yield from _dates(record, milder=milder)
    importance = record.frontmatter.get("importance")
    if importance is not None and (isinstance(importance, bool) or importance not in IMPORTANCE):
        message = f"importance is {importance!r}; expected a whole number from 1 to 10."
        yield finding_of("importance_range", message, "importance", milder=milder)
    yield from _rubric(collection, schema, record, version)
    yield from _stale(schema, record)
    yield from _schema(collection, schema, record)


def _has_no_heading(collection: Collection, record: Record, version: Document | None) -> bool:
    """Whether the entry has no title. Only entries whose title is their file's name are opened."""
    if fold(record.title) != fold(record.address.stem):
        return False
    return not any(section.level == 1 for section in (version or collection.index.document(record.address)).sections)


def _dates(record: Record, *, milder: bool) -> Iterator[Finding]:
    stated = record.frontmatter.get("type")  # a plain page's type may be its category
    if (stated if milder else record.type) == "event" and not record.frontmatter.get("date"):
        yield finding_of("event_missing_date", "An event needs a date.", "date", milder=milder)
    for name in DATE_FIELDS:
        value = record.frontmatter.get(name)
        if value not in (None, "") and not (isinstance(value, str) and is_date(value)):
            if record.address.folder in TEMPLATE_FOLDERS:  # a placeholder, such as {{date}}
                continue
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            message = f"{name} is {shown[:40]!r}; expected a date YYYY-MM-DD."
            yield finding_of("invalid_date", message, name, milder=milder)


def _rubric(collection: Collection, schema: Schema, record: Record, version: Document | None) -> Iterator[Finding]:
    """The checkable items of the rubrics of the base and of the type; people and agents judge the others."""
    declared = schema.types.get(record.type or DEFAULT_TYPE)
    items = dict.fromkeys((item.text, item.checker, str(item.params)) for item in schema.evaluation_rubric)
    own = declared.evaluation_rubric if declared else ()
    rubric = [*schema.evaluation_rubric, *(i for i in own if (i.text, i.checker, str(i.params)) not in items)]
    subject = Subject(
        record,
        lambda: len(version.links if version else collection.index.links_from(record.address)),
        lambda: (version or collection.index.document(record.address)).body,
    )
    for item in rubric:
        field = unmet_field(item, subject)
        if field is not None:
            message = f"The rubric asks: {(item.text or item.checker)[:MAX_SHOWN]}"
            yield finding_of("rubric_violation", message, field)


def _stale(schema: Schema, record: Record) -> Iterator[Finding]:
    days = schema.policies.get("stale_after_days")
    if not isinstance(days, int) or isinstance(days, bool) or not record.updated:
        return
    try:
        oldest = (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
    except OverflowError:  # the date would be before the year 1
        return
    if record.updated[:10] < oldest:
        message = f"Last updated {record.updated[:10]}, more than {days} days ago."
        yield finding_of("stale", message, milder=True)


def _schema(collection: Collection, schema: Schema, record: Record) -> Iterator[Finding]:
    values = {"title": record.title, **record.frontmatter}
    entry_type = record.type or DEFAULT_TYPE
    found_violations = violations(schema, entry_type, values, reference_types(collection))
    for violation in (*found_violations, *collection.extensions.violations(entry_type, values, collection.name)):
        if not (record.type == "event" and violation.field == "date" and violation.rule == "required"):
            yield finding_of("schema_violation", f"{violation}.", violation.field)
