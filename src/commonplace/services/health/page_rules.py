"""Rules for the pages of a collection: outdated pages, repeated texts, broken anchors, unused attachments."""

from __future__ import annotations

import logging
import re
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, combinations, islice
from typing import NamedTuple

from commonplace.domain.addresses import Address, is_attachment_name, parse_address, unportable
from commonplace.domain.document_reader import Fragments
from commonplace.domain.documents import Document, Finding, Link
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.findings import finding_of, shortened
from commonplace.domain.frontmatter import block_end
from commonplace.domain.json import Json
from commonplace.domain.links import LinkLookup, ambiguous_targets, lookup_keys, resolve
from commonplace.domain.query import Record, ResolvedLink
from commonplace.domain.records import iso_timestamp
from commonplace.domain.revisions import is_pointer
from commonplace.domain.sources import DIGEST_KEY, digest_of
from commonplace.domain.status import due_review, expiry_day, unread_days
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection
from commonplace.services.health.citations import collection_citation_findings, page_citation_findings
from commonplace.services.health.contradictions import ClaimIndex
from commonplace.services.history import last_change

MAX_NAMED = 5
"""Maximum number of pages that a finding names."""
_POINTED = re.compile(rb"(?m)^oid sha256:([0-9a-f]{64})$")
_DIGESTS: BoundedCache[str] = BoundedCache(10_000)
"""Digests of the files of sources, by state of the file."""
_BLANKS = b" \t\r\n\v\f"
MIN_SAME_BYTES = 70
"""Minimum length in bytes, without blanks, of a text whose repetition is a finding."""
MAX_ATTACHMENTS = 20_000
"""Maximum number of files that are checked for being unused attachments."""


def collection_findings(
    collection: Collection, records: Sequence[Record], contradicting: Sequence[ResolvedLink], *, read: bool = True
) -> Iterator[LocatedFinding]:
    """The findings of the rules that compare pages or read their texts, in a collection.

    Args:
        collection: The collection.
        records: Records of the pages.
        contradicting: The links of the collection that may declare a contradiction.
        read: Whether to read the text of every page. Without it, rules about texts and attachments are left out.
    """
    texts: dict[tuple[int, int], Address] = {}
    lines, claims = LineIndex(), ClaimIndex(collection)
    if read:
        with collection.store.reading() as content:
            for record in sorted(records, key=lambda other_record: other_record.address):
                try:
                    raw = content(record.address)
                except KnowledgeError:  # deleted meanwhile, or unreadable, which is another rule's finding
                    continue
                yield from ((record.address, finding) for finding in text_rule_findings(raw))
                yield from _same(record, raw, texts)
                lines.add(record.address, raw[block_end(raw) :])
                claims.add(record.address, raw)
    pages = {record.address for record in records}
    yield from collection_citation_findings(collection, records)
    links = dict.fromkeys([*contradicting, *collection.index.dead_links()])
    yield from link_findings(collection, [link for link in links if link.source in pages])
    if read:
        yield from lines.findings()
        yield from claims.findings()
        yield from _unused(collection)


def page_findings(
    collection: Collection, record: Record, document: Document, links: Sequence[ResolvedLink]
) -> Iterator[Finding]:
    """The findings of the rules in one version of a page, without comparison with all others.

    Args:
        collection: The collection.
        record: The record of the version.
        document: The version.
        links: Its links.
    """
    yield from record_findings(collection, record, datetime.now(UTC).date().isoformat())
    yield from text_rule_findings(document.raw)
    yield from page_citation_findings(collection, record, document)
    yield from (finding for _, finding in link_findings(collection, links, document))


def broken_link(resolved: ResolvedLink, lookup: LinkLookup, field: str = "", line: int = 0) -> Finding:
    """The finding for a link that leads nowhere, or to none of several documents."""
    target = shortened(resolved.link.raw)
    paths = [address.path for address in ambiguous_targets(resolved.link, resolved.source, lookup)]
    message = f"The link to {target!r} leads nowhere."
    if paths:
        more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
        message = f"The link to {target!r} is ambiguous: {', '.join(paths[:MAX_NAMED])}{more}. Give the path of one."
    return finding_of("broken_link", message, field, line)


