"""Lists the issues of a collection or of one entry, for all faces."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby

from commonplace.domain.addresses import Address, fold
from commonplace.domain.claims import PageClaim
from commonplace.domain.document_reader import Fragments, read_document
from commonplace.domain.documents import Document, Finding, LinkKind, Severity
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.findings import SEVERITIES, NewFinding, NewFindings, finding_of, shortened
from commonplace.domain.links import name_keys
from commonplace.domain.ports import Progress
from commonplace.domain.query import Record, ResolvedLink
from commonplace.domain.records import build_record, names_of_record
from commonplace.domain.revisions import revision_of
from commonplace.domain.schema import SCHEMA_FILE, Schema
from commonplace.domain.schema_problems import declaration_findings
from commonplace.domain.site_file import SITE_FILE
from commonplace.domain.sites import SiteTree
from commonplace.domain.status import declared_statuses
from commonplace.services import links
from commonplace.services.collections import Collection, Collections
from commonplace.services.extensions import Deadline
from commonplace.services.health.citations import newly_lost_quotations
from commonplace.services.health.contradictions import changed_claim_findings
from commonplace.services.health.entry_rules import entry_findings, is_entry
from commonplace.services.health.finding_cache import FindingCache
from commonplace.services.health.page_rules import (
    LocatedFinding,
    broken_link,
    collection_findings,
    dead_anchor,
    page_findings,
    record_findings,
    text_rule_findings,
)
from commonplace.services.sites import site_findings
from commonplace.services.statuses import CollectionStatuses
from commonplace.services.typed_entries import ASSESSMENT_TYPE, current_schema
from commonplace.services.writes import WriteReceipt
from commonplace.services.writes.recorded import RecordedWrites

TOLD_OF_WRITES = frozenset({"unportable_name", "source_changed", "source_moved"})
"""Rules of severity INFO whose findings the answer of a write has, because its writer can mend them now."""
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
    """A key of `domain.findings.RULES`."""
    severity: Severity
    field: str = ""
    """The frontmatter field with the issue, `body`, or "" for none."""
    message: str
    lines: tuple[int, ...] = ()
    """The lines of all places, if there are several: 0 for one in the frontmatter; a line counts for each place."""

    @property
    def sentence(self) -> str:
        """The message, with the places if there are several."""
        return f"{self.message} {shown_places(self.lines)}" if self.lines else self.message


MAX_LINES = 10
"""Maximum number of lines that the sentence of an issue names."""


def shown_places(lines: Sequence[int]) -> str:
    """Places as a sentence: `3 places: lines 5, 9 and 12.`."""
    return f"{len(lines):,} places: {shown_lines(lines)}."


def shown_lines(lines: Sequence[int]) -> str:
    """Line numbers as text, 0 for the frontmatter: `line 5`, `front matter, lines 5 and 9`."""
    distinct = [f"{line:,}" for line in dict.fromkeys(lines) if line]
    names = distinct[:MAX_LINES]
    last = f"{len(distinct) - MAX_LINES:,} more" if len(distinct) > MAX_LINES else names.pop() if names else ""
    listed = f"{', '.join(names)} and {last}" if names else last
    numbers = f"line{'s' if len(distinct) > 1 else ''} {listed}" if distinct else ""
    return ", ".join(filter(None, ["front matter" if 0 in lines else "", numbers]))


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A broken link and its position."""

    collection: Collection
    path: str
    line: int
    """Line number from 1; 0 for a link in the frontmatter."""
    resolved: ResolvedLink
    field: str = ""
    """The frontmatter field, or `body`."""


def page_issues(
    collections: Collections,
    collection: Collection,
    record: Record,
    version: Document | None = None,
    *,
    strict: bool = False,
) -> list[Issue]:
    """Issues of one page, by the rules that do not compare it with all others, most severe first.

    Args:
        collections: All open collections, for links between them.
        collection: The page's.
        record: The page's record.
        version: The version of the page that the record describes, with its text as it may be or was; None for the
            page as it is.
        strict: As for `entry_findings`.
    """
    reporter = _Reporter(collection, {record.address: record.reference})
    with suppress(NotFoundError):  # deleted meanwhile
        version = version or collection.index.document(record.address)
    findings = list(entry_findings(collection, current_schema(collection), record, version, strict=strict))
    if version is not None:
        links = collection.index.resolve(version)
        findings += page_findings(collection, record, version, links)
    same = [element.address.path for element in collection.index.by_id(record.id) if element.address != record.address]
    located = [*reporter.schema_errors(), *((record.address, finding) for finding in findings)]
    located += reporter.duplicate_ids({record.id: [record.address.path, *same]}, [record])
    located += reporter.broken(collections, record.address, {record.address.path: record})
    return _sorted(reporter.issues(located))


