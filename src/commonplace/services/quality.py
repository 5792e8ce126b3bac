"""Lists the issues of a collection or of one entry, for all faces."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from commonplace.domain.addresses import Address, fold
from commonplace.domain.documents import LinkKind, Severity
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.ports import Progress
from commonplace.domain.query import Record, ResolvedLink
from commonplace.domain.schema import SCHEMA_FILE, Schema
from commonplace.services import links
from commonplace.services.collections import Collection, Collections
from commonplace.services.health.entry_rules import entry_findings, graded, is_entry
from commonplace.services.health.page_rules import health_findings, page_findings
from commonplace.services.listing import every_document
from commonplace.services.typed_entries import ASSESSMENT_TYPE, current_schema

SEVERITIES: tuple[Severity, ...] = (Severity.ERROR, Severity.WARNING, Severity.INFO)
"""All severities, most severe first."""
STEP = 50
"""Number of entries between two progress reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One result of a rule."""

    collection: Collection
    path: str
    line: int = 0
    """Line number from 1; 0 for the whole file, and for a link in the frontmatter."""
    entry_id: str = ""
    """The reference by which the entry is addressed; the path if the file is not an entry."""
    rule: str
    """A stable name: `bad_yaml`, `missing_title`, `broken_link`, `duplicate_id`, `orphan_entry`, `skipped`, ..."""
    severity: Severity
    field: str = ""
    """The frontmatter field with the issue, `body`, or "" for none."""
    message: str


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A broken link and its position."""

    collection: Collection
    path: str
    line: int
    """Line number from 1; 0 for a link in the frontmatter."""
    target: str
    """The target as written."""
    field: str = ""
    """The frontmatter field, or `body`."""


def check_entry(
    collections: Collections, collection: Collection, record: Record, *, strict: bool = False
) -> list[Issue]:
    """Issues of one entry, by the rules that do not compare it with all others; `strict` as for `entry_findings`."""
    reporter = _Reporter(collection, {record.address: record.reference}, strict)
    issues = [*reporter.schema(), *reporter.entry(current_schema(collection), record)]
    issues += (reporter.issue(*found) for found in page_findings(collection, record))
    same = [one.address.path for one in collection.index.by_id(record.id) if one.address != record.address]
    issues += reporter.duplicate_ids({record.id: [record.address.path, *same]}, [record])
    issues += reporter.broken(collections, record.address, {record.address: record})
    return _sorted(issues)


def check_collection(
    collections: Collections,
    collection: Collection,
    progress: Progress = lambda _done, _total: None,
    *,
    strict: bool = False,
) -> list[Issue]:
    """Issues of a collection, most severe first, then by entry.

    Args:
        collections: All open collections, for links between them.
        collection: The collection.
        progress: Called with the number of checked entries.
        strict: As for `entry_findings`.
    """
    schema = current_schema(collection)
    everything = list(every_document(collection))
    paths: dict[str, list[str]] = {}
    for record in everything:
        paths.setdefault(record.id, []).append(record.address.path)
    reporter = _Reporter(
        collection,
        {one.address: one.id if len(paths[one.id]) == 1 else one.address.path for one in everything},
        strict,
    )
    records = [record for record in everything if record.type != ASSESSMENT_TYPE]
    issues = [*reporter.schema(), *reporter.skipped(), *reporter.duplicate_ids(paths, everything)]
    for number, record in enumerate(records):
        if number % STEP == 0:
            progress(number, len(records))
        with suppress(NotFoundError):  # the entry was deleted meanwhile
            issues += list(reporter.entry(schema, record))
    progress(len(records), len(records))
    issues += (reporter.issue(*found) for found in health_findings(collection, records))
    issues += reporter.broken(collections, None, {record.address: record for record in records})
    issues += reporter.orphans()
    issues += reporter.duplicate_titles(schema, records)
    return _sorted(issues)


def at_least(issues: Sequence[Issue], severity: Severity) -> list[Issue]:
    """The issues of at least this severity."""
    kept = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return [issue for issue in issues if issue.severity in kept]