def dead_anchor(target: Address, link: Link, line: int = 0) -> Finding:
    """The finding for a link to a heading or block that its target does not have."""
    message = f"{target.path} has no heading or block {shortened(link.fragment)!r}. Name one that it has."
    return finding_of("dead_anchor", message, line=line)


def record_findings(collection: Collection, record: Record, today: str) -> Iterator[Finding]:
    """The findings of the rules in the record of a page: review dates, files that changed, its name.

    Args:
        collection: The collection.
        record: The record.
        today: The current day in ISO 8601.
    """
    yield from _past_review(record, today)
    yield from (finding for _, finding in outdated(collection, record))
    yield from (finding for _, finding in declared(collection, record))
    yield from _changed_file(collection, record)
    if reason := unportable(record.address.path):
        yield finding_of("unportable_name", f"{reason}. Rename it.")


def text_rule_findings(raw: bytes) -> Iterator[Finding]:
    """The findings of the rules about the text of a page: secrets, invisible characters, words to agents."""
    for finding in text_findings(raw):
        yield finding_of(finding.rule, finding.message, line=raw.count(b"\n", 0, finding.offset) + 1)


def _past_review(record: Record, today: str) -> Iterator[Finding]:
    for day, key in (due_review(record.frontmatter), expiry_day(record.frontmatter)):
        if day and day < today:
            message = f"It was to be reviewed by {day} ({key}). Review it, then set a later day."
            yield finding_of("stale", message)

    for key, written in unread_days(record.frontmatter):
        message = f"{key} is {written[:40]!r}, which counts as no day. Write it like `{key}: 2027-01-31`."
        yield finding_of("stale", message)


def _same(record: Record, raw: bytes, texts: dict[tuple[int, int], Address]) -> Iterator[LocatedFinding]:
    """A finding if another page has the same text, apart from blanks and front matter."""
    letters = raw[block_end(raw) :].translate(None, _BLANKS)
    if len(letters) < MIN_SAME_BYTES:
        return
    first = texts.setdefault((len(letters), hash(letters)), record.address)
    if first != record.address:
        message = f"{first.path} has the same text. Keep one, and link to it from the other."
        yield record.address, finding_of("same_text", message)


def stored_file(collection: Collection, record: Record) -> Address | None:
    """The file beside the page of a source, to which it links first; None if it has none, or the file is gone."""
    for link in collection.index.links_from(record.address):
        if link.target and not link.target.is_document and collection.store.stat(link.target) is not None:
            return link.target
    return None


def _changed_file(collection: Collection, record: Record) -> Iterator[Finding]:
    """The finding for a source whose file is not the one any more whose text its page has."""
    digest = record.frontmatter.get(DIGEST_KEY)
    file = stored_file(collection, record) if isinstance(digest, str) else None
    if file is None:
        return
    with suppress(KnowledgeError):  # deleted meanwhile, or unreadable
        if _digest_of(collection, file) != digest:
            message = (
                f"{file.path} changed: it is not the file any more whose text this page has. Bring it back with "
                "restore, or add the new file as a source of its own."
            )
            yield finding_of("source_changed", message)


def _digest_of(collection: Collection, file: Address) -> str:
    """SHA-256 of a file, or of the one of a pointer of Git LFS; cached by the state of the file."""
    key = collection.store.identity, file, collection.store.stat(file)
    if digest := _DIGESTS.get(key):
        return digest
    raw = collection.store.read(file)
    named = _POINTED.search(raw) if is_pointer(raw) else None
    return _DIGESTS.put(key, named[1].decode() if named else digest_of(raw), 1)


