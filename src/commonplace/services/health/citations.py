"""Rules for citations: quotations and sources that are gone, superseded or changed, and code lines that moved."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from posixpath import normpath
from threading import Lock

from commonplace.domain.addresses import Address, address_or_none, parse_address
from commonplace.domain.changes import Commit
from commonplace.domain.citations import (
    Citation,
    citations_of,
    comparable,
    holds_quotation,
    is_comparable,
    without_footnotes,
)
from commonplace.domain.document_reader import Fragments, find_fragment, read_document
from commonplace.domain.documents import Document, Finding
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.findings import finding_of, shortened
from commonplace.domain.query import Record
from commonplace.domain.records import build_record, iso_timestamp
from commonplace.domain.status import reviewed_day
from commonplace.services.collections import Collection, declared_page
from commonplace.services.health.citing_texts import CitingTexts, without_link_targets
from commonplace.services.past import section_blame
from commonplace.services.statuses import CollectionStatuses

MAX_VERSIONS = 200
"""Maximum number of versions of a source in which a lost quotation or cited lines are looked for."""
MAX_CACHED = 50_000
"""Maximum number of comparisons of a citing and a cited section that are cached."""
WRITE_SECONDS = 0.01
"""CPU seconds for the quotations that a write takes out of their source; further ones `check` finds."""
MAX_CACHED_FILES = 64
"""Maximum number of files of the past that are cached."""
MIN_MOVED_CHARS = 12
"""Minimum number of characters of cited lines that are looked for elsewhere in the file."""
_HISTORY_HINT = "Read both, then correct the page or its citation."
_REVIEW_HINT = "Read both, then correct the page or its citation, or note that it was reviewed."


class CitationRules:
    """Checks the citations of one collection. Sources are read once.

    Args:
        collection: The collection.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._statuses = CollectionStatuses(collection)
        self._pages: dict[tuple[str, str], Record | None] = {}
        self._files: dict[Address, bytes | None] = {}
        self._documents: dict[Address, Document] = {}
        self._fragments: dict[Address, Fragments] = {}
        self._texts: dict[tuple[Address, str], str] = {}
        self._spans: dict[tuple[Address, str], tuple[int, int, int] | None] = {}
        self._versions: dict[Address, list[tuple[Commit, str]]] = {}
        self._arrivals: dict[Address, str] = {}
        self._lines_at = lru_cache(MAX_CACHED_FILES)(self._read_lines_at)
        self._citing = CitingTexts(collection, self._is_other)
        self._changes = lru_cache(MAX_CACHED_FILES)(partial(section_blame, collection, form=without_link_targets))

    def _read_lines_at(self, address: Address, commit: str) -> list[str]:
        if self._collection.past is not None:
            self._collection.past.commits.commit(commit)  # says of one that is not there what is wrong
        return _lines(self._collection.store.history.read(address, commit))

    def findings(self, record: Record, citations: Sequence[Citation]) -> Iterator[Finding]:
        """The findings in the citations of one page."""
        for citation in citations:
            if citation.is_url:
                if citation.copy and self.file(record.address, citation.copy) is None:
                    yield self._finding("source_missing", citation, f"The saved copy {citation.copy!r} is gone.")
                continue
            findings = list(self._of_base(record, citation))
            if citation.commit and all(finding.rule != "source_missing" for finding in findings):
                findings += self._unknown_commit(record.address, citation)
            yield from findings

    def _unknown_commit(self, source: Address, citation: Citation) -> Iterator[Finding]:
        """The finding if the branch does not have the cited commit, or the commit not the cited lines."""
        history, past = self._collection.store.history, self._collection.past
        file = self.file(source, citation.target) if citation.first else None
        if past is None or history.is_shallow:
            return
        try:
            if file is None:
                past.commits.commit(citation.commit)
            have = len(self._lines_at(file[0], citation.commit)) if file else citation.first
        except KnowledgeError as error:
            message = f"It cites {shortened(citation.place)!r}. {error} Name a commit that has it."
            yield self._finding("source_missing", citation, message)
            return
        if citation.first > have:
            message = f"{citation.target} has {have:,} lines in {citation.commit}, not {citation.first:,}."
            yield self._finding("source_missing", citation, message)

    def lost(self, record: Record, citations: Sequence[Citation], source: Document) -> Iterator[Finding]:
        """The findings for quotations that the cited part of an old version of a page has, and of its current one not.

        Args:
            record: The citing page.
            citations: Its citations.
            source: The old version of the cited page.
        """
        for citation in citations:
            page = None if citation.first or citation.is_url else self._page(record.address, citation.target)
            if page is not None and page.address == source.address and self._is_lost(citation, source):
                moved = self._moved(source.address, citation)
                yield moved or self._missing(citation, " any more")

    def _is_lost(self, citation: Citation, source: Document) -> bool:
        """Whether the old version of a cited page has a quotation, and the current one has not."""
        span = self._span(source.address, citation.fragment)
        if span is None or not is_comparable(citation.quotation):
            return False
        if holds_quotation(citation.quotation, self._text(source.address, citation.fragment, *span[:2])):
            return False
        try:
            return holds_quotation(citation.quotation, self._old_text(source, citation.fragment))
        except KnowledgeError:  # the old version has no such heading
            return False

    def _old_text(self, source: Document, fragment: str) -> str:
        start, end, _ = find_fragment(source, fragment) if fragment else (0, len(source.encoded), None)
        key = (source.address, f"old#{start}-{end}")
        if key not in self._texts:
            self._texts[key] = comparable(source.encoded[start:end].decode("utf-8", "replace"))
        return self._texts[key]

    def _of_base(self, record: Record, citation: Citation) -> Iterator[Finding]:
        page = None if citation.first else self._page(record.address, citation.target)
        if page is None:
            file = self.file(record.address, citation.target)
            if file is None:
                yield self._gone(citation)
            else:
                yield from self._of_file(record, *file, citation._replace(target=file[0].path))
            return
        citation = citation._replace(target=page.address.path)
        if page.address == record.address and not citation.fragment:
            message = f"It cites itself as the source {shortened(citation.place)!r}. Name another source."
            yield self._finding("source_missing", citation, message)
            return
        span = self._span(page.address, citation.fragment)
        if span is None:
            message = f"It cites {shortened(citation.place)!r}, which has no such heading. Name one that it has."
            yield self._moved(page.address, citation) or self._finding("source_missing", citation, message)
            return
        ordinal = span[2]
        status = self._statuses.at(page.address, ordinal)
        if status.is_lapsed:
            by = f" by {status.by}. Cite that" if status.by else ""
            yield self._finding(
                "source_superseded", citation, f"It cites {citation.place}, which is {status.status}{by}."
            )
        if is_comparable(citation.quotation):
            yield from self._compared_page(page.address, citation, span, is_own=page.address == record.address)
        elif self._is_changed(record, citation, page, ordinal):
            message = f"{citation.place} changed after this was written. {_REVIEW_HINT}"
            yield self._finding("source_changed", citation, message)

    def _compared_page(
        self, address: Address, citation: Citation, span: tuple[int, int, int], *, is_own: bool
    ) -> Iterator[Finding]:
        """The finding if the cited part of a page does not have a quotation. Footnotes of the page itself quote it."""
        text = self._text(address, citation.fragment, *span[:2], without_notes=is_own)
        if holds_quotation(citation.quotation, text):
            return
        if is_own and not holds_quotation(citation.quotation, self._text(address, "", 0, -1, without_notes=True)):
            yield self._missing(citation, " but for the footnote itself")
            return
        yield self._moved(address, citation) or self._lost(address, citation, self._whole(address))

    def _of_file(self, record: Record, address: Address, raw: bytes, item: Citation) -> Iterator[Finding]:
        lines = _lines(raw)
        cited = lines[item.first - 1 : item.last] if item.first else lines
        if is_comparable(item.quotation) and not holds_quotation(item.quotation, comparable("\n".join(cited))):
            moved = _place_of(lines, [part for part in item.quotation.split("\n") if part.strip()])
            if moved and item.first:
                yield self._finding("source_moved", item, f"The quotation of {item.place} is at {_shown(moved)} now.")
            else:
                yield self._lost(address, item, comparable("\n".join(lines)))
            return
        if item.first and item.commit:
            yield from self._compared(record, address, item, lines)
        elif item.first > len(lines):
            yield self._finding("source_changed", item, f"{item.target} has {len(lines):,} lines, not {item.first:,}.")

    def _compared(
        self, record: Record, address: Address, citation: Citation, lines: Sequence[str]
    ) -> Iterator[Finding]:
        """The finding if the cited lines are not those of the cited commit."""
        history = self._collection.store.history
        try:
            old = self._lines_at(address, citation.commit)[citation.first - 1 : citation.last]
        except KnowledgeError:  # `_unknown_commit` tells of it
            return
        if not old or list(lines[citation.first - 1 : citation.last]) == old:
            return
        moved = _place_of(lines, old)
        if moved:
            message = f"The lines of {citation.place} are at {_shown(moved)} now. Correct the citation."
            yield self._finding("source_moved", citation, message)
        elif not _is_reviewed_since(record, max(map(self._came, history.log(address, limit=1)), default=_NEVER)):
            yield self._finding(
                "source_changed", citation, f"The lines of {citation.place} changed since. {_REVIEW_HINT}"
            )

    def _page(self, source: Address, target: str) -> Record | None:
        key = (source.folder, target)
        if key not in self._pages:
            self._pages[key] = declared_page(self._collection.index, target, source) if target else None
        return self._pages[key] if target else self._collection.index.record(source)

    def file(self, source: Address, target: str) -> tuple[Address, bytes] | None:
        """A file of the base, named from the page's folder or from the root."""
        for path in dict.fromkeys((normpath(f"{source.folder}/{target}").lstrip("/"), target.lstrip("/"))):
            try:
                address = parse_address(path)
            except KnowledgeError:
                continue
            if address not in self._files:
                try:
                    self._files[address] = self._collection.store.read(address)
                except KnowledgeError:
                    self._files[address] = None
            raw = self._files[address]
            if raw is not None:
                return address, raw
        return None

    def _document(self, address: Address) -> Document:
        if address not in self._documents:
            self._documents[address] = read_document(address, self._collection.store.read(address))
        return self._documents[address]

    def _span(self, address: Address, fragment: str) -> tuple[int, int, int] | None:
        """Start, end and ordinal of the cited part of a page; None if the page has no such part."""
        if not fragment:
            return 0, -1, 0
        key = address, fragment
        if key not in self._spans:
            self._spans[key] = None
            with suppress(KnowledgeError):  # the page cannot be read
                if address not in self._fragments:
                    self._fragments[address] = Fragments(self._document(address))
                if row := self._fragments[address].find(fragment):
                    start, end, section = row
                    self._spans[key] = start, end, section.ordinal if section else 0
        return self._spans[key]

    def _text(self, address: Address, fragment: str, start: int, end: int, *, without_notes: bool = False) -> str:
        """The comparable text of a part of a page; without its footnotes for the page itself, which they quote."""
        key = (address, f"{fragment}\0" if without_notes else fragment)
        if key not in self._texts:
            try:
                source = self._document(address).encoded
            except KnowledgeError:
                source = b""
            cited = source[start : end if end >= 0 else len(source)]
            cited = without_footnotes(cited) if without_notes else cited
            self._texts[key] = comparable(cited.decode("utf-8", "replace"))
        return self._texts[key]

    def _whole(self, address: Address) -> str:
        return self._text(address, "", 0, -1)

    def _gone(self, item: Citation) -> Finding:
        removed = ""
        try:
            address = parse_address(item.target)
            commits = self._collection.store.history.log(address, limit=1)
            removed = f" since {_commit(commits[0])}" if commits else ""
        except KnowledgeError:
            pass
        return self._finding(
            "source_missing", item, f"It cites {shortened(item.place)!r}, which is not there{removed}."
        )

    def _moved(self, address: Address, citation: Citation) -> Finding | None:
        """The finding for a quotation that is in another section of its page; None if it is in none."""
        if not (citation.fragment and is_comparable(citation.quotation)):
            return None
        if not holds_quotation(citation.quotation, self._whole(address)):
            return None
        document = self._document(address)
        for section in document.sections:
            text = document.encoded[section.start : section.end].decode("utf-8", "replace")
            if holds_quotation(citation.quotation, comparable(text)):
                place = f"{citation.target}#{section.anchor}" if section.anchor else f"{citation.target}, at its top,"
                message = f"The quotation of {citation.place} is in {place} now. Correct the citation."
                return self._finding("source_moved", citation, message)
        return None

    def _lost(self, address: Address, citation: Citation, whole: str) -> Finding:
        """The finding for a quotation that its source does not have, with the commit that took it out.

        Args:
            address: The source.
            citation: The citation.
            whole: The comparable text of the source, of which the citation may name a part.
        """
        if holds_quotation(citation.quotation, whole):
            return self._missing(citation, ", but elsewhere in its file")
        after = None
        when = ""
        for commit, text in self._past_texts(address):
            if holds_quotation(citation.quotation, text):
                when = f" since {_commit(after)}" if after else ", as it was not committed"
                break
            after = commit
        return self._missing(citation, when)

    def _missing(self, citation: Citation, when: str) -> Finding:
        quoted = (
            citation.quotation if len(citation.quotation) <= _SHOWN_CHARS else f"{citation.quotation[:_SHOWN_CHARS]}…"
        )
        return self._finding(
            "quotation_missing", citation, f'The quotation "{quoted}" is not in {citation.place}{when}. {_HISTORY_HINT}'
        )

    def _past_texts(self, address: Address) -> Sequence[tuple[Commit, str]]:
        """The comparable texts of the last versions of a source, newest first; read once."""
        if address not in self._versions:
            self._versions[address] = []
            with suppress(KnowledgeError):  # no history, or a shallow one
                versions = islice(self._collection.store.history.versions(address), MAX_VERSIONS)
                self._versions[address] = [
                    (commit, comparable(raw.decode("utf-8", "replace"))) for commit, raw in versions
                ]
        return self._versions[address]

    def _is_changed(self, record: Record, citation: Citation, page: Record, ordinal: int) -> bool:
        """Whether the cited section changed after the citing one was written, as the branch got their commits."""
        if page.address == record.address or self._last_came(page) < record.created:
            return False
        key = (self._collection.store.identity, record.address.path, record.revision, page.address.path, page.revision)
        return _COMPARISONS.get(
            (*key, citation.label, ordinal), lambda: self._changed_after(record, citation, page, ordinal)
        )

    def _changed_after(self, record: Record, citation: Citation, page: Record, ordinal: int) -> bool:
        try:
            changes = [
                change.commit
                for change in self._changes(page.address)
                if not ordinal or change.section.ordinal == ordinal
            ]
            if not changes or _is_reviewed_since(record, max(map(self._came, changes))):
                return False
            written = self._citing.commits(self._document(record.address), citation, page.address)
            return any(self._is_later(change, commit) for commit in written for change in changes)
        except KnowledgeError:  # no history
            return False

    def _is_other(self, source: Address, target: str, cited: Address) -> bool:
        """Whether a target leads to another page than the cited one; one that leads nowhere has moved since."""
        page = self._page(source, target)
        return page is not None and page.address != cited

    def _last_came(self, page: Record) -> str:
        """The last time at which the text of a page changed or came into the branch. Unread commits count by date."""
        if page.address not in self._arrivals:
            commits = self._collection.store.history.last_touching([page.address]) or ()
            came = iso_timestamp(max((self._came(commit) for commit, _ in commits), default=0))
            self._arrivals[page.address] = max(page.updated, came)
        return self._arrivals[page.address]

    def _came(self, commit: Commit | None) -> int:
        """The time at which a commit came into the branch, in Unix seconds; `_NEVER` for none."""
        past = self._collection.past
        return _NEVER if commit is None else past.commits.came(commit.id) if past else commit.when

    def _is_later(self, change: Commit | None, other: Commit) -> bool:
        """Whether a change, None for one that is not committed, came into the branch after a commit."""
        past = self._collection.past
        if change is None or past is None:  # the states of the past have no order but that of dates
            return self._came(change) > other.when
        return past.commits.is_later(change.id, other.id)

    def _finding(self, rule: str, citation: Citation, message: str) -> Finding:
        return finding_of(rule, message, "" if citation.line else "sources", citation.line)


