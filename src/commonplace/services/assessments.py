"""Quality assessments: the result of an entry's checks, stored as a separate entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from commonplace.domain.addresses import parse_address
from commonplace.domain.documents import Severity
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json
from commonplace.domain.ports import Progress
from commonplace.domain.query import Filter, ListQuery, Record
from commonplace.domain.slugs import slug
from commonplace.services import quality, writes
from commonplace.services.collections import Collection, Collections
from commonplace.services.listing import every_document
from commonplace.services.quality import Issue
from commonplace.services.typed_entries import ASSESSMENT_TYPE
from commonplace.services.writes import DocumentDraft

ASSESSMENT_FOLDER = "qa_assessments"
STATUSES = ("pass", "warn", "fail")


@dataclass(frozen=True, slots=True)
class Assessment:
    """The assessment of one entry."""

    id: str
    """Id of the assessment's entry."""
    target: Record
    status: str
    """`fail` with errors, `warn` with warnings, else `pass`."""
    issues: tuple[Issue, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a collection has been assessed."""

    total: int
    assessed: int
    by_status: Mapping[str, int]


def assess(
    collections: Collections,
    collection: Collection,
    targets: Sequence[Record],
    max_age_hours: float,
    progress: Progress = lambda _done, _total: None,
) -> list[Assessment]:
    """Check entries and store the results, in one step. Unchanged entries with a recent assessment are skipped.

    Args:
        collections: All open collections, for links between them.
        collection: The collection of the entries.
        targets: The entries.
        max_age_hours: Maximum age of an assessment that counts.
        progress: Called with the number of checked entries, before the results are written.
    """
    fresh = _is_fresh(collection, max_age_hours)
    due = [target for target in targets if fresh.get(target.id) != target.revision]
    results: list[Assessment] = []
    for number, target in enumerate(due):
        progress(number, len(due))
        results.append(_assessment(collections, collection, target))
    writes.put_all(
        collection, [_draft(collection, result) for result in results], writes.WriteRequest(message="Assess")
    )
    return results


def assessable(collection: Collection) -> list[Record]:
    """Every entry except assessments."""
    return [record for record in every_document(collection) if record.type != ASSESSMENT_TYPE]


def coverage(collection: Collection) -> Coverage:
    """How many of the entries have an assessment, with their statuses."""
    known = {record.id for record in assessable(collection)}
    statuses = {
        str(kept.frontmatter.get("target_entry")): str(kept.frontmatter.get("qa_status")) for kept in _kept(collection)
    }
    counted = Counter(status for target, status in statuses.items() if target in known)
    return Coverage(len(known), counted.total(), {status: counted[status] for status in STATUSES})


def _assessment(collections: Collections, collection: Collection, target: Record) -> Assessment:
    issues = tuple(quality.check_entry(collections, collection, target))
    severities = {issue.severity for issue in issues}
    status = "fail" if Severity.ERROR in severities else "warn" if Severity.WARNING in severities else "pass"
    return Assessment(f"qa-{slug(target.id)}", target, status, issues)


def _draft(collection: Collection, result: Assessment) -> DocumentDraft:
    lines = [f"- {issue.severity}: {issue.rule}: {issue.message}" for issue in result.issues]
    values: dict[str, Json] = {
        "id": result.id,
        "title": f"Assessment of {result.target.title}",
        "type": ASSESSMENT_TYPE,
        "target_entry": result.target.id,
        "target_revision": result.target.revision,
        "qa_status": result.status,
        "issues_found": len(result.issues),
        "assessed_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    kept = collection.index.by_id(result.id)
    address = kept[0].address if kept else parse_address(f"{ASSESSMENT_FOLDER}/{result.id}.md")
    body = "\n".join(lines) or "No issues."
    return address, set_fields(f"\n{body}\n".encode(), values)


def _is_fresh(collection: Collection, max_age_hours: float) -> dict[str, str]:
    """Revisions by id of the entries with a recent assessment."""
    oldest = (datetime.now(UTC) - timedelta(hours=max_age_hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        str(kept.frontmatter.get("target_entry")): str(kept.frontmatter.get("target_revision"))
        for kept in _kept(collection)
        if str(kept.frontmatter.get("assessed_at")) >= oldest
    }


def _kept(collection: Collection) -> list[Record]:
    return list(every_document(collection, ListQuery(filter=Filter(types=(ASSESSMENT_TYPE,)))))
