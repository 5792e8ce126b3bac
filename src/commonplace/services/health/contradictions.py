"""Rules for contradictions: two pages that state different values for one subject."""

from __future__ import annotations

import codecs
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from commonplace.domain.addresses import Address, fold
from commonplace.domain.claims import (
    PageClaim,
    claims_of,
    claims_of_change,
    declared_claims,
    differs,
    have_other_scopes,
    is_same_value,
)
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Finding
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.findings import finding_of
from commonplace.domain.frontmatter import block_end, read_any_frontmatter
from commonplace.domain.query import SearchQuery
from commonplace.domain.records import iso_timestamp
from commonplace.domain.sites import is_language_code
from commonplace.domain.status import LAPSED, DeclaredStatus, declared_statuses
from commonplace.services.collections import Collection
from commonplace.services.history import change_of_line
from commonplace.services.statuses import CollectionStatuses

MAX_HOLDERS = 4
"""Maximum number of pages that state a value for one subject; a subject of more pages is a template."""
MAX_COMPARED_CLAIMS = 6
"""Maximum number of changed claims of a write that are compared with other pages."""
MAX_CANDIDATES = 4
"""Maximum number of pages that are read for one changed claim."""
WRITE_SECONDS = 0.025
"""Processor time in seconds that a write spends on comparing its claims."""
MAX_NAMED_AUTHORS = 50
"""Maximum number of findings of one check that name authors, which are looked up in the history."""
SHARED_NAMES = 0.5
"""Share of names of files that parallel folders have in common, and of headings that pages of one shape have."""
_DATED = re.compile(r"(?:^|/)[^/]*(?:\d{4}-\d{2}(?:-\d{2})?|\d{8})[^/]*$")
_LEFT_OUT = re.compile(
    r"(?i)(?:^|/)(?:_?templates?|archetypes|journals?|daily|logs?|archive|changelogs?|releases?|release-notes|meetings?)/"
    r"|(?:^|/)[^/]*(?:changelog|release[- ]?notes|what-?s-?new|template|history|news)[^/]*(?:$|/)"
)
_TITLE = re.compile(r"(?m)^# +(\S[^\r\n]*)")
_KEY = re.compile(r"[\"']?([^\s:=\"'](?:[^:=\"']*[^\s:=\"'])?)[\"']?\s*(?:::?|=)(?:\s|$)")
"""A line of a front matter that begins a field."""
_DIGITS = re.compile(r"[0-9]+")


def is_compared(address: Address) -> bool:
    """Whether a page states what holds now: no template, no journal, no list of changes."""
    return not (_DATED.search(address.path) or _LEFT_OUT.search(address.path))


def are_copies(address: Address, other: Address) -> bool:
    """Whether the names of two files differ only in numbers, as in a series, or their folders are of two languages."""
    if _DIGITS.sub("", address.name.casefold()) == _DIGITS.sub("", other.name.casefold()):
        return True
    folders = zip(address.folder.split("/"), other.folder.split("/"), strict=False)
    first, second = next(((name, beside) for name, beside in folders if name != beside), ("", ""))
    return is_language_code(first) and is_language_code(second)


def are_of_other_things(document: Document, other: Document) -> bool:
    """Whether two pages are about different things of one kind, so that their values differ on purpose.

    Their front matters name other products or the like, or they have other titles above mostly the same headings.
    """
    if have_other_scopes(document.frontmatter.values, other.frontmatter.values):
        return True
    headings, others = ({fold(each.heading) for each in page.sections if each.level > 1} for page in (document, other))
    shared = len(headings & others)
    has_one_shape = shared > 1 and shared >= SHARED_NAMES * min(len(headings), len(others))
    return has_one_shape and fold(document.title) != fold(other.title)