def link_findings(
    collection: Collection, links: Sequence[ResolvedLink], version: Document | None = None
) -> Iterator[LocatedFinding]:
    """Declared contradictions, and links to missing headings and blocks.

    Args:
        collection: The collection.
        links: Links of its documents.
        version: A document that is read instead of the file at its address.
    """
    linked = {link.target for link in links if link.target and link.link.fragment}
    fragments = collection.index.fragments(linked) | ({version.address: Fragments(version)} if version else {})
    source, raw = (version.address, version.raw) if version else (Address(""), b"")
    for link in links:
        target = link.target
        if link.link.relation in CONTRADICTING and target is not None:
            yield declared_contradiction(link.source, target)
        if not link.link.fragment or target not in fragments or link.link.fragment in fragments[target]:
            continue
        if link.source != source:
            source, raw = link.source, b""
            with suppress(KnowledgeError):  # deleted meanwhile, or unreadable, which is another rule's finding
                raw = collection.store.read(source)
        line = raw.count(b"\n", 0, link.link.span.start) + 1 if link.link.span.end else 0
        yield link.source, dead_anchor(target, link.link, line)


class _LinkedFiles:
    """The attachments to which pages link. Each link is resolved once, however many files have its name."""

    def __init__(self, collection: Collection) -> None:
        self._index = collection.index
        self._lookup = collection.index.lookup()
        self._targets: dict[str, frozenset[Address | None]] = {}
        """Targets of the links with a lookup key."""

    def __contains__(self, address: Address) -> bool:
        return any(address in self._targets_of(key) for key in lookup_keys(address.path))

    def _targets_of(self, key: str) -> frozenset[Address | None]:
        if key not in self._targets:
            links = (link for link in self._index.links_named([key]) if not (link.target and link.target.is_document))
            self._targets[key] = frozenset(resolve(link.link, link.source, self._lookup) for link in links)
        return self._targets[key]


def _unused(collection: Collection) -> Iterator[LocatedFinding]:
    """Attachments that no page links to."""
    pending, looked = [""], 0
    linked = _LinkedFiles(collection)
    while pending and looked < MAX_ATTACHMENTS:
        folder = pending.pop()
        try:
            pending += collection.store.folders(folder)
            files = sorted(collection.store.files(folder))
        except KnowledgeError:  # the folder cannot be listed, so its files are not reported
            continue
        for address, _ in files:
            looked += 1
            if address.is_document or address.name == "kb.yaml" or not is_attachment_name(address.name):
                continue
            if address not in linked:
                message = "No page links to this file. Link to it, or delete it."
                yield address, finding_of("unused_attachment", message)


# Comparisons of pages: declared contradictions, near-duplicates, and pages older than the files that they describe.


log = logging.getLogger(__name__)

LocatedFinding = tuple[Address, Finding]
"""A page or other file, and what is wrong with it; the message has the remedy."""

DESCRIBES = "describes"
"""Front-matter key that names the pages and files that a page describes, by path or [[link]]."""
CONTRADICTING = ("contradicts", "contradicted_by")
"""Front-matter keys, and relations of links, by which a page declares a contradiction."""
MIN_LINE_BYTES = 40
"""Minimum length in bytes of a line that counts for near-duplicates."""
MIN_SHARED_LINES = 4
"""Minimum number of shared lines of two near-duplicates."""
MIN_SHARED_PART = 0.8
"""Minimum share of the shorter page's lines that two near-duplicates have in common."""
MAX_LINES = 1_000
"""Maximum number of lines of a page that are compared for near-duplicates."""
MAX_HOLDERS = 8
"""Maximum number of pages that share a line; a more common line is boilerplate and does not count."""