def collection_issues(
    collections: Collections,
    collection: Collection,
    progress: Progress = lambda _done, _total: None,
    *,
    strict: bool = False,
    read: bool = True,
) -> list[Issue]:
    """Issues of a collection, most severe first, then by entry.

    Args:
        collections: All open collections, for links between them.
        collection: The collection.
        progress: Called with the number of checked entries.
        strict: As for `entry_findings`.
        read: As for `page_rules.collection_findings`.
    """
    references = {item.address: item.address.path if item.shares_id else item.id for item in collection.index.records()}
    reporter = _Reporter(collection, references)
    return _sorted(reporter.issues(located_findings(collections, collection, progress, strict=strict, read=read)))


def located_findings(
    collections: Collections,
    collection: Collection,
    progress: Progress = lambda _done, _total: None,
    *,
    strict: bool = False,
    read: bool = True,
) -> list[LocatedFinding]:
    """The findings of `collection_issues` with their places, in no order; most of them are known from the last call."""
    schema = current_schema(collection)
    everything = collection.index.records()
    reporter = _Reporter(collection, {})
    records = [record for record in everything if record.type != ASSESSMENT_TYPE]
    day = datetime.now(UTC).date()
    is_plain = schema.values is None and not collection.extensions.validators
    cache = FindingCache(collection, records, (schema, day, strict, collection.is_past), is_plain=is_plain)
    located = [*reporter.declarations(), *reporter.skipped(), *reporter.duplicate_ids(_paths(everything), everything)]
    find = partial(_of_record, collection, schema, day.isoformat(), strict=strict)
    for number, record in enumerate(records):
        if number % STEP == 0:
            progress(number, len(records))
        with suppress(NotFoundError):  # the entry was deleted meanwhile
            if findings := cache.own(record, find):
                located += ((record.address, finding) for finding in findings)
    progress(len(records), len(records))
    if not collection.is_past:
        located += collection_findings(collection, records, cache.contradicting_links(), read=read)
        located += CollectionStatuses(collection).findings()
    located += reporter.broken(collections, None, {record.address.path: record for record in records}, cache)
    located += reporter.orphans()
    located += reporter.duplicate_titles(records, milder=not strict and not is_entry(schema))
    cache.keep()
    return located


def _of_record(
    collection: Collection, schema: Schema, today: str, record: Record, *, strict: bool
) -> Iterator[Finding]:
    """The findings of the rules about the record of one page."""
    yield from entry_findings(collection, schema, record, strict=strict)
    if not collection.is_past:
        yield from record_findings(collection, record, today)


def _paths(records: Sequence[Record]) -> Mapping[str, Sequence[str]]:
    """The paths of the documents with an id that others have, too."""
    paths: dict[str, list[str]] = {}
    for record in records:
        if record.shares_id:
            paths.setdefault(record.id, []).append(record.address.path)
    return paths


MAX_NEW = 10
"""Maximum number of new findings that the answer of a write names."""

FINDING_SECONDS = 5.0
"""Maximum time in seconds by which looking for new findings delays an answer; usually some milliseconds."""


def new_findings(
    collections: Collections,
    collection: Collection,
    address: Address,
    contents: tuple[bytes | None, bytes | None],
    moved_from: Address | None = None,
    *,
    uncompared: list[PageClaim] | None = None,
) -> list[NewFinding]:
    """The errors and warnings that a write newly causes: in the page, in links to it, and in quotations of it.

    Both versions are checked against the index of now, so that only what differs between them counts.

    Args:
        collections: All open collections.
        collection: The collection of the page, whose index has the write.
        address: The page.
        contents: Its old bytes, None if it is new, and its new bytes, None if it was deleted.
        moved_from: Its old address; None if it has not moved.
        uncompared: Takes the claims for which there was no time, as for `changed_claim_findings`.
    """
    before, after = contents
    if not address.is_document or (before == after and moved_from is None):
        return []
    old = read_document(moved_from or address, before) if before is not None else None
    new = read_document(address, after) if after is not None else None
    issues: list[Issue] = []
    if new is not None:
        unchanged = (
            frozenset({link.raw for link in old.links} & {link.raw for link in new.links}) if old else frozenset[str]()
        )
        same = Counter(map(_sameness, _version_issues(collections, collection, old, unchanged) if old else ()))
        for issue in _version_issues(collections, collection, new, unchanged):
            if same[_sameness(issue)]:
                same[_sameness(issue)] -= 1
            elif issue.severity is not Severity.INFO or issue.rule in TOLD_OF_WRITES:
                issues.append(issue)
        claims = changed_claim_findings(collection, old, new, uncompared)
        changed = [*claims, *_new_replacement_findings(collection, old, new)]
        issues += _Reporter(collection, {}).issues((address, finding) for finding in changed)
    if old is not None:
        issues += _incoming(collection, old, new)
        issues += _Reporter(collection, {}).issues(newly_lost_quotations(collection, old))
    return [
        NewFinding(path=issue.path, line=issue.line, severity=issue.severity, rule=issue.rule, message=issue.message)
        for issue in {(issue.path, issue.rule, issue.message): issue for issue in issues}.values()
    ]