def _is_reviewed_since(record: Record, when: int) -> bool:
    """Whether a page was reviewed after a time; of a review on the same day, the page's last change decides."""
    day = reviewed_day(record.frontmatter)
    if not day or when >= _NEVER:
        return False
    changed = iso_timestamp(when)
    return day > changed[:10] or (day == changed[:10] and changed <= record.updated)


_NEVER = 2**62
"""The time of a change that is not committed yet."""
_SHOWN_CHARS = 120


class _Comparisons:
    """Results of comparisons of sections of two revisions. Thread-safe."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], bool] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[object, ...], compare: Callable[[], bool]) -> bool:
        with self._lock:
            if key in self._known:
                return self._known[key]
        answer = compare()
        with self._lock:
            self._known[key] = answer
            while len(self._known) > MAX_CACHED:
                self._known.popitem(last=False)
        return answer


_COMPARISONS = _Comparisons()


def collection_citation_findings(
    collection: Collection, records: Sequence[Record]
) -> Iterator[tuple[Address, Finding]]:
    """The findings in the citations of all these pages."""
    citations = collection.index.citations()
    if not citations:
        return
    rules = CitationRules(collection)
    for record in records:
        if record.address in citations:
            yield from ((record.address, finding) for finding in rules.findings(record, citations[record.address]))


def page_citation_findings(
    collection: Collection, record: Record, document: Document, part: str | None = None
) -> Iterator[Finding]:
    """The findings in the citations of one version of a page, or in the footnotes that a part of its text has."""
    citations = citations_of(document)
    if part is not None:
        citations = [citation for citation in citations if citation.line and f"[^{citation.label}]" in part]
    if citations:
        yield from CitationRules(collection).findings(record, citations)


def placed_citation(collection: Collection, source: Address, citation: Citation) -> Citation:
    """The citation that a call gives, with the path from the base, and with the commit that has its lines of a file.

    The path counts from the base, as all paths of a call, if a file is there; else from the folder of the citing page.

    Args:
        collection: Collection of the citing page.
        source: The citing page.
        citation: The citation.
    """
    if citation.is_url:
        return citation
    return _pinned(collection, source, citation) if citation.first else _from_base(collection, source, citation)


def _from_base(collection: Collection, source: Address, citation: Citation) -> Citation:
    paths = (citation.target.lstrip("/"), normpath(f"{source.folder}/{citation.target}").lstrip("/"))
    addresses = filter(None, map(address_or_none, paths))
    there = next(filter(collection.store.stat, addresses), None)
    return citation._replace(target=there.path) if there else citation


def _pinned(collection: Collection, source: Address, citation: Citation) -> Citation:
    """The citation of lines of a file at the current commit, if it names none and the commit has these lines."""
    head = "" if citation.commit else collection.store.history.head()
    file = CitationRules(collection).file(source, citation.target) if head else None
    if file is None:
        return citation
    with suppress(KnowledgeError):  # the commit does not have the file
        raws = collection.store.history.read(file[0], head), file[1]
        then, now = (_lines(raw)[citation.first - 1 : citation.last] for raw in raws)
        return citation._replace(commit=head[:_PINNED_DIGITS]) if then and then == now else citation
    return citation


_PINNED_DIGITS = 10


def newly_lost_quotations(collection: Collection, old: Document) -> Iterator[tuple[Address, Finding]]:
    """The findings for quotations of other pages that a write took out of a page, within `WRITE_SECONDS`.

    Args:
        collection: The collection, whose index has the write.
        old: The page before the write.
    """
    file = old.address.path.rpartition("/")[2]
    cited = build_record(old, "")
    names = {file, file.rpartition(".")[0], cited.id, cited.title, *cited.aliases}
    rules = CitationRules(collection)
    citing = collection.index.citations(sorted(filter(None, names)))
    until = time.thread_time() + WRITE_SECONDS
    for address, citations in citing.items():
        record = collection.index.record(address) if time.thread_time() < until else None
        if record is not None and address != old.address:
            yield from ((address, finding) for finding in rules.lost(record, citations, old))


def _lines(raw: bytes) -> list[str]:
    return [line.rstrip() for line in raw.decode("utf-8", "replace").splitlines()]


def _place_of(lines: Sequence[str], cited: Sequence[str]) -> tuple[int, int] | None:
    """First and last line of the only place that has the cited lines, regardless of indentation; None without one."""
    wanted_lines = [line.strip() for line in cited]
    if sum(map(len, wanted_lines)) < MIN_MOVED_CHARS:
        return None
    plain = [line.strip() for line in lines]
    places = [
        at
        for at, line in enumerate(plain)
        if line == wanted_lines[0] and plain[at : at + len(wanted_lines)] == wanted_lines
    ]
    return (places[0] + 1, places[0] + len(wanted_lines)) if len(places) == 1 else None


def _shown(place: tuple[int, int]) -> str:
    return f"L{place[0]}-L{place[1]}" if place[1] > place[0] else f"L{place[0]}"


def _commit(commit: Commit) -> str:
    return f"{commit.id[:10]} by {commit.author.name} ({iso_timestamp(commit.when)[:10]})"