class ParallelFolders:
    """Folders of one shape, such as versions and languages, whose pages state different values on purpose.

    Args:
        addresses: All pages.
    """

    def __init__(self, addresses: Iterable[Address]) -> None:
        self._below: defaultdict[str, set[str]] = defaultdict(set)
        for address in addresses:
            parts = address.path.split("/")
            for depth in range(1, len(parts)):
                self._below["/".join(parts[:depth])].add("/".join(parts[depth:]))
        self._known: dict[tuple[str, str], bool] = {}

    def are_parallel(self, address: Address, other: Address) -> bool:
        """Whether two pages have one name but for numbers, or are in folders with mostly the same names."""
        if are_copies(address, other):
            return True
        first, second = address.path.split("/"), other.path.split("/")
        depth = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
        if depth >= min(len(first), len(second)) - 1:
            return False
        pair = "/".join(first[: depth + 1]), "/".join(second[: depth + 1])
        if pair not in self._known:
            here, there = self._below[pair[0]], self._below[pair[1]]
            shared = len(here & there)
            self._known[pair] = shared > 1 and shared >= SHARED_NAMES * min(len(here), len(there))
        return self._known[pair]


class ClaimIndex:
    """The claims of all pages of a collection.

    Args:
        collection: The collection.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._statuses = CollectionStatuses(collection)
        self._claims: defaultdict[str, list[tuple[Address, PageClaim]]] = defaultdict(list)
        self._pages: list[Address] = []
        self._others: dict[tuple[Address, Address], bool] = {}

    def add(self, address: Address, raw: bytes) -> None:
        """Add the claims of a page."""
        self._pages.append(address)
        if is_compared(address):
            for claim in _holding_claims(self._statuses, address, raw):
                self._claims[claim.key].append((address, claim))

    def findings(self) -> Iterator[tuple[Address, Finding]]:
        """A finding on the second page of each pair that states different values."""
        authors = _Authors(self._collection)
        for (address, claim), (other, stated) in self.pairs():
            yield address, _finding(claim, other, stated, authors.both((address, claim), (other, stated)))

    def pairs(self) -> Iterator[tuple[tuple[Address, PageClaim], tuple[Address, PageClaim]]]:
        """The claims that state different values, each with the first one before it that it contradicts."""
        folders = ParallelFolders(self._pages)
        for places in self._claims.values():
            if len(places) < _FEWEST or len(dict(places)) > MAX_HOLDERS or _is_series(places):
                continue
            for at, place in enumerate(places):
                other = next((each for each in places[:at] if self._contradict(place, each, folders)), None)
                if other is not None:
                    yield place, other

    def _contradict(
        self, place: tuple[Address, PageClaim], other: tuple[Address, PageClaim], folders: ParallelFolders
    ) -> bool:
        return _contradict(place, other, folders) and not self._are_of_others(place[0], other[0])

    def _are_of_others(self, address: Address, other: Address) -> bool:
        """Whether two pages are about different things; see `are_of_other_things`."""
        if (address, other) not in self._others:
            pages = map(self._collection.index.document, (address, other))
            try:
                self._others[address, other] = address != other and are_of_other_things(*pages)
            except KnowledgeError:  # deleted meanwhile
                self._others[address, other] = True
        return self._others[address, other]


_FEWEST = 2


def _contradict(place: tuple[Address, PageClaim], other: tuple[Address, PageClaim], folders: ParallelFolders) -> bool:
    """Whether two claims of one key are of two pages, or two parts of one, and state different values."""
    (address, claim), (there, stated) = place, other
    if address == there and claim.is_declared == stated.is_declared:
        return False
    names = address.name.casefold(), there.name.casefold()
    return differs(claim, stated, names) and (address == there or not folders.are_parallel(address, there))


def _is_series(places: Sequence[tuple[Address, PageClaim]]) -> bool:
    """Whether the text of one page states several values for a subject, which is then no subject but a series."""
    values: dict[tuple[Address, bool], str] = {}
    return not all(
        is_same_value(values.setdefault((address, claim.is_declared), claim.value), claim.value)
        for address, claim in places
    )


class _Authors:
    """The days on which claims were made, and their authors."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._named: dict[tuple[Address, int], str] = {}

    def both(self, place: tuple[Address, PageClaim], other: tuple[Address, PageClaim]) -> tuple[str, str]:
        return self._of(*place), self._of(*other)

    def _of(self, address: Address, claim: PageClaim) -> str:
        key = address, claim.line
        if key not in self._named and len(self._named) < MAX_NAMED_AUTHORS:
            try:
                self._named[key] = self._made(address, claim.line)
            except KnowledgeError:  # no history, or deleted meanwhile
                self._named[key] = self._day(address)
        return self._named.get(key, "")

    def _made(self, address: Address, line: int) -> str:
        """The commit since which a line is there; the day of the file if no commit has it yet."""
        text = self._collection.store.read(address).split(b"\n")[line - 1].rstrip()
        commit = change_of_line(self._collection, address, text)
        return f"{iso_timestamp(commit.when)[:10]} {commit.author.name}" if commit else self._day(address)

    def _day(self, address: Address) -> str:
        record = self._collection.index.record(address)
        return record.updated[:10] if record else ""


