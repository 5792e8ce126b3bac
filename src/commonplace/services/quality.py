"""Quality checks of an entry, or of a whole collection, by named rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from commonplace.domain.addresses import fold
from commonplace.domain.documents import Severity
from commonplace.domain.errors import NotFoundError
from commonplace.domain.ports import Progress
from commonplace.domain.query import Record
from commonplace.domain.rubric import meets
from commonplace.domain.schema import Schema
from commonplace.domain.validation import is_date, violations
from commonplace.services import links
from commonplace.services.collections import Collection, Collections
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.listing import every_document
from commonplace.services.typed_entries import ASSESSMENT_TYPE, current_schema

SEVERITIES: tuple[Severity, ...] = (Severity.ERROR, Severity.WARNING, Severity.INFO)
"""From the most to the least severe."""
IMPORTANCE = range(1, 11)
"""Valid values of `importance`."""
STEP = 50
"""Number of entries between two progress reports."""
DATE_FIELDS = ("date", "created_at", "updated_at", "last_updated")


@dataclass(frozen=True, slots=True)
class Issue:
    """One result of a rule."""

    entry_id: str
    collection: str
    rule: str
    severity: Severity
    field: str
    """The frontmatter field concerned, or ""."""
    message: str


def check_entry(collections: Collections, collection: Collection, record: Record) -> list[Issue]:
    """Issues of one entry, by the rules that do not need the whole collection."""
    schema = current_schema(collection)
    issues = list(_of_record(collection, schema, record))
    issues += _broken_links(collections, collection, [record])
    return _sorted(issues)


def check_collection(
    collections: Collections, collection: Collection, progress: Progress = lambda _done, _total: None
) -> list[Issue]:
    """Issues of a collection, most severe first, then by entry.

    Args:
        collections: All open collections, for links between them.
        collection: The collection.
        progress: Called with the number of checked entries.
    """
    schema = current_schema(collection)
    records = [record for record in every_document(collection) if record.type != ASSESSMENT_TYPE]
    issues: list[Issue] = []
    for number, record in enumerate(records):
        if number % STEP == 0:
            progress(number, len(records))
        with suppress(NotFoundError):  # deleted since it was listed
            issues += list(_of_record(collection, schema, record))
    progress(len(records), len(records))
    issues += _broken_links(collections, collection, records)
    issues += (
        _issue(collection, record, "orphan_entry", Severity.INFO, "No other entry links to this one.")
        for record in links.orphans(collection)
        if record.type != ASSESSMENT_TYPE
    )
    issues += _duplicate_titles(collection, records)
    return _sorted(issues)


def at_least(issues: Sequence[Issue], severity: Severity) -> list[Issue]:
    """The issues of at least this severity."""
    kept = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return [issue for issue in issues if issue.severity in kept]


def _of_record(collection: Collection, schema: Schema, record: Record) -> Iterator[Issue]:
    for finding in record.findings:
        yield Issue(record.id, collection.name, finding.rule, finding.severity, finding.field, finding.message)
    if not record.frontmatter.get("title") and _has_no_heading(collection, record):
        message = "The entry has no title: neither in its frontmatter nor as a heading of level 1."
        yield _issue(collection, record, "missing_title", Severity.ERROR, message, "title")
    if record.words == 0:
        yield _issue(collection, record, "empty_body", Severity.WARNING, "The entry has no text.")
    yield from _dates(collection, record)
    importance = record.frontmatter.get("importance")
    if importance is not None and importance not in IMPORTANCE:
        message = f"importance is {importance!r}; expected a whole number from 1 to 10."
        yield _issue(collection, record, "importance_range", Severity.WARNING, message, "importance")
    yield from _rubric(collection, schema, record)
    yield from _stale(collection, schema, record)
    values = {"title": record.title, **record.frontmatter}
    entry_type = record.type or DEFAULT_TYPE
    added = collection.extensions.violations(entry_type, values, collection.name)
    for violation in (*violations(schema, entry_type, values), *added):
        if not (record.type == "event" and violation.field == "date" and violation.rule == "required"):
            yield _issue(collection, record, "schema_violation", Severity.WARNING, f"{violation}.", violation.field)


def _rubric(collection: Collection, schema: Schema, record: Record) -> Iterator[Issue]:
    """The machine-checkable sentences of the rubric; people and agents judge the others."""
    for sentence in schema.evaluation_rubric:
        if not meets(sentence, record, lambda: len(collection.index.links_from(record.address))):
            message = f"The rubric asks: {sentence[:120]}"
            yield _issue(collection, record, "rubric_violation", Severity.WARNING, message)


def _stale(collection: Collection, schema: Schema, record: Record) -> Iterator[Issue]:
    days = schema.policies.get("stale_after_days")
    if not isinstance(days, int) or isinstance(days, bool) or not record.updated:
        return
    oldest = (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
    if record.updated[:10] < oldest:
        message = f"Last updated {record.updated[:10]}, more than {days} days ago."
        yield _issue(collection, record, "stale", Severity.INFO, message)


def _has_no_heading(collection: Collection, record: Record) -> bool:
    """Whether the entry has no title. Only entries whose title is their file's name are opened."""
    if record.title != record.address.stem:
        return False
    return not any(section.level == 1 for section in collection.index.document(record.address).sections)


def _dates(collection: Collection, record: Record) -> Iterator[Issue]:
    if record.type == "event" and not record.frontmatter.get("date"):
        yield _issue(collection, record, "event_missing_date", Severity.ERROR, "An event needs a date.", "date")
    for name in DATE_FIELDS:
        value = record.frontmatter.get(name)
        if value not in (None, "") and not (isinstance(value, str) and is_date(value)):
            message = f"{name} is {str(value)[:40]!r}; expected a date YYYY-MM-DD."
            yield _issue(collection, record, "invalid_date", Severity.ERROR, message, name)


def _broken_links(collections: Collections, collection: Collection, records: Sequence[Record]) -> Iterator[Issue]:
    alone = records[0].address if len(records) == 1 else None
    by_address = {record.address: record for record in records}
    for resolved in links.broken(collections, collection, alone):
        record = by_address.get(resolved.source)
        if record is not None:
            message = f"The link to {resolved.link.raw[:80]!r} leads nowhere."
            yield _issue(collection, record, "broken_link", Severity.WARNING, message)


def _duplicate_titles(collection: Collection, records: Sequence[Record]) -> Iterator[Issue]:
    titles = Counter(fold(record.title) for record in records)
    for record in records:
        if titles[fold(record.title)] > 1:
            message = f"{titles[fold(record.title)]} entries have the title {record.title[:80]!r}."
            yield _issue(collection, record, "duplicate_title", Severity.WARNING, message, "title")


def _issue(
    collection: Collection, record: Record, rule: str, severity: Severity, message: str, field: str = ""
) -> Issue:
    return Issue(record.id, collection.name, rule, severity, field, message)


def _sorted(issues: Sequence[Issue]) -> list[Issue]:
    return sorted(issues, key=lambda issue: (SEVERITIES.index(issue.severity), issue.entry_id, issue.rule))
