"""The brief for an agent at the start of a session: rules, sections for its task, changes, and what is open."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

from commonplace.domain.activity import KEPT_DAYS, Actor, record_read
from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import IndexingError, KnowledgeError, NotFoundError
from commonplace.domain.query import Filter, SearchQuery
from commonplace.domain.similarity import SearchMode
from commonplace.domain.words.amounts import amount
from commonplace.services.collections import Collection
from commonplace.services.evidence import EvidenceSection, evidence
from commonplace.services.file_search import sections_in_files
from commonplace.services.health.citations import page_citation_findings
from commonplace.services.health.contradictions import ClaimIndex
from commonplace.services.health.page_rules import LocatedFinding, record_findings
from commonplace.services.reviews import REVIEW_RULES
from commonplace.services.services import Services

RULE_FILES = ("agents.md", "readme.md", "index.md", "home.md")
"""Lower-case names of the pages at the top that tell the purpose and the rules of a base, in order of preference."""
MAX_RULE_PAGES = 2
MAX_RULE_BYTES = 20_000
"""Bytes of such a page that are read."""
MAX_COMMITS = 200
"""Maximum number of commits that are looked at; more are said to be more."""
HISTORY_SECONDS = 0.1
"""CPU seconds for the history of all bases."""
REVIEW_SECONDS = 0.05
"""CPU seconds for what is to be reviewed."""
DAY = 86_400.0
MIN_REPEATED_WORDS = 4
"""Minimum number of words of a paragraph that is shown once for all sections that have it."""
_RELEASE_NOTES = r"change[-_ ]?logs?|release[-_ ]?notes?|what[-_ '\u2019]?s[-_ ]new"
_IS_RELEASE_NOTES = re.compile(
    rf"(?i){_RELEASE_NOTES}|(?:^|/)(?:changes|news)\.[^/.]+$|(?:^|/)(?:releases?|changes|news)/[^/]*\d[^/]*$"
)
"""Paths and titles of pages that tell what each version of something brought."""
_IS_TEMPLATE = re.compile(r"(?i)(?:^|/)(?:_?templates?|archetypes)/|(?:^|[-_. /])template\.[^/.]+$")
"""Paths of templates for new pages."""
_ASKS_TEMPLATES = re.compile(r"(?i)\btemplate|\barchetype")
_ASKS_RELEASE_NOTES = re.compile(rf"(?i){_RELEASE_NOTES}|\breleases?\b|\bupgrad|\bversion \d|\d\.\d|\bwhat changed\b")
_WINDOWS = (1, 7, 30, KEPT_DAYS)
"""Days of activity among which an earlier session is looked for, one after the other."""


@dataclass(frozen=True, slots=True)
class RulePage:
    """A page that tells what a base is for and how to work in it."""

    collection: Collection
    address: Address
    text: str
    """The Markdown without front matter."""


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """A page that changed since a moment."""

    collection: Collection
    address: Address
    last: Commit
    """The last commit that touched it."""


@dataclass(frozen=True, slots=True)
class Brief:
    """The answer of one call at the start of a session."""

    since: float
    """The end of the caller's last session in Unix seconds; 0 for none."""
    rules: Sequence[RulePage] = ()
    changed: Sequence[ChangedPage] = ()
    """The pages that changed since, last changed first."""
    sections: Sequence[EvidenceSection] = ()
    """The sections that matter for the task, best first, of those with one best paragraph the first."""
    repeats: Mapping[tuple[str, str, str], Sequence[EvidenceSection]] = field(
        default_factory=dict[tuple[str, str, str], list[EvidenceSection]]
    )
    """The other sections with the same best paragraph, by collection, path and anchor."""
    news: frozenset[tuple[str, str, str]] = frozenset()
    """Collection, path and anchor of those that differ from how they were at `since`."""
    reviews: Sequence[LocatedFinding] = ()
    """Findings for the review queue in the pages of these sections, and contradictions among them."""
    doubts: Mapping[tuple[str, str, str], Sequence[str]] = field(default_factory=dict[tuple[str, str, str], list[str]])
    """The rules of these findings, by collection, path and anchor of the section that each is about."""
    unknown: Sequence[str] = field(default_factory=list[str])
    """Sentences about what is not known yet."""