def _new_replacement_findings(collection: Collection, old: Document | None, new: Document) -> Iterator[Finding]:
    """Findings about what replaces the page or its sections, if the write names it."""
    before = {declared.by for declared in declared_statuses(old)} if old else frozenset[str]()
    changed = [declared for declared in declared_statuses(new) if declared.by and declared.by not in before]
    if changed:
        statuses = CollectionStatuses(collection)
        yield from filter(None, (statuses.finding(new.address, declared) for declared in changed))


def shown_findings(findings: Sequence[NewFinding], more: int = 0, *, complete: bool = True) -> NewFindings:
    """The first `MAX_NEW` findings, and the number of the others with `more`."""
    return NewFindings(tuple(findings[:MAX_NEW]), more + max(0, len(findings) - MAX_NEW), complete)


def findings_of_writes(collections: Collections, recorded: RecordedWrites) -> NewFindings:
    """The findings that the writes of a call newly cause, as far as they are found within `FINDING_SECONDS`."""
    findings = list(recorded.findings)
    complete = True
    uncompared: list[PageClaim] = []
    if recorded.receipts:

        def find() -> bool:
            for collection, written in recorded.receipts:
                findings.extend(_findings_of_write(collections, collection, written, uncompared))
            return True

        limit = Deadline(time.monotonic() + FINDING_SECONDS)
        complete = bool(limit.within(find, f"{recorded.receipts[-1][0].name}: looking for new findings"))
    return shown_findings([*findings], recorded.more, complete=complete and not uncompared)


def _findings_of_write(
    collections: Collections, collection: Collection, written: WriteReceipt, uncompared: list[PageClaim]
) -> list[NewFinding]:
    if written.unchanged:
        return []
    after = collection.store.read(written.address) if written.revision else None
    return new_findings(
        collections, collection, written.address, (written.before, after), written.moved_from, uncompared=uncompared
    )


def own_findings(address: Address, before: bytes | None, after: bytes | None) -> list[NewFinding]:
    """The findings that a write newly causes by the rules that need no index: front matter, blocks, texts."""
    if after is None or before == after:
        return []
    seen = Counter(map(kind_of_finding, _own(address, before) if before is not None else ()))
    findings: list[NewFinding] = []
    for finding in _own(address, after):
        kind = kind_of_finding(finding)
        seen[kind] -= 1
        if seen[kind] < 0 and finding.severity is not Severity.INFO:
            findings.append(
                NewFinding(
                    path=address.path,
                    line=finding.line,
                    severity=finding.severity,
                    rule=finding.rule,
                    message=finding.message,
                )
            )
    return findings


def _own(address: Address, raw: bytes) -> list[Finding]:
    return [*read_document(address, raw).findings, *text_rule_findings(raw)]


def kind_of_finding(finding: Finding | NewFinding | Issue) -> tuple[str, str]:
    """Equal for the same finding in two versions of a page, or in two pages: without its lines and columns."""
    return finding.rule, _NUMBERS.sub("", finding.message)


_NUMBERS = re.compile(r"[0-9]+")


def _sameness(issue: Issue) -> tuple[str, str, str]:
    """Equal for the same issue of two versions of a page, whose lines and columns differ."""
    return issue.rule, issue.field, "" if issue.rule == "bad_yaml" else _NUMBERS.sub("", issue.message)