class LineIndex:
    """Long lines by page, to find pages that share most lines. Blanks and short lines are ignored."""

    def __init__(self) -> None:
        self._holders: defaultdict[int, list[int]] = defaultdict(list)
        self._pages: list[Address] = []
        self._counts: list[int] = []

    def add(self, address: Address, body: bytes) -> None:
        """Add a page's text. Add the pages in the order of their addresses."""
        long = [line for line in body.split(b"\n", MAX_LINES)[:MAX_LINES] if len(line) >= MIN_LINE_BYTES]
        lines = {hash(line) for line in map(bytes.strip, long) if len(line) >= MIN_LINE_BYTES}
        if len(lines) >= MIN_SHARED_LINES:
            number = len(self._pages)
            self._pages.append(address)
            self._counts.append(len(lines))
            for line in lines:
                self._holders[line].append(number)

    def findings(self) -> Iterator[LocatedFinding]:
        """A finding on the second page of each pair that shares most lines, but not all."""
        shared: Counter[tuple[int, int]] = Counter()
        # The lines of copied pages have the same set of pages, so that counting these sets is quick.
        for holders, lines in Counter(tuple(numbers) for numbers in self._holders.values() if len(numbers) > 1).items():
            if len(holders) <= MAX_HOLDERS:
                for pair in combinations(holders, 2):
                    shared[pair] += lines
        for (element, two), lines in sorted(shared.items()):
            least, most = sorted((self._counts[element], self._counts[two]))
            if lines >= max(MIN_SHARED_LINES, MIN_SHARED_PART * least) and lines < most:
                name = self._pages[element].path
                message = f"It shares {lines} of {least} long lines with {name}. Keep them once, and link to them."
                yield self._pages[two], finding_of("near_duplicate", message)


def declared(collection: Collection, record: Record) -> Iterator[LocatedFinding]:
    """The contradictions that a page itself declares in its front matter."""
    for key in CONTRADICTING:
        for name in _named(record.frontmatter, key):
            other = collection.index.find(name, record.address)
            if other is not None:
                yield declared_contradiction(record.address, other.address)


def declared_contradiction(source: Address, target: Address) -> LocatedFinding:
    """The finding for a page that declares a contradiction to another page."""
    message = f"It says that it contradicts {target.path}. Settle which of them holds."
    return source, finding_of("contradiction", message)


def outdated(collection: Collection, record: Record) -> Iterator[LocatedFinding]:
    """Files that a page describes and that changed after the page."""
    for name in _named(record.frontmatter, DESCRIBES):
        changed = _changed(collection, record.address, name)
        if changed is None:
            message = f"It describes {shortened(name)!r}, which is not there. Correct `{DESCRIBES}`."
            yield record.address, finding_of("stale", message)
        elif _is_later(changed, record.updated):
            message = (
                f"It describes {shortened(name)!r}, which changed on {changed[:10]}; this page is of"
                f" {record.updated[:10]}. Bring it up to date."
            )
            yield record.address, finding_of("stale", message)


def _is_later(changed: str, updated: str) -> bool:
    """Whether `changed` is later than `updated`, which may be only a day."""
    return changed[:10] > updated[:10] if updated.endswith(_MIDNIGHT) else changed > updated


_MIDNIGHT = "T00:00:00Z"


def _named(values: Mapping[str, Json], key: str) -> list[str]:
    """The pages and files that a field names by path, title or link."""
    value = values.get(key)
    listed = value if isinstance(value, list) else [value]
    names = (element.strip().removeprefix("[[").removesuffix("]]") for element in listed if isinstance(element, str))
    return [name for name in (name.partition("|")[0].partition("#")[0].strip() for name in names) if name]


def _changed(collection: Collection, source: Address, name: str) -> str | None:
    """Time of the last change of a page or file in ISO 8601; None if there is no such page or file."""
    record = collection.index.find(name, source)
    if record is not None:
        return record.updated
    for path in (name.removeprefix("/"), f"{source.folder}/{name}"):
        try:
            address = parse_address(path)
            stat = collection.store.stat(address)
        except (InvalidInputError, NotFoundError):
            continue
        except KnowledgeError as error:
            log.warning("%s is not compared: %s", path, error)
            continue
        if stat is not None:
            commit = last_change(collection, address)
            return iso_timestamp(commit.when if commit else stat.mtime_ns / 1e9)
    return None