def brief(
    services: Services, task: str, actor: Actor | None, *, since: float = 0.0, mode: SearchMode = "hybrid"
) -> Brief:
    """Everything for the start of a session. Waits for nothing: what is not known yet is said.

    Args:
        services: The caller's services.
        task: What the caller is about to do, in words; "" for no task.
        actor: The caller, whose last session is looked for; None if nothing is recorded.
        since: The moment since which changes count, in Unix seconds; 0 for the caller's last session.
        mode: How sections are searched.
    """
    since = since or last_session(services, actor)
    unknown: list[str] = []
    rules = [page for collection in services.collections for page in _rules(collection)]
    ready: list[Collection] = []
    in_files: list[EvidenceSection] = []
    for collection in services.collections:
        try:
            collection.index.wait_ready(0)
            ready.append(collection)
        except IndexingError as error:
            in_files += _sections_in_files(collection, task, str(error), unknown)
    changed = _changed(services, since, unknown) if since else []
    indexed = _sections(ready, task, mode) if task.strip() and ready else []
    sections = [*indexed, *in_files]
    news = _news(sections, changed, since)
    reviews, doubts = _reviews(indexed, unknown)
    firsts, repeats = _without_repeats(sections, doubts)
    return Brief(since, rules, changed, firsts, repeats, news, reviews, doubts, unknown)


def last_session(services: Services, actor: Actor | None) -> float:
    """The last time that an earlier session of the same client and person read or wrote here; 0 if none is known."""
    if services.activity is None or actor is None:
        return 0.0
    bases, now = [collection.store.identity for collection in services.collections], time.time()
    for days in _WINDOWS:
        for access in reversed(services.activity.accesses(bases, now - days * DAY)):
            is_same = (access.actor.face, access.actor.caller, access.actor.client) == (
                actor.face,
                actor.caller,
                actor.client,
            )
            if is_same and access.actor.session != actor.session:
                return access.when
    return 0.0


def _sections(collections: Sequence[Collection], task: str, mode: SearchMode) -> list[EvidenceSection]:
    """The sections that answer, without those that `_is_aside` names, unless nothing else answers."""
    sections = evidence(collections, SearchQuery(text=task), mode).sections
    others = [section for section in sections if not _is_aside(section, task)]
    if sections and not others:
        query = SearchQuery(text=task, filter=Filter(without=tuple({section.record.address for section in sections})))
        more = evidence(collections, query, mode).sections
        others = [section for section in more if not _is_aside(section, task)]
    return others or sections


def _is_aside(section: EvidenceSection, task: str) -> bool:
    """Whether a section is of release notes or a template, and the task asks for none."""
    path, title = section.record.address.path, section.record.title
    if _IS_TEMPLATE.search(path) and not _ASKS_TEMPLATES.search(task):
        return True
    return any(map(_IS_RELEASE_NOTES.search, (path, title))) and not _ASKS_RELEASE_NOTES.search(task)


def _without_repeats(
    sections: Sequence[EvidenceSection], doubts: Mapping[tuple[str, str, str], Sequence[str]]
) -> tuple[list[EvidenceSection], dict[tuple[str, str, str], list[EvidenceSection]]]:
    """The first section with each best paragraph, and `Brief.repeats`.

    A section with another status or other doubts is no repeat, nor one that shares only a few words.
    """
    firsts: dict[tuple[object, ...], EvidenceSection] = {}
    repeats: dict[tuple[str, str, str], list[EvidenceSection]] = {}
    for section in sections:
        best = max(section.scores, key=section.scores.__getitem__, default=section.text)
        words = best.split() if len(best.split()) >= MIN_REPEATED_WORDS else section.text.split()
        rules = tuple(doubts.get(place_of(section), ()))
        first = firsts.setdefault((" ".join(words), section.status, rules), section)
        if first is not section:
            repeats.setdefault(place_of(first), []).append(section)
    return list(firsts.values()), repeats


def place_of(section: EvidenceSection) -> tuple[str, str, str]:
    """Collection, path and anchor of a section."""
    return section.collection.name, section.record.address.path, section.anchor


def _rules(collection: Collection) -> list[RulePage]:
    """The first pages at the top that tell the purpose and the rules; read from their files, without an index."""
    names = {address.path.lower(): address for address, _ in collection.store.files("") if address.is_document}
    pages: list[RulePage] = []
    for address in filter(None, map(names.get, RULE_FILES)):
        with suppress(KnowledgeError):
            text = read_document(address, collection.store.read(address)[:MAX_RULE_BYTES]).body.strip()
            if text and all(text != page.text for page in pages):
                record_read(collection.store.identity, address.path)
                pages.append(RulePage(collection, address, text))
        if len(pages) == MAX_RULE_PAGES:
            break
    return pages


def _sections_in_files(collection: Collection, task: str, state: str, unknown: list[str]) -> list[EvidenceSection]:
    """The sections of a collection whose index is still being built, by the words in its files."""
    unknown.append(f"{collection.name}: {state} What is to be reviewed is not known yet.")
    if not task.strip():
        return []
    answer = sections_in_files(collection, task)
    sections = [section for section in answer.sections if not _is_aside(section, task)] or answer.sections
    sentence = "" if sections else ", without a section for the task so far"
    unknown.append(f"{answer.read:,} of {amount(answer.total, 'file')} were searched by words{sentence}.")
    return sections