def _version_issues(
    collections: Collections, collection: Collection, version: Document, unchanged: frozenset[str]
) -> list[Issue]:
    """The issues of one version of a page, whether or not it is the current one.

    Links whose text is `unchanged` are not checked, unless they lead to the page itself: their targets are other files.
    """
    record = build_record(version, revision_of(version.raw))
    every = collection.index.resolve(version)
    resolved = [link for link in every if link.link.raw not in unchanged or link.target == version.address]
    findings = list(entry_findings(collection, current_schema(collection), record, version))
    findings += page_findings(collection, record, version, resolved)
    dead = links.distinct_targets(links.broken_among(collections, collection, resolved))
    for link in _not_told_otherwise(collection, version.address, dead, version):
        line = version.raw.count(b"\n", 0, link.link.span.start) + 1 if link.link.span.end else 0
        findings.append(broken_link(link, collection.index.lookup(), line=line))
    reporter = _Reporter(collection, {})
    others = [
        other_record.address.path
        for other_record in collection.index.by_id(record.id)
        if other_record.address != record.address
    ]
    located = [(record.address, finding) for finding in findings]
    located += reporter.duplicate_ids({record.id: [record.address.path, *others]}, [record])
    return reporter.issues(located)


def _is_told(resolved: ResolvedLink) -> bool:
    """Whether a link that leads nowhere is told as one: not an item of `sources`, a Markdown link without a span."""
    return bool(resolved.link.span.end) or resolved.link.kind is LinkKind.FRONTMATTER


def _not_told_otherwise(
    collection: Collection, address: Address, dead: Iterable[ResolvedLink], version: Document | None = None
) -> list[ResolvedLink]:
    """Links of a page that lead nowhere, without those that `replacement_missing` or `source_missing` tells."""
    remaining = list(filter(_is_told, dead))
    if not any(resolved.link.kind is LinkKind.FRONTMATTER for resolved in remaining):
        return remaining
    statuses = CollectionStatuses(collection)
    every = declared_statuses(version) if version else statuses.declared.get(address, ())
    missing = {declared.by for declared in every if statuses.finding(address, declared)}
    return [link for link in remaining if link.link.kind is not LinkKind.FRONTMATTER or link.link.raw not in missing]


def _incoming(collection: Collection, old: Document, new: Document | None) -> Iterator[Issue]:
    """Links of other pages that led to the old version of a page and lead nowhere with the new one."""
    reporter, address = _Reporter(collection, {}), old.address
    sites = collection.index.lookup().sites
    lost = _names(old, sites) - (_names(new, sites) if new else frozenset())
    named = collection.index.links_named(sorted(lost)) if lost else ()
    for link in links.distinct_targets(resolved_link for resolved_link in named if resolved_link.target is None):
        yield reporter.issue(link.source, broken_link(link, collection.index.lookup()))
    if new is None or _marks(old) == _marks(new):
        return
    there, gone = Fragments(new), Fragments(old)
    for link in collection.index.links_to(address, sentences=False):
        fragment = link.link.fragment
        if fragment and link.source != address and fragment in gone and fragment not in there:
            yield reporter.issue(link.source, dead_anchor(address, link.link))


def _names(document: Document, sites: Sequence[SiteTree]) -> frozenset[str]:
    return name_keys(names_of_record(build_record(document, "")), sites)


def _marks(document: Document) -> tuple[list[tuple[str, ...]], list[bytes]]:
    """Headings and block ids: what links to parts of a page can name."""
    return [section.path for section in document.sections], _BLOCK_ID.findall(document.raw)


_BLOCK_ID = re.compile(rb"(?m)\^[A-Za-z0-9-]+[ \t]*\r?$")


def at_least(issues: Sequence[Issue], severity: Severity) -> list[Issue]:
    """The issues of at least this severity."""
    severities = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return [issue for issue in issues if issue.severity in severities]


def broken_links(collections: Collections, collection: Collection, address: Address | None = None) -> list[BrokenLink]:
    """Broken links of one document, or of all, by path and position."""
    every = links.broken(collections, collection, address)
    return [
        link
        for path, group in groupby(every, key=lambda link: link.source.path)
        for link in _placed(collection, Address(path), group)
    ]


