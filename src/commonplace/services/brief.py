"""The brief for an agent at the start of a session: rules, sections for its task, changes, and what is open."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain

from commonplace.domain.activity import KEPT_DAYS, Actor, record_read
from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import IndexingError, KnowledgeError, NotFoundError
from commonplace.domain.findings import REVIEW_RULES
from commonplace.domain.foreground import TimeBudget
from commonplace.domain.ports import Store
from commonplace.domain.query import Filter, SearchMode, SearchQuery
from commonplace.domain.words.amounts import amount
from commonplace.domain.words.moments import Since
from commonplace.services.collections import Collection
from commonplace.services.deletions import cut_off
from commonplace.services.evidence import EvidenceSection, evidence
from commonplace.services.file_search import sections_in_files
from commonplace.services.health.citations import page_citation_findings
from commonplace.services.health.contradictions import ClaimIndex
from commonplace.services.health.page_rules import LocatedFinding, record_findings
from commonplace.services.history import moved_on, uncommitted_addresses
from commonplace.services.past import since_time
from commonplace.services.services import Services

RULE_FILES = ("agents.md", "readme.md", "index.md", "home.md")
"""Lower-case names of the pages at the top that tell the purpose and the rules of a base, in order of preference."""
MAX_RULE_PAGES = 2
MAX_RULE_BYTES = 20_000
"""Bytes of such a page that are read."""
STEP = 50
"""Number of commits that are read at a time."""
MAX_COMMITS = 200
"""Maximum number of commits that are looked at; more are said to be more."""
MAX_DIFFERING = 1_000
"""Maximum number of pages whose last commits are looked up one by one."""
HISTORY_SECONDS = 0.1
"""Seconds for the history of all bases, as of `TimeBudget`."""
REVIEW_SECONDS = 0.05
"""Seconds for what is to be reviewed, as of `TimeBudget`."""
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
    when: float
    """Time of the change in Unix seconds; for a file that is gone, and no commit says so, the time of the call."""
    last: Commit | None = None
    """The last commit since that touched it; None if none did."""
    state: str = ""
    """The page's state, such as `deleted` and `not committed`; "" for a change in a commit."""


@dataclass(frozen=True, slots=True)
class Brief:
    """The answer of one call at the start of a session."""

    since: float
    """The end of the caller's last session, or the moment that was asked for, in Unix seconds; 0 for none."""
    since_name: str = ""
    """Name of the commit, as `Since.name`."""
    rules: Sequence[RulePage] = ()
    changed: Sequence[ChangedPage] = ()
    """The pages that differ from how they were then, last changed first."""
    is_complete: bool = True
    """Whether these are known to be all."""
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
    services: Services, task: str, actor: Actor | None, *, since: Since | None = None, mode: SearchMode = "hybrid"
) -> Brief:
    """Everything for the start of a session. Waits for nothing: what is not known yet is said.

    Args:
        services: The caller's services.
        task: What the caller is about to do, in words; "" for no task.
        actor: The caller, whose last session is looked for; None if nothing is recorded.
        since: The moment since which changes count; None for the caller's last session.
        mode: How sections are searched.
    """
    since = since or _since_last_session(services, actor)
    unknown: list[str] = []
    rules = [page for collection in services.collections for page in _rules(collection)]
    ready: list[Collection] = []
    building: list[Collection] = []
    in_files: list[EvidenceSection] = []
    for collection in services.collections:
        try:
            collection.index.wait_ready(0)
            ready.append(collection)
        except IndexingError as error:
            building.append(collection)
            in_files += _sections_in_files(collection, task, str(error), unknown)
    missing: list[str] = []
    changed = _changed(services, since, building, missing) if since else []
    unknown += missing
    indexed = _sections(ready, task, mode) if task.strip() and ready else []
    unknown += _unanswered(ready, task, indexed)
    sections = [*indexed, *in_files]
    news = _news(sections, changed, since)
    reviews, doubts = _reviews(indexed, unknown)
    firsts, repeats = _without_repeats(sections, doubts)
    begin, name = (since.when, since.name) if since else (0.0, "")
    return Brief(begin, name, rules, changed, not missing, firsts, repeats, news, reviews, doubts, unknown)


def _since_last_session(services: Services, actor: Actor | None) -> Since | None:
    when = last_session(services, actor)
    return since_time(services.collections, when) if when else None


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


def _unanswered(collections: Sequence[Collection], task: str, sections: Sequence[EvidenceSection]) -> list[str]:
    """A sentence if the task has no section; none without a task."""
    names = ", ".join(collection.name for collection in collections)
    return [f"{names}: no section was found for the task."] if names and task.strip() and not sections else []


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


def _changed(services: Services, since: Since, building: Sequence[Collection], missing: list[str]) -> list[ChangedPage]:
    """The pages that differ from how they were at a moment, last changed first; adds a sentence on what is missing.

    In a collection whose index is still being built, nothing is compared: a page that is as it was then is told, too.
    """
    pages: list[ChangedPage] = []
    budget = TimeBudget(HISTORY_SECONDS)
    for collection in services.collections:
        if not collection.store.history.available:
            missing.append(f"{collection.name}: {collection.store.history.absence}; what changed is not known.")
            continue
        then = since.commits.get(collection.name)
        if then is None:
            missing.append(f"{collection.name}: has no such commit; what changed is not known.")
            continue
        compared = "" if collection in building else then
        missing += [f"{collection.name}: {cut}"] if not then and (cut := cut_off([collection.store])) else []
        last, is_compared = _last_commits(collection, then, compared, budget, missing)
        committed = {page.address: page for page in _committed(collection, last, compared, budget, is_compared)}
        for page in _uncommitted(collection, since.when, missing):
            commit = last.get(page.address)
            committed[page.address] = replace(page, last=commit, state=f"then {page.state}" if commit else page.state)
        pages += committed.values()
    return sorted(pages, key=lambda page: -page.when)


