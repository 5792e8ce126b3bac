"""Problems in a folder of pages, file by file, with line numbers, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Severity
from commonplace.domain.query import Record
from commonplace.services import links
from commonplace.services.collections import Collection, Collections
from commonplace.services.health.page_rules import health_findings
from commonplace.services.listing import every_document


@dataclass(frozen=True, slots=True, kw_only=True)
class PageProblem:
    """A problem or a remark."""

    collection: Collection
    path: str
    line: int = 0
    """1-based; 0 for the whole file."""
    rule: str
    """A stable name: `bad_yaml`, `not_utf8`, `broken_link`, `duplicate_id`, `orphan`, `skipped`, ..."""
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A broken link and its position."""

    collection: Collection
    path: str
    line: int
    """1-based; 0 for a link in the frontmatter."""
    target: str
    """The target as written."""


@dataclass(frozen=True, slots=True)
class BundleReport:
    """What of a folder does not conform to the format that it was checked against."""

    files: int
    """How many were looked at."""
    problems: tuple[PageProblem, ...]
    """By path and line."""


def check_pages(collections: Collections, collection: Collection) -> list[PageProblem]:
    """All problems in a collection, by path and line."""
    records = list(every_document(collection))
    problems = [*_findings(collection, records), *_duplicate_ids(collection, records), *_left_out(collection)]
    problems += (
        PageProblem(collection=collection, path=address.path, line=line, rule=rule, severity=severity, message=message)
        for address, line, rule, severity, message in health_findings(collection, records)
    )
    for link in broken_links(collections, collection):
        message = f"The link to {link.target[:80]!r} leads nowhere."
        problems.append(
            PageProblem(
                collection=collection,
                path=link.path,
                line=link.line,
                rule="broken_link",
                severity=Severity.WARNING,
                message=message,
            )
        )
    for record in links.orphans(collection):
        message = "No other page links to this one."
        problems.append(_about(collection, record, "orphan", Severity.INFO, message))
    return sorted(problems, key=lambda problem: (problem.path, problem.line, problem.rule))


def broken_links(collections: Collections, collection: Collection, address: Address | None = None) -> list[BrokenLink]:
    """Broken links of one document, or of all, by path and position."""
    found: list[BrokenLink] = []
    at = Address("")
    raw = b""
    for resolved in links.broken(collections, collection, address):
        if resolved.source != at:
            at, raw = resolved.source, collection.store.read(resolved.source)
        span = resolved.link.span
        line = raw.count(b"\n", 0, span.start) + 1 if span.end else 0
        found.append(BrokenLink(collection, at.path, line, resolved.link.raw))
    return found


def _findings(collection: Collection, records: list[Record]) -> Iterator[PageProblem]:
    for record in records:
        for finding in record.findings:
            yield PageProblem(
                collection=collection,
                path=record.address.path,
                line=finding.line,
                rule=finding.rule,
                severity=finding.severity,
                message=finding.message,
            )


def _duplicate_ids(collection: Collection, records: list[Record]) -> Iterator[PageProblem]:
    paths: dict[str, list[str]] = {}
    for record in records:
        paths.setdefault(record.id, []).append(record.address.path)
    for record in records:
        others = [path for path in paths[record.id] if path != record.address.path]
        if others:
            message = f"{others[0]} has the same id {record.id[:80]!r}; both are reached by path only."
            yield _about(collection, record, "duplicate_id", Severity.ERROR, message)


def _left_out(collection: Collection) -> Iterator[PageProblem]:
    for path, reason in collection.store.skipped():
        yield PageProblem(
            collection=collection,
            path=path,
            rule="skipped",
            severity=Severity.WARNING,
            message=f"Not served: {reason}.",
        )


def _about(collection: Collection, record: Record, rule: str, severity: Severity, message: str) -> PageProblem:
    return PageProblem(collection=collection, path=record.address.path, rule=rule, severity=severity, message=message)
