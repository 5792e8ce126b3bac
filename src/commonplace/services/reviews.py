"""The review queue: everything in a base that a person or an agent is to look at, the gravest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document
from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.domain.findings import REVIEW_RULES, finding_of
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import Record
from commonplace.domain.status import Status, reviewed_fields
from commonplace.services.checks import check_questions
from commonplace.services.collections import Collection
from commonplace.services.health.citations import collection_citation_findings
from commonplace.services.health.contradictions import ClaimIndex
from commonplace.services.health.page_rules import LocatedFinding, record_findings
from commonplace.services.statuses import CollectionStatuses
from commonplace.services.writes import WriteReceipt, WriteRequest
from commonplace.services.writes.documents import edit


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One thing to review."""

    collection: Collection
    path: str
    line: int
    """Line number from 1; 0 for the whole page."""
    rule: str
    reason: str
    owners: tuple[str, ...]

    @property
    def call(self) -> Mapping[str, Json]:
        """The call of `notes` that mends it, or that shows what is to be mended."""
        if self.rule == "stale":
            return {"tool": "edit", "page": self.path, "changes": [{"do": "reviewed"}]}
        lines = {"lines": str(self.line)} if self.line else {}
        return {"tool": "read", "page": self.path, **lines}


def review_queue(collection: Collection, owner: str = "") -> list[ReviewItem]:
    """The things to review in a collection: by rule, the gravest first, then by path and line.

    Args:
        collection: The collection.
        owner: Only items of pages with this owner, with or without `@`, regardless of case; "" for all.
    """
    owners = _Owners(collection)
    items = [
        ReviewItem(collection, address.path, finding.line, finding.rule, finding.message, owners.of(address))
        for address, finding in _findings(collection)
        if finding.rule in REVIEW_RULES
    ]
    wanted_owner = owner.lstrip("@").casefold()
    chosen = [
        item
        for item in items
        if not wanted_owner or wanted_owner in {name.lstrip("@").casefold() for name in item.owners}
    ]
    return sorted(chosen, key=lambda item: (REVIEW_RULES.index(item.rule), item.path, item.line, item.reason))


def _findings(collection: Collection) -> Iterator[LocatedFinding]:
    records = collection.index.records()
    retired = CollectionStatuses(collection).pages({Status.SUPERSEDED, Status.RETIRED})
    today = datetime.now(UTC).date().isoformat()
    for record in records:
        if record.address not in retired:
            yield from ((record.address, finding) for finding in record_findings(collection, record, today))
    holding = [record for record in records if record.address not in retired]
    yield from collection_citation_findings(collection, holding)
    yield from CollectionStatuses(collection).findings()
    claims = ClaimIndex(collection)
    with collection.store.reading() as read:
        for record in holding:
            try:
                claims.add(record.address, read(record.address))
            except KnowledgeError:  # deleted meanwhile, or unreadable, which the check tells
                continue
    yield from claims.findings()
    try:
        _, questions = check_questions(collection)
    except ConfigError as error:
        yield Address("questions.yaml"), finding_of("unanswered_question", f"{error} {error.hint}".strip())
    else:
        yield from ((Address(issue.path), finding_of(issue.rule, issue.message)) for issue in questions)


class _Owners:
    """The owners of the pages of a collection."""

    def __init__(self, collection: Collection) -> None:
        self._records: Mapping[Address, Record] = {record.address: record for record in collection.index.records()}
        self._file = CodeOwners("")
        for path in CODEOWNERS_FILES:
            try:
                self._file = CodeOwners(collection.store.read(Address(path)).decode("utf-8", "replace"))
            except KnowledgeError:  # no such file, or one that is not served
                continue
            break

    def of(self, address: Address) -> tuple[str, ...]:
        record = self._records.get(address)
        return (declared_owners(record.frontmatter) if record else ()) or tuple(self._file.of(address.path))


def mark_reviewed(
    collection: Collection, address: Address, by: str = "", until: str = "", intent: WriteRequest | None = None
) -> WriteReceipt:
    """Note in the front matter of a page that it was reviewed today, and by when it is to be reviewed again.

    Args:
        collection: The collection.
        address: The page.
        by: Who reviewed it; "" to leave this to the commit.
        until: Day of the next review, `YYYY-MM-DD`; "" for the page's own period, else half a year.
        intent: The writer's request.

    Raises:
        NotFoundError: no such page.
        InvalidInputError: kind "argument": `until` is no day; kind "frontmatter": the front matter cannot be changed.
    """

    def change(document: Document) -> bytes:
        today = moment_of_write().date().isoformat()
        return set_fields(document, reviewed_fields(document.frontmatter.values, today, by, until))

    request = intent or WriteRequest(message=f"Review: {address.id}")
    return edit(collection, address, change, request)


def shown_item(item: ReviewItem) -> str:
    """An item as one line of text."""
    place = f"{item.path}:{item.line}" if item.line else item.path
    owners = f" ({', '.join(item.owners)})" if item.owners else ""
    return f"{place}: {item.reason} [{item.rule}]{owners}"


def queue_of(collections: Sequence[Collection], owner: str = "") -> list[ReviewItem]:
    """The things to review in several collections, in their order."""
    return [item for collection in collections for item in review_queue(collection, owner)]


# Owners of pages: `owner` in the front matter, else the last matching line of a CODEOWNERS file.


CODEOWNERS_FILES = ("CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS")
OWNER_KEYS = ("owner", "owners", "maintainer", "maintainers")
MAX_LINES = 10_000
"""Maximum number of lines of a CODEOWNERS file that are read."""


def declared_owners(values: JsonObject) -> tuple[str, ...]:
    """The owners that a front matter names; empty if it names none."""
    return next((names for key in OWNER_KEYS if (names := _names(values.get(key)))), ())


def _names(value: Json) -> tuple[str, ...]:
    listed = value if isinstance(value, (list, tuple)) else [value]
    return tuple(element.strip() for element in listed if isinstance(element, str) and element.strip())


class CodeOwners:
    """The rules of a CODEOWNERS file, in the form that code forges read.

    Args:
        text: The file; invalid lines are ignored.
    """

    def __init__(self, text: str) -> None:
        self._rules: list[tuple[re.Pattern[str], tuple[str, ...]]] = []
        for line in text.split("\n", MAX_LINES)[:MAX_LINES]:
            pattern, *owners = line.partition(" #")[0].split() or [""]
            if pattern and not pattern.startswith(("#", "[", "!")):
                self._rules.append((_pattern(pattern), tuple(owners)))

    def of(self, path: str) -> Sequence[str]:
        """The owners of a file; empty for none."""
        return next((owners for pattern, owners in reversed(self._rules) if pattern.match(path)), ())


def _pattern(written: str) -> re.Pattern[str]:
    """A pattern of gitignore(5) without negation and ranges, as a regular expression without backtracking."""
    anchored = "/" in written.rstrip("/")
    bare = written.strip("/")
    parts = [
        {"**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*|\?)", bare)
    ]
    below = "/.*" if written.endswith("/") else "(?:/.*)?"
    if bare.endswith("/*"):
        below = ""
    return re.compile(("" if anchored else "(?:.*/)?") + "".join(parts) + below + r"\Z")
