"""Rules for a single entry: its title, text, dates, importance, and the requirements of `kb.yaml`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from commonplace.domain.documents import Severity
from commonplace.domain.query import Record
from commonplace.domain.schema import Schema
from commonplace.domain.schema.formats import is_date
from commonplace.domain.schema.rubric import Subject, unmet_field
from commonplace.domain.validation import violations
from commonplace.services.collections import Collection
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.typed_entries import reference_types
from commonplace.services.writes.new_paths import TEMPLATE_FOLDERS

IMPORTANCE = range(1, 11)
"""Valid values of `importance`."""
DATE_FIELDS = ("date", "created_at", "updated_at", "last_updated")
MAX_SHOWN = 120
"""Maximum length in characters of a rubric's statement in a message."""
_MILDER = {Severity.ERROR: Severity.WARNING, Severity.WARNING: Severity.INFO, Severity.INFO: Severity.INFO}


class EntryFinding(NamedTuple):
    """A finding of a rule in an entry."""

    rule: str
    severity: Severity
    message: str
    field: str = ""
    """The frontmatter field with the finding; "" for none."""
    line: int = 0
    """Line number from 1; 0 for the whole file."""


def is_entry(schema: Schema, record: Record) -> bool:
    """Whether a document is an entry of a typed base: its base has a `kb.yaml`, or it states a `type` or an `id`.

    A `category` makes no entry: wikis and sites group pages by it. The name of any other page is its title, and rules
    for entries count one step less in it, except for `kb`.
    """
    return schema.values is not None or bool(record.frontmatter.get("type")) or "id" in record.frontmatter


def graded(severity: Severity, *, entry: bool) -> Severity:
    """The severity of a rule for entries; one step lower if the document is not an entry."""
    return severity if entry else _MILDER[severity]


def entry_findings(
    collection: Collection, schema: Schema, record: Record, *, strict: bool = False
) -> Iterator[EntryFinding]:
    """The findings of the rules in one entry.

    Args:
        collection: The entry's.
        schema: The collection's.
        record: The entry.
        strict: Whether every document counts as an entry; by default `is_entry` says so. The title of a page that is
            none may be its file's name in either case.

    Raises:
        NotFoundError: the entry was deleted meanwhile.
    """
    titled_by_file = not is_entry(schema, record)
    entry = strict or not titled_by_file
    for finding in record.findings:
        yield EntryFinding(finding.rule, finding.severity, finding.message, finding.field, finding.line)
    if not titled_by_file and not record.frontmatter.get("title") and _has_no_heading(collection, record):
        message = "The entry has no title: neither in its frontmatter nor as a heading of level 1."
        yield EntryFinding("missing_title", Severity.ERROR, message, "title")
    if record.words == 0:
        yield EntryFinding("empty_body", graded(Severity.WARNING, entry=entry), "The entry has no text.")
    yield from _dates(record, entry=entry)
    importance = record.frontmatter.get("importance")
    if importance is not None and (isinstance(importance, bool) or importance not in IMPORTANCE):
        message = f"importance is {importance!r}; expected a whole number from 1 to 10."
        yield EntryFinding("importance_range", graded(Severity.WARNING, entry=entry), message, "importance")
    yield from _rubric(collection, schema, record)
    yield from _stale(schema, record)
    yield from _schema(collection, schema, record)


def _has_no_heading(collection: Collection, record: Record) -> bool:
    """Whether the entry has no title. Only entries whose title is their file's name are opened."""
    if record.title != record.address.stem:
        return False
    return not any(section.level == 1 for section in collection.index.document(record.address).sections)


def _dates(record: Record, *, entry: bool) -> Iterator[EntryFinding]:
    if entry and record.type == "event" and not record.frontmatter.get("date"):
        yield EntryFinding("event_missing_date", Severity.ERROR, "An event needs a date.", "date")
    for name in DATE_FIELDS:
        value = record.frontmatter.get(name)
        if value not in (None, "") and not (isinstance(value, str) and is_date(value)):
            if record.address.folder in TEMPLATE_FOLDERS:  # a placeholder, such as {{date}}
                continue
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            message = f"{name} is {shown[:40]!r}; expected a date YYYY-MM-DD."
            yield EntryFinding("invalid_date", graded(Severity.ERROR, entry=entry), message, name)


def _rubric(collection: Collection, schema: Schema, record: Record) -> Iterator[EntryFinding]:
    """The checkable items of the rubrics of the base and of the type; people and agents judge the others."""
    declared = schema.types.get(record.type or DEFAULT_TYPE)
    items = dict.fromkeys((item.text, item.checker, str(item.params)) for item in schema.evaluation_rubric)
    own = declared.evaluation_rubric if declared else ()
    rubric = [*schema.evaluation_rubric, *(i for i in own if (i.text, i.checker, str(i.params)) not in items)]
    subject = Subject(
        record,
        lambda: len(collection.index.links_from(record.address)),
        lambda: collection.index.document(record.address).body,
    )
    for item in rubric:
        field = unmet_field(item, subject)
        if field is not None:
            message = f"The rubric asks: {(item.text or item.checker)[:MAX_SHOWN]}"
            yield EntryFinding("rubric_violation", Severity.WARNING, message, field)


def _stale(schema: Schema, record: Record) -> Iterator[EntryFinding]:
    days = schema.policies.get("stale_after_days")
    if not isinstance(days, int) or isinstance(days, bool) or not record.updated:
        return
    try:
        oldest = (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
    except OverflowError:  # the date would be before the year 1
        return
    if record.updated[:10] < oldest:
        message = f"Last updated {record.updated[:10]}, more than {days} days ago."
        yield EntryFinding("stale", Severity.INFO, message)


def _schema(collection: Collection, schema: Schema, record: Record) -> Iterator[EntryFinding]:
    values = {"title": record.title, **record.frontmatter}
    entry_type = record.type or DEFAULT_TYPE
    found = violations(schema, entry_type, values, reference_types(collection))
    for violation in (*found, *collection.extensions.violations(entry_type, values, collection.name)):
        if not (record.type == "event" and violation.field == "date" and violation.rule == "required"):
            yield EntryFinding("schema_violation", Severity.WARNING, f"{violation}.", violation.field)