def page_claims(raw: bytes) -> list[PageClaim]:
    """The claims of a page, with lines of the whole file; first those of its front matter."""
    text, first = _body(raw)
    return [*_declared(raw, text), *(claim._replace(line=claim.line + first) for claim in claims_of(text))]


def _holding_claims(statuses: CollectionStatuses, address: Address, raw: bytes) -> list[PageClaim]:
    """The claims of a page that hold."""
    lapsed = statuses.lapsed_in(address)
    claims = page_claims(raw)
    return _holding(claims, read_document(address, raw), lapsed) if lapsed and claims else claims


def _holding(claims: list[PageClaim], document: Document, lapsed: Sequence[DeclaredStatus]) -> list[PageClaim]:
    """The claims of a page without those of sections that lapsed; none of a page that did as a whole."""
    if any(not status.ordinal for status in lapsed):
        return []
    gone = _lines_of(document, lapsed)
    return [claim for claim in claims if claim.is_declared or not any(claim.line in lines for lines in gone)]


def _lines_of(document: Document, declared: Sequence[DeclaredStatus]) -> list[range]:
    """The lines of the sections that statuses are about."""
    starts = [document.encoded.count(b"\n", 0, section.start) + 1 for section in document.sections]
    starts.append(document.encoded.count(b"\n") + 2)  # behind the last line
    return [range(*(starts[min(at, len(starts) - 1)] for at in (each.ordinal, each.last + 1))) for each in declared]


def _declared(raw: bytes, text: str) -> list[PageClaim]:
    """The claims of the front matter of a page, about the subject that is its title."""
    values = read_any_frontmatter(raw, len(codecs.BOM_UTF8) if raw.startswith(codecs.BOM_UTF8) else 0).values
    stated = values.get("title")
    title = _TITLE.search(text)
    name = stated if isinstance(stated, str) else title[1] if title else ""
    return declared_claims(values, name, _key_lines(raw)) if name else []


def _key_lines(raw: bytes) -> dict[str, int]:
    """The line from 1 of each key of a front matter."""
    lines: dict[str, int] = {}
    for number, line in enumerate(raw[: block_end(raw)].decode("utf-8", "replace").splitlines(), 1):
        if key := _KEY.match(line):
            lines.setdefault(key[1], number)
    return lines


def _body(raw: bytes) -> tuple[str, int]:
    """The text behind the front matter, and the number of lines before it."""
    start = block_end(raw)
    return raw[start:].decode("utf-8", "replace"), raw.count(b"\n", 0, start)


def changed_claim_findings(
    collection: Collection, old: Document | None, new: Document, uncompared: list[PageClaim] | None = None
) -> Iterator[Finding]:
    """The findings in the claims that a write adds or changes, within `WRITE_SECONDS` of processor time.

    Once one is found, the changed claims that are not compared with other pages any more are added to `uncompared`.
    """
    if collection.is_past or not is_compared(new.address):
        return
    end = time.thread_time() + WRITE_SECONDS
    changed = _changed_claims(old.raw if old else b"", new.raw)
    if not changed:
        return
    statuses = CollectionStatuses(collection)
    lapsed = [status for status in declared_statuses(new) if statuses.status_of(status) in LAPSED]
    changed, own = (_holding(claims, new, lapsed) for claims in (changed, page_claims(new.raw)))
    claims: dict[Address, Sequence[PageClaim]] = {}
    authors = _Authors(collection)
    contradicts = False
    for number, claim in enumerate(changed):
        if number == MAX_COMPARED_CLAIMS or time.thread_time() > end:
            if contradicts and uncompared is not None:
                uncompared += changed[number:]
            return
        places = list(_stated_elsewhere(collection, claim, new.address, (statuses, claims)))
        other = _contradicted(collection, new, claim, [*places, *((new.address, stated) for stated in own)])
        if other is not None:
            contradicts = True
            yield _finding(claim, *other, authors.both((new.address, claim), other))