def broken_links(
    collections: Collections, collection: Collection, address: Address | None = None, *, each: bool = True
) -> list[BrokenLink]:
    """Broken links of one document, or of all, by path and position; without `each` one for each target of it."""
    found: list[BrokenLink] = []
    at = Address("")
    raw = b""
    counted, line = 0, 1
    every = links.broken(collections, collection, address)
    for resolved in every if each else links.distinct_targets(every):
        link = resolved.link
        if resolved.source != at:
            at = resolved.source
            try:
                raw = collection.store.read(at)
            except KnowledgeError:  # deleted meanwhile, or unreadable, which is another issue
                raw = b""
            counted, line = 0, 1
        if link.span.start >= counted:  # links come in order, so each line break is counted once
            line += raw.count(b"\n", counted, link.span.start)
        else:
            line = raw.count(b"\n", 0, link.span.start) + 1
        counted = link.span.start
        shown = line if link.span.end else 0
        found.append(BrokenLink(collection, at.path, shown, link.raw, _field_of(collection, resolved)))
    return found


def _field_of(collection: Collection, resolved: ResolvedLink) -> str:
    """The frontmatter field that contains a link, or `body`."""
    if resolved.link.kind is not LinkKind.FRONTMATTER:
        return "body"
    record = collection.index.record(resolved.source)
    if record is None:
        return "links"
    values = record.frontmatter
    held = (key for key, value in values.items() if resolved.link.target in json.dumps(value, ensure_ascii=False))
    return next(held, "links")


@dataclass(frozen=True, slots=True)
class _Reporter:
    """Creates the issues of one collection."""

    collection: Collection
    references: Mapping[Address, str]
    """The reference by which each document is addressed."""
    strict: bool
    """Whether every document counts as an entry."""

    def issue(self, address: Address, line: int, rule: str, severity: Severity, message: str, field: str = "") -> Issue:
        """An issue of a document, or of another file."""
        return Issue(
            collection=self.collection,
            path=address.path,
            line=line,
            entry_id=self.references.get(address, address.path),
            rule=rule,
            severity=severity,
            field=field,
            message=message,
        )

    def entry(self, schema: Schema, record: Record) -> Iterator[Issue]:
        """The findings of the rules for one entry."""
        for found in entry_findings(self.collection, schema, record, strict=self.strict):
            yield self.issue(record.address, found.line, found.rule, found.severity, found.message, found.field)

    def schema(self) -> Iterator[Issue]:
        """The error in the YAML of `kb.yaml`, on which every other rule depends."""
        for finding in current_schema(self.collection).findings:
            place = Address(SCHEMA_FILE)
            yield self.issue(place, finding.line, finding.rule, finding.severity, finding.message, finding.field)

    def skipped(self) -> Iterator[Issue]:
        """Files that cannot be served."""
        for path, reason in self.collection.store.skipped():
            yield Issue(
                collection=self.collection,
                path=path,
                entry_id=path,
                rule="skipped",
                severity=Severity.WARNING,
                message=f"Not served: {reason}.",
            )

    def duplicate_ids(self, paths: Mapping[str, Sequence[str]], records: Sequence[Record]) -> Iterator[Issue]:
        """Entries whose id another entry has, too."""
        for record in records:
            others = [path for path in paths[record.id] if path != record.address.path]
            if others:
                message = f"{others[0]} has the same id {record.id[:80]!r}; both are reached by path only."
                yield self.issue(record.address, 0, "duplicate_id", Severity.ERROR, message, "id")

    def broken(
        self, collections: Collections, address: Address | None, records: Mapping[Address, Record]
    ) -> Iterator[Issue]:
        """Links that lead nowhere, one issue for each target of an entry."""
        for link in broken_links(collections, self.collection, address, each=False):
            source = Address(link.path)
            if source in records:
                message = f"The link to {link.target[:80]!r} leads nowhere."
                yield self.issue(source, link.line, "broken_link", Severity.WARNING, message, link.field)

    def orphans(self) -> Iterator[Issue]:
        """Entries that no other entry links to."""
        for record in links.orphans(self.collection):
            if record.type != ASSESSMENT_TYPE:
                message = "No other page links to this one."
                yield self.issue(record.address, 0, "orphan_entry", Severity.INFO, message)

    def duplicate_titles(self, schema: Schema, records: Sequence[Record]) -> Iterator[Issue]:
        """Entries whose title another entry has, too."""
        titles = Counter(fold(record.title) for record in records)
        for record in records:
            count = titles[fold(record.title)]
            if count > 1:
                severity = graded(Severity.WARNING, entry=self.strict or is_entry(schema, record))
                message = f"{count} entries have the title {record.title[:80]!r}."
                yield self.issue(record.address, 0, "duplicate_title", severity, message, "title")


def _sorted(issues: Sequence[Issue]) -> list[Issue]:
    return sorted(issues, key=lambda one: (SEVERITIES.index(one.severity), one.entry_id, one.rule, one.line))