def _last_commits(
    collection: Collection, then: str, compared: str, budget: TimeBudget, missing: list[str]
) -> tuple[dict[Address, Commit], bool]:
    """The last commit of each page that changed since a commit, and whether all these differ from how they were then.

    Before the history has been read as a whole, and for more than `MAX_DIFFERING` pages, only recent commits are looked
    at, as far as the processor time suffices. These are the commits that came into the branch since, however old they
    are.
    """
    history = collection.store.history
    pages = history.differing(compared) if compared else set[Address]()
    commits = history.last_touching(among=pages) if compared and len(pages) <= MAX_DIFFERING else None
    if commits is not None:
        return {address: commit for commit, _ in commits for address in commit.addresses}, True
    last: dict[Address, Commit] = {}
    read = [0]
    for commit in _log(collection, then, budget, read, missing):
        for address in commit.addresses:
            last.setdefault(address, commit)
    return last, False


def _log(
    collection: Collection, then: str, budget: TimeBudget, read: list[int], missing: list[str]
) -> Iterator[Commit]:
    """The latest commits since a commit, newest first."""
    while read[0] < MAX_COMMITS and not budget.is_over():
        batch = collection.store.history.log(None, limit=STEP, offset=read[0], after=then, below="")
        read[0] += len(batch)
        yield from batch
        if len(batch) < STEP:
            return
    missing.append(f"{collection.name}: only its latest {read[0]} commits were looked at for changes.")


def _committed(
    collection: Collection, last: Mapping[Address, Commit], then_commit: str, budget: TimeBudget, is_compared: bool
) -> Iterator[ChangedPage]:
    """The pages of commits since a moment, without those that are as they were then.

    A page that is gone names its new path; of that the file is not told, unless it was changed, too.
    """
    store, then = collection.store, _store_at(collection, then_commit)
    moved: set[Address] = set()
    there = set(filter(store.stat, last))
    for address in sorted(last, key=there.__contains__):
        page = ChangedPage(collection, address, last[address].when, last[address])
        if address in there and is_compared and address not in moved:
            yield page
        elif budget.is_over():
            yield page if address in there else replace(page, state="gone")
        elif then is None or _differs(store, then, address, moved):
            yield page if address in there else _gone(page, then, moved)


def _differs(store: Store, then: Store, address: Address, moved: set[Address]) -> bool:
    """Whether a page is not as it was then; False for the new path of a page that was not changed."""
    was = _content(then, address)
    return was != _content(store, address) and not (was is None and address in moved)


def _gone(page: ChangedPage, then: Store | None, moved: set[Address]) -> ChangedPage:
    """A page that is gone, with what became of it; adds its new path to the moved ones if the file was not changed."""
    target = moved_on(page.collection, page.address, page.last) if page.last else None
    if target and then and _content(page.collection.store, target) == _content(then, page.address):
        moved.add(target)
    return replace(page, state=f"moved to {target.path}" if target else "deleted")


def _content(store: Store, address: Address) -> bytes | None:
    with suppress(KnowledgeError):
        return store.read(address)
    return None


def _uncommitted(collection: Collection, since: float, missing: list[str]) -> Iterator[ChangedPage]:
    """The pages whose files changed since a moment, and those that are gone, both without a commit that says so."""
    try:
        collection.index.wait_ready(0)
    except IndexingError:
        missing.append(f"{collection.name}: which changes are not committed is not known yet.")
        return
    changed, gone = uncommitted_addresses(collection)
    for address in changed:
        stat = collection.store.stat(address)
        when = max(stat.mtime_ns, stat.ctime_ns) / 1e9 if stat else 0.0
        if when >= since:
            yield ChangedPage(collection, address, when, state="not committed")
    for address in gone:
        yield ChangedPage(collection, address, time.time(), state="removed, not committed")


def _store_at(collection: Collection, commit: str) -> Store | None:
    """The files of a commit; None for ""."""
    return collection.past.commits.store(commit) if collection.past and commit else None


def _news(
    sections: Sequence[EvidenceSection], changed: Sequence[ChangedPage], since: Since | None
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
            earlier[key] = _text_then(section.collection, section.record.address, since) if since else ""
        if section.text not in earlier[key]:
            news.add((*key[:1], section.record.address.path, section.anchor))
    return frozenset(news)


def _reviews(
    sections: Sequence[EvidenceSection], unknown: list[str]
) -> tuple[list[LocatedFinding], dict[tuple[str, str, str], list[str]]]:
    """The findings for the review queue in the pages of sections, as far as the time suffices, and `Brief.doubts`."""
    budget = TimeBudget(REVIEW_SECONDS)
    today = datetime.now(UTC).date().isoformat()
    pages = {(section.collection.name, section.record.address): section for section in sections}
    claims: dict[str, ClaimIndex] = {}
    findings: list[LocatedFinding] = []
    lines: defaultdict[tuple[str, Address], list[tuple[int, str]]] = defaultdict(list)
    documents: dict[tuple[str, Address], Document] = {}
    for number, ((name, address), section) in enumerate(pages.items()):
        if budget.is_over():
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


def _text_then(collection: Collection, address: Address, since: Since) -> str:
    with suppress(NotFoundError):
        if commit := since.commits.get(collection.name):
            return collection.store.history.read(address, commit).decode("utf-8", "replace")
    return ""