# Pattern rules for a page's bytes: invisible characters, text that addresses an agent, secrets.


class TextFinding(NamedTuple):
    """One finding in a text. The message never contains a secret."""

    offset: int
    """Offset in bytes."""
    rule: str
    message: str


MAX_FINDINGS = 20
"""Maximum number of findings of one rule in one page."""
_NAMES = {
    "\u200b": "zero-width space",
    "\u2060": "word joiner",
    "\u00ad": "soft hyphen",
    "\ufeff": "byte order mark inside the text",
}
_MAYBE_INVISIBLE = re.compile(rb"\xe2\x80[\x8b\x8e\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa9]|\xef\xbb\xbf|\xf3\xa0[\x80\x81]")
"""UTF-8 of zero-width spaces, direction marks and overrides, inner byte order marks, and tag characters."""
_BLACK_FLAG = "\U0001f3f4".encode()
_FLAGS = tuple(
    _BLACK_FLAG + "".join(chr(0xE0000 + ord(letter)) for letter in f"{region}\x7f").encode()
    for region in ("gbeng", "gbsct", "gbwls")
)
"""The emoji of England, Scotland and Wales: a flag followed by tag characters that name the region."""
_FLAG_BYTES = len(_FLAGS[0])
_ORDER = (
    rb"\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+)?(?:previous|prior|earlier|above)"
    rb"\s+(?:instructions?|prompts?|messages?|rules)"
)
_GITHUB_TOKEN = re.compile(rb"gh(?:[pousr]_[A-Za-z0-9]{36,}|ithub_pat_[A-Za-z0-9_]{40,})")
_WITH_G = re.compile(
    rb"g(?:(?P<token>(?<!\wg)h(?:[pousr]_|ithub_pat_))"
    rb"|(?:(?<=ig)(?<![a-z0-9_]ig)(?P<ignore>nore)|(?<=disreg)(?<![a-z0-9_]disreg)(?P<disregard>ard)"
    rb"|(?<=forg)(?<![a-z0-9_]forg)(?P<forget>et))" + _ORDER + rb")"
)
"""Orders to an agent, and beginnings of GitHub's tokens; one pattern, because each pass over a text is expensive."""
_BEFORE_G = {"ignore": 1, "disregard": 5, "forget": 3}
_TO_AGENTS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"do(?<![a-z0-9_]do)\s+not\s+(?:tell|inform|mention\s+(?:this|it)\s+to)\s+the\s+user\b",
        rb"you(?<![a-z0-9_]you)\s+are\s+(?:now\s+)?(?:an?\s+)?(?:ai|llm|language\s+model|assistant|agent)\b",
        (
            rb"<(?:\s*/?\s*(?:system|assistant)\s*>"
            rb"|!--[^>]{0,200}\b(?:ai|llm|assistant|agent)s?\b[^>]{0,200}\b(?:must|should|please|send|run|call)\b)"
        ),
    )
)
"""Further orders to an agent. All patterns of orders are for lower-case text, and begin with a literal for speed."""
_SECRETS = tuple(
    re.compile(pattern)
    for pattern in (
        (
            rb"A(?:(?<!\wA)(?P<aws>(?:KIA|SIA)[0-9A-Z]{16}\b)|(?<!\wA)(?P<google>Iza[0-9A-Za-z_-]{35}\b)"
            rb"|(?<=PRIVA)(?P<key>TE KEY-----))"
        ),
        rb"x(?<!\wx)(?P<slack>ox[abprs]-[A-Za-z0-9-]{20,})",
        rb"k(?<=sk)(?<!\wsk)(?P<api>-(?:[a-z]+-)?[A-Za-z0-9_-]{32,})",
    )
)
"""Patterns of secrets, for text in its original case. Each group has a name in `_SECRET_NAMES`."""
_SECRET_NAMES = {
    "aws": "an AWS access key",
    "google": "a Google API key",
    "key": "a private key",
    "slack": "a Slack token",
    "api": "an API key",
}
_PRIVATE_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVA\Z")
_QUOTED = tuple(re.compile(mark + rb"(?<=[:= \t]" + mark + rb")(?=[^\"'\s<>{}$]{12,}[\"'])") for mark in (b'"', b"'"))
"""The quotation mark before a possible password."""
_PASSWORD = re.compile(rb"(?<!\w)(?:pass(?:word|wd)|secret|api[_-]?key|token)[ \t]*[:=][ \t]*\Z")
MAX_BEFORE = 100
"""Number of bytes before a possible secret that are searched for a password's name or a private key's first line."""