def _placed(collection: Collection, source: Address, every: Iterable[ResolvedLink]) -> Iterator[BrokenLink]:
    """The broken links of one document with their positions."""
    raw = b""
    with suppress(KnowledgeError):  # deleted meanwhile, or unreadable, which is another issue
        raw = collection.store.read(source)
    counted, line = 0, 1
    for resolved in every:
        link = resolved.link
        if link.span.start >= counted:  # links come in order, so each line break is counted once
            line += raw.count(b"\n", counted, link.span.start)
        else:
            line = raw.count(b"\n", 0, link.span.start) + 1
        counted = link.span.start
        shown = line if link.span.end else 0
        yield BrokenLink(collection, source.path, shown, resolved, _field_of(collection, resolved))


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

    def issue(self, address: Address, finding: Finding) -> Issue:
        """The issue of a finding in a document, or in another file."""
        return Issue(
            collection=self.collection,
            path=address.path,
            line=finding.line,
            entry_id=self.references.get(address, address.path),
            rule=finding.rule,
            severity=finding.severity,
            field=finding.field,
            message=finding.message,
            lines=finding.lines,
        )

    def issues(self, located: Iterable[LocatedFinding]) -> list[Issue]:
        """The issues of findings."""
        return [self.issue(address, finding) for address, finding in located]

    def schema_errors(self) -> Iterator[LocatedFinding]:
        """Errors in the YAML of `kb.yaml`, on which every other rule depends."""
        for finding in current_schema(self.collection).findings:
            yield Address(SCHEMA_FILE), finding

    def declarations(self) -> Iterator[LocatedFinding]:
        """All problems of `kb.yaml`, and of the file about the base's site."""
        for finding in declaration_findings(current_schema(self.collection)):
            yield Address(SCHEMA_FILE), finding
        for finding in site_findings(self.collection):
            yield Address(SITE_FILE), finding

    def skipped(self) -> Iterator[LocatedFinding]:
        """Files that cannot be served."""
        for path, reason in self.collection.store.skipped():
            yield Address(path), finding_of("skipped", f"Not served: {reason}.")

    def duplicate_ids(self, paths: Mapping[str, Sequence[str]], records: Sequence[Record]) -> Iterator[LocatedFinding]:
        """Entries whose id another entry has, too."""
        for record in records:
            others = [path for path in paths.get(record.id, ()) if path != record.address.path]
            if others:
                message = f"{others[0]} has the same id {shortened(record.id)!r}; both are reached by path only."
                yield record.address, finding_of("duplicate_id", message, "id")

    def broken(
        self,
        collections: Collections,
        address: Address | None,
        records: Mapping[str, Record],
        cache: FindingCache | None = None,
    ) -> Iterator[LocatedFinding]:
        """Links that lead nowhere, one finding for each target of an entry, with the lines of all places."""
        every = links.broken(collections, self.collection, address)
        for path, group in groupby(every, key=lambda link: link.source.path):
            record = records.get(path)
            if record is None:
                continue
            of_page = list(group)
            find = partial(self._broken_of, record.address, of_page)
            findings = cache.broken(record, of_page, find) if cache else find()
            yield from ((record.address, finding) for finding in findings)

    def _broken_of(self, source: Address, every: Sequence[ResolvedLink]) -> list[Finding]:
        lookup = self.collection.index.lookup()
        places: dict[tuple[Address, str], list[BrokenLink]] = {}
        for link in _placed(self.collection, source, _not_told_otherwise(self.collection, source, every)):
            places.setdefault(links.target_key(link.resolved), []).append(link)
        findings: list[Finding] = []
        for same in places.values():
            first = same[0]
            finding = broken_link(first.resolved, lookup, first.field, first.line)
            findings.append(replace(finding, lines=tuple(link.line for link in same)) if len(same) > 1 else finding)
        return findings

    def orphans(self) -> Iterator[LocatedFinding]:
        """Entries that no other entry links to."""
        for record in links.orphans(self.collection):
            if record.type != ASSESSMENT_TYPE:
                yield record.address, finding_of("orphan_entry", "No other page links to this one.")

    def duplicate_titles(self, records: Sequence[Record], *, milder: bool) -> Iterator[LocatedFinding]:
        """Entries whose title another entry has, too."""
        folded = [fold(record.title) for record in records]
        titles = Counter(folded)
        for record, title in zip(records, folded, strict=True):
            count = titles[title]
            if count > 1:
                message = f"{count} entries have the title {shortened(record.title)!r}."
                yield record.address, finding_of("duplicate_title", message, "title", milder=milder)


def _sorted(issues: Sequence[Issue]) -> list[Issue]:
    return sorted(issues, key=lambda issue: (SEVERITIES.index(issue.severity), issue.entry_id, issue.rule, issue.line))
