"""The share of a query that the names of documents and their headings contain.

The words are in the catalogue and are cached, because two queries of the full text for each search cost more.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from sys import intern
from typing import NamedTuple

import tantivy

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document
from commonplace.domain.markdown.paths import INDEX_NAMES
from commonplace.domain.query import Record
from commonplace.domain.query_parser import Analyze
from commonplace.domain.words.grams import grams, without_grams
from commonplace.domain.words.scripts import fold_text
from commonplace.index.catalogue.document_rows import NameWords, name_words_by_key
from commonplace.index.fulltext.tantivy_index import words_analyzer
from commonplace.index.fulltext.term_dictionary import NameTerm

MAX_CACHED_NAMES = 10_000
"""Maximum number of documents whose names are cached, about 1 kB each; a full cache is cleared."""
_BLANK = "-"
"""The level of a blank section before the first heading, which is never a hit."""
_UP_TO = {str(level): re.compile(f"[0-{level}]") for level in range(1, 7)}
"""Finds the next section of a level or a higher rank."""


WHOLE = 0.999
"""Share of a query above which it counts as whole: shares are sums of rounded numbers."""


class NameCoverage(NamedTuple):
    """Shares of a query, 0 to 1."""

    title: float = 0.0
    """The share that title, aliases and file name contain."""
    headings: Mapping[int, float] = {}
    """The share that these names and a section's headings contain, by ordinal; at least those greater than `title`."""
    others: Sequence[int] = ()
    """Ordinals of sections with the share `title`; some may be in `headings`, too."""
    named: AbstractSet[int] = frozenset()
    """Ordinals of sections whose own heading has only words of the query, and one that the names have not."""

    @property
    def whole(self) -> AbstractSet[int]:
        """The ordinals of sections whose headings and names together contain the whole query."""
        return {ordinal for ordinal, share in self.headings.items() if share > WHOLE}


NOT_COVERED = NameCoverage()


def searchable_names(address: Address, title: str, aliases: Sequence[str]) -> str:
    """Title, aliases, and the file's name unless it is one of every folder, such as `index`; folded."""
    stem = () if address.name in INDEX_NAMES else (address.stem,)
    return fold_text("\n".join((title, *aliases, *stem)))


def name_tokens(text: str, analyze: Analyze) -> list[str]:
    """The words and grams of names, for their coverage of a query."""
    return [*analyze(without_grams(text)), *grams(text)]


def name_words(document: Document, record: Record) -> NameWords:
    """The words of a document's names and headings, for `DocumentNames`."""
    first, *others = document.sections
    is_blank = not document.source[first.content : first.end].strip()
    lines = (searchable_names(record.address, record.title, record.aliases), *(fold_text(s.heading) for s in others))
    levels = "".join([_BLANK if is_blank else "0", *(str(section.level) for section in others)])
    return NameWords(levels, "\n".join(" ".join(name_tokens(line, _analyzer().analyze)) for line in lines))


@cache
def _analyzer() -> tantivy.TextAnalyzer:
    return words_analyzer()


class DocumentNames:
    """The words of the names of one document and of its headings.

    Args:
        stored: The row of the catalogue.
    """

    __slots__ = ("_levels", "_lines", "_sizes")

    def __init__(self, stored: NameWords) -> None:
        self._levels = stored.levels
        self._lines: dict[str, list[int]] = {}
        """The lines that contain a word: 0 for the names, and the ordinal of the section for a heading."""
        self._sizes: list[int] = []
        """Number of different words of each line."""
        for line, text in enumerate(stored.words.split("\n")):
            words = dict.fromkeys(text.split())
            self._sizes.append(len(words))
            for word in words:
                self._lines.setdefault(intern(word), []).append(line)

    def coverage(self, terms: Sequence[NameTerm], forms: Mapping[str, Sequence[int]]) -> NameCoverage:
        """The shares of a query that the names cover.

        Args:
            terms: The terms of the query.
            forms: The places of the terms that a form stands for, by form.
        """
        common = self._lines.keys() & forms.keys()
        if not common:
            return NOT_COVERED
        lines: dict[int, list[int]] = {}
        for form in common:
            for number in forms[form]:
                lines[number] = [*lines[number], *self._lines[form]] if number in lines else self._lines[form]
        title = 0.0
        below: list[int] = []
        for number in sorted(lines):
            if 0 in lines[number]:
                title += terms[number].share
            else:
                below.append(number)
        headings: dict[int, float] = {}
        for number in below:
            for ordinal in self._below(lines[number]):
                headings[ordinal] = headings.get(ordinal, title) + terms[number].share
        sections = range(self._levels[0] == _BLANK, len(self._levels)) if title else ()
        return NameCoverage(title, headings, sections, self._named(common, lines, below) if below else frozenset())

    def _named(self, common: Iterable[str], lines: Mapping[int, Sequence[int]], below: Iterable[int]) -> set[int]:
        """The headings all of whose words are among `common`, and that have one of the terms `below`."""
        counts = Counter(line for form in common for line in self._lines[form])
        return {line for number in below for line in lines[number] if counts[line] == self._sizes[line]}

    def _below(self, ordinals: Iterable[int]) -> Iterable[int]:
        """The sections that headings stand above: their own, and their subsections."""
        within: set[int] = set()
        for ordinal in sorted(ordinals):
            if ordinal not in within:
                end = _UP_TO[self._levels[ordinal]].search(self._levels, ordinal + 1)
                within.update(range(ordinal, end.start() if end else len(self._levels)))
        return within


class NameCache:
    """Names of the documents of one generation of the index, which its searches share. Thread-safe."""

    def __init__(self) -> None:
        self._names: dict[int, DocumentNames] = {}

    def coverages(
        self, connection: sqlite3.Connection, keys: Sequence[int], terms: Sequence[NameTerm]
    ) -> dict[int, NameCoverage]:
        """The shares of a query that the names of documents cover, by number; unknown numbers are omitted."""
        names = self._names
        missing = [key for key in keys if key not in names]
        if missing:
            fresh = {key: DocumentNames(row) for key, row in name_words_by_key(connection, missing).items()}
            if len(names) + len(fresh) > MAX_CACHED_NAMES:
                names = self._names = {key: names[key] for key in keys if key in names}
            names.update(fresh)
        forms: dict[str, list[int]] = {}
        for number, term in enumerate(terms):
            for form in term.forms:
                forms.setdefault(form, []).append(number)
        return {key: names[key].coverage(terms, forms) for key in keys if key in names}