def text_findings(raw: bytes) -> Iterator[TextFinding]:
    """The findings in a page's bytes, rule by rule."""
    yield from _invisible(raw)
    lower = raw.lower()
    with_g = list(_WITH_G.finditer(lower))
    orders = (
        (match.start() - _BEFORE_G[match.lastgroup], match.end()) for match in with_g if match.lastgroup in _BEFORE_G
    )
    others = (match.span() for pattern in _TO_AGENTS for match in pattern.finditer(lower))
    for start, end in islice(chain(orders, others), MAX_FINDINGS):
        shown = " ".join(raw[start:end].decode("utf-8", "replace").split())[:60]
        message = f"The text {shown!r} addresses an agent. Remove it, or quote it as what it is."
        yield TextFinding(start, "addresses_agent", message)
    tokens = (match.start() for match in with_g if match.lastgroup == "token")
    github = (_secret(at, "a GitHub token") for at in tokens if _GITHUB_TOKEN.match(raw, at))
    yield from islice(chain(_keys(raw), github, _passwords(lower)), MAX_FINDINGS)


def _keys(raw: bytes) -> Iterator[TextFinding]:
    for match in (other_match for pattern in _SECRETS for other_match in pattern.finditer(raw)):
        group = match.lastgroup or ""
        start = match.start() - (group == "api")
        if group == "key":
            begin = _PRIVATE_KEY.search(raw, max(0, start - MAX_BEFORE), start + 1)
            if begin is None:
                continue
            start = begin.start()
        yield _secret(start, _SECRET_NAMES[group])


def _passwords(lower: bytes) -> Iterator[TextFinding]:
    for quote in (match.start() for pattern in _QUOTED for match in pattern.finditer(lower)):
        line = max(lower.rfind(b"\n", 0, quote) + 1, quote - MAX_BEFORE)
        named = _PASSWORD.search(lower, line, quote)
        if named:
            yield _secret(named.start(), "a password")


def _secret(offset: int, name: str) -> TextFinding:
    message = f"This looks like {name}. Revoke it, then take it out of the page and of the history."
    return TextFinding(offset, "secret", message)


def _invisible(raw: bytes) -> Iterator[TextFinding]:
    """Invisible characters that change how a text is read; joiners that scripts and emoji need are excluded."""
    lines: set[int] = set()
    if raw.isascii():
        return
    for match in _MAYBE_INVISIBLE.finditer(raw):  # an initial byte order mark is no finding
        if (
            (match.start() == 0 and match[0] == BOM_UTF8)
            or len(lines) == MAX_FINDINGS
            or _is_in_flag(raw, match.start())
        ):
            continue
        line = raw.count(b"\n", 0, match.start())
        if line in lines:
            continue
        lines.add(line)
        letter = raw[match.start() : match.start() + 4].decode("utf-8", "ignore")[:1]
        name = _NAMES.get(letter, f"U+{ord(letter):04X}" if letter else "a code point")
        message = f"An invisible character ({name}) stands in this line. Remove it: readers do not see what it changes."
        yield TextFinding(match.start(), "invisible_character", message)


def _is_in_flag(raw: bytes, at: int) -> bool:
    """Whether a tag character is part of one of the flags in `_FLAGS`."""
    start = raw.rfind(_BLACK_FLAG, max(0, at - _FLAG_BYTES), at)
    return start >= 0 and raw.startswith(_FLAGS, start)
