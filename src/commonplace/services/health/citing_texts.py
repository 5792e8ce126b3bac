"""Finds the commits at which the text that cites a source stood as it does now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.citations import (
    Citation,
    footnotes_in,
    listed_citations,
    read_citation,
    rest_of_citation,
    without_footnotes,
)
from commonplace.domain.documents import Document
from commonplace.domain.frontmatter import read_any_frontmatter
from commonplace.services.collections import Collection
from commonplace.services.past import section_blame

MAX_CITING_VERSIONS = 1_000
"""Maximum number of versions of a citing page that are read."""
MAX_CACHED_FORMS = 64
"""Maximum number of versions of pages whose compared form is cached."""

_TARGETS = re.compile(
    rb"(?m)(?<=\]\()(?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)"
    rb"|(?<=\[\[)[^\[\]|\n]*"
    rb"|^ {0,3}\[[^\[\]^\n]{1,200}\]:[ \t]*\S+"
    rb"|(?i:(?<=href=)|(?<=src=))\"[^\"\n]*\""
)


@lru_cache(MAX_CACHED_FORMS)
def without_link_targets(source: bytes) -> bytes:
    """A text as it is compared with its earlier versions: without targets of links, which a move rewrites."""
    return b" ".join(_TARGETS.sub(b"", source).split())


@lru_cache(MAX_CACHED_FORMS)
def _citing_form(source: bytes) -> bytes:
    """The form of a citing text, without footnotes, of which each is compared by itself."""
    return without_link_targets(without_footnotes(source))


class CitingTexts:
    """The commits of the texts that cite, in one collection.

    Args:
        collection: The collection.
        is_other: Whether a citing page's address, and a target there, lead to another page than the last address.
    """

    def __init__(self, collection: Collection, is_other: Callable[[Address, str, Address], bool]) -> None:
        self._collection = collection
        self._is_other = is_other
        self._versions = lru_cache(1)(self._read_versions)

    def commits(self, document: Document, citation: Citation, cited: Address) -> Iterator[Commit]:
        """The commits at which a page cited as it does now, newest first; none if its text is not committed.

        What cites is a footnote with the section of its first reference, or an item of `sources` with the body of the
        page, to which later commits may have added. Targets of links may differ. The last commit is that of another
        page if the section came from there.

        Args:
            document: The citing page.
            citation: Its citation.
            cited: The cited page.
        """
        if citation.line:
            return self._of_footnote(document, citation, cited)
        return self._of_item(document, citation, cited)

    def _of_item(self, document: Document, citation: Citation, cited: Address) -> Iterator[Commit]:
        item = _sameness(citation)
        words = _body_words(document.raw, document.body_start)
        for commit, raw in self._versions(document.address):
            if self._lists(commit, raw, item, citation, cited) and _is_part(_body_words(raw), words):
                yield commit

    def _of_footnote(self, document: Document, citation: Citation, cited: Address) -> Iterator[Commit]:
        ordinal, text = _citing_section(document, citation)
        footnote = _footnote_key(next(footnotes_in(document.source, citation.label), ""))
        oldest = last = None
        for commit, raw in self._versions(document.address):
            if text in _citing_form(raw):
                oldest = commit
                if self._notes(commit, raw, footnote, citation, cited):
                    last = commit
                    yield commit
        if last is not None and last is oldest:
            yield from self._carried(document.address, ordinal)

    def _carried(self, address: Address, ordinal: int) -> Iterator[Commit]:
        """The commit that wrote a section, also on another page."""
        changes = section_blame(self._collection, address, _citing_form)
        return (change.commit for change in changes if change.section.ordinal == ordinal and change.commit)

    def _read_versions(self, address: Address) -> Sequence[tuple[Commit, bytes]]:
        return list(islice(self._collection.store.history.versions(address), MAX_CITING_VERSIONS))

    def _lists(self, commit: Commit, raw: bytes, item: tuple[object, ...], citation: Citation, cited: Address) -> bool:
        """Whether a version has an item of `sources`."""
        return any(
            _sameness(listed) == item and self._leads(commit, listed, citation, cited)
            for listed in listed_citations(read_any_frontmatter(raw).values)
        )

    def _notes(
        self, commit: Commit, raw: bytes, footnote: tuple[object, ...], citation: Citation, cited: Address
    ) -> bool:
        """Whether a version has a footnote."""
        for text in footnotes_in(raw, citation.label):
            listed = read_citation(text)
            if listed is not None and _footnote_key(text) == footnote:
                return self._leads(commit, listed, citation, cited)
        return False

    def _leads(self, commit: Commit, then: Citation, citation: Citation, cited: Address) -> bool:
        """Whether a citation of the past is no citation of another page, if its target differs."""
        if then.target == citation.target or not commit.addresses:
            return True
        return not self._is_other(commit.addresses[0], then.target, cited)


def _sameness(citation: Citation) -> tuple[object, ...]:
    """A citation without its place in the page and the target, which a move rewrites."""
    return citation._replace(label="", target="", line=0)


def _footnote_key(text: str) -> tuple[object, ...]:
    citation = read_citation(text)
    return (_sameness(citation) if citation else (), rest_of_citation(text))


def _citing_section(document: Document, citation: Citation) -> tuple[int, bytes]:
    """Ordinal and text of the section with the first reference to a footnote, else with the footnote."""
    source = document.source
    reference = re.search(rb"\[\^" + re.escape(citation.label.encode()) + rb"\](?!:)", source[document.body_start :])
    at = document.body_start + reference.start() if reference else 0
    if reference is None:
        at = sum(map(len, source.split(b"\n")[: citation.line - 1])) + citation.line - 1
    section = next((each for each in reversed(document.sections) if each.start <= at), document.sections[0])
    return section.ordinal, _citing_form(source[section.start : section.end])


def _body_words(raw: bytes, start: int = -1) -> list[bytes]:
    """The words of a page below its front matter, without targets of links."""
    start = read_any_frontmatter(raw).span.end if start < 0 else start
    return re.findall(rb"[0-9A-Za-z_\x80-\xff]+", without_link_targets(raw[start:]))


def _is_part(words: Sequence[bytes], whole: Sequence[bytes]) -> bool:
    """Whether these words stand in this order among others."""
    left = iter(whole)
    return all(word in left for word in words)