def _contradicted(
    collection: Collection, new: Document, claim: PageClaim, places: Sequence[tuple[Address, PageClaim]]
) -> tuple[Address, PageClaim] | None:
    """The first of some claims, those of the written page included, that a claim of this page contradicts."""
    same = [(address, stated) for address, stated in places if stated.key == claim.key]
    if _is_series(same):
        return None
    for address, stated in same:
        if address == new.address and not _is_other_part(claim, stated):
            continue
        names = new.address.name.casefold(), address.name.casefold()
        if differs(claim, stated, names) and not _may_differ(collection, new, address):
            return address, stated
    return None


def _may_differ(collection: Collection, new: Document, other: Address) -> bool:
    """Whether a written page and another one may state different values: they are parallel, or of other things."""
    if other == new.address:
        return False
    parts = new.address.path.split("/"), other.path.split("/")
    depth = next((at for at, (a, b) in enumerate(zip(*parts, strict=False)) if a != b), 0)
    prefixes = tuple("/".join([*each[: depth + 1], ""]) for each in parts)
    beside = [address for address in collection.index.revisions() if address.path.startswith(prefixes)]
    try:
        is_of_other = are_of_other_things(new, collection.index.document(other))
    except KnowledgeError:  # deleted meanwhile
        return True
    return is_of_other or ParallelFolders(beside).are_parallel(new.address, other)


def _is_other_part(claim: PageClaim, stated: PageClaim) -> bool:
    """Whether a page states in its front matter and in its text what one subject is."""
    return claim.key == stated.key and claim.is_declared != stated.is_declared


def _changed_claims(old: bytes, new: bytes) -> list[PageClaim]:
    """The claims of a page that its old bytes do not make anywhere, with lines of the whole file."""
    (before, _), (text, first) = _body(old), _body(new)
    claims = claims_of_change(before, text)
    stated = {claim[:2] for claim in (claims_of(before) if claims else ())}
    declared = {claim[:2] for claim in _declared(old, before)}
    return [
        *(claim for claim in _declared(new, text) if claim[:2] not in declared),
        *(claim._replace(line=claim.line + first) for claim in claims if claim[:2] not in stated),
    ]


def _stated_elsewhere(
    collection: Collection,
    claim: PageClaim,
    address: Address,
    compared: tuple[CollectionStatuses, dict[Address, Sequence[PageClaim]]],
) -> Iterator[tuple[Address, PageClaim]]:
    """The claims about the same subject in the pages that answer best to it."""
    statuses, claims = compared
    query = SearchQuery(text=claim.subject, limit=MAX_CANDIDATES + 1, sections=0, demand=False, prefix=False)
    for hit in collection.index.search(query).hits:
        other = hit.record.address
        if other == address or not is_compared(other):
            continue
        if other not in claims:
            try:
                claims[other] = _holding_claims(statuses, other, collection.store.read(other))
            except KnowledgeError:  # deleted meanwhile
                claims[other] = ()
        yield from ((other, stated) for stated in claims[other] if stated.key == claim.key)


def _finding(claim: PageClaim, other: Address, stated: PageClaim, when: tuple[str, str]) -> Finding:
    own, theirs = (f" ({element})" if element else "" for element in when)
    subject = claim.subject if len(claim.subject) <= _SHOWN_CHARS else f"{claim.subject[:_SHOWN_CHARS]}…"
    message = (
        f"It states {claim.value!r}{own} where {other.path}, line {stated.line}, states {stated.value!r}{theirs}:"
        f" {subject!r}. Settle which of them holds."
    )
    return finding_of("other_value", message, line=claim.line)


_SHOWN_CHARS = 120