def _changed(services: Services, since: float, unknown: list[str]) -> list[ChangedPage]:
    pages: dict[tuple[str, Address], ChangedPage] = {}
    until = time.thread_time() + HISTORY_SECONDS
    for collection in services.collections:
        history = collection.store.history
        if not history.available:
            unknown.append(f"{collection.name}: has no Git history; what changed is not known.")
            continue
        commits, step = 0, 20
        while commits < MAX_COMMITS and time.thread_time() < until:
            batch = history.log(None, limit=step, offset=commits)
            recent = [commit for commit in batch if commit.when >= int(since)]
            for commit in recent:
                for address in commit.addresses:
                    pages.setdefault((collection.name, address), ChangedPage(collection, address, commit))
            commits += len(batch)
            if len(recent) < step:
                break
        else:
            unknown.append(f"{collection.name}: only its latest {commits} commits were looked at for changes.")
    return sorted(pages.values(), key=lambda page: -page.last.when)


def _news(
    sections: Sequence[EvidenceSection], changed: Sequence[ChangedPage], since: float
) -> frozenset[tuple[str, str, str]]:
    """The sections whose text was not in their page at the last commit before a moment."""
    touched = {(page.collection.name, page.address) for page in changed}
    news: set[tuple[str, str, str]] = set()
    earlier: dict[tuple[str, Address], str] = {}
    for section in sections:
        key = section.collection.name, section.record.address
        if key not in touched:
            continue
        if key not in earlier:
            earlier[key] = _text_then(section.collection, section.record.address, since)
        if section.text not in earlier[key]:
            news.add((*key[:1], section.record.address.path, section.anchor))
    return frozenset(news)


def _reviews(
    sections: Sequence[EvidenceSection], unknown: list[str]
) -> tuple[list[LocatedFinding], dict[tuple[str, str, str], list[str]]]:
    """The findings for the review queue in the pages of sections, as far as the time suffices, and `Brief.doubts`."""
    until = time.thread_time() + REVIEW_SECONDS
    today = datetime.now(UTC).date().isoformat()
    pages = {(section.collection.name, section.record.address): section for section in sections}
    claims: dict[str, ClaimIndex] = {}
    findings: list[LocatedFinding] = []
    lines: defaultdict[tuple[str, Address], list[tuple[int, str]]] = defaultdict(list)
    documents: dict[tuple[str, Address], Document] = {}
    for number, ((name, address), section) in enumerate(pages.items()):
        if time.thread_time() > until:
            unknown.append(f"What is to be reviewed in {amount(len(pages) - number, 'page')} below is not known yet.")
            break
        collection, record = section.collection, section.record
        with suppress(KnowledgeError):
            document = documents[name, address] = collection.index.document(address)
            claims.setdefault(name, ClaimIndex(collection)).add(address, document.raw)
            own = [*record_findings(collection, record, today), *page_citation_findings(collection, record, document)]
            own = [finding for finding in own if finding.rule in REVIEW_RULES]
            findings += [(address, finding) for finding in own]
            lines[name, address] += [(finding.line, finding.rule) for finding in own]
    for name, index in claims.items():
        findings += index.findings()
        for address, claim in chain.from_iterable(index.pairs()):
            lines[name, address].append((claim.line, "other_value"))
    return findings, _doubts(sections, documents, lines)


def _doubts(
    sections: Sequence[EvidenceSection],
    documents: Mapping[tuple[str, Address], Document],
    lines: Mapping[tuple[str, Address], Sequence[tuple[int, str]]],
) -> dict[tuple[str, str, str], list[str]]:
    """The rules of findings by the section that has their line, of the front matter by the first that is shown.

    Those without a line are about all sections.
    """
    firsts: dict[tuple[str, Address], str] = {}
    doubts: dict[tuple[str, str, str], list[str]] = {}
    for section in sections:
        page = section.collection.name, section.record.address
        rules: dict[str, None] = {}
        is_first = firsts.setdefault(page, section.anchor) == section.anchor
        for line, rule in lines.get(page, ()):
            is_above = is_first and line <= documents[page].raw.count(b"\n", 0, documents[page].body_start)
            if is_above or not line or _anchor_at(documents[page], line) in section.anchors:
                rules[rule] = None
        if rules:
            doubts[page[0], page[1].path, section.anchor] = list(rules)
    return doubts


def _anchor_at(document: Document, line: int) -> str:
    """The anchor of the section with a line of the file, from 1."""
    start = sum(map(len, document.raw.splitlines(keepends=True)[: line - 1]))
    return next((section.anchor for section in reversed(document.sections) if section.start <= start), "")


def _text_then(collection: Collection, address: Address, since: float) -> str:
    with suppress(NotFoundError):
        commit = collection.past.commits.latest(int(since) - 1) if collection.past else None
        if commit is not None:
            return collection.store.history.read(address, commit.id).decode("utf-8", "replace")
    return ""
