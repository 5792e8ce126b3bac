"""Quality assessments: the result of an entry's checks, stored as a separate entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import parse_address
from commonplace.domain.documents import Severity
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json
from commonplace.domain.ports import Progress
from commonplace.domain.query import Filter, ListQuery, Record
from commonplace.domain.slugs import slug
from commonplace.services import findings, writes
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import Issue
from commonplace.services.listing import every_document
from commonplace.services.typed_entries import ASSESSMENT_TYPE
from commonplace.services.writes import DocumentDraft

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
