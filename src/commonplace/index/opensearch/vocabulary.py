"""The terms of a base in the cluster, for the expansion of queries.

The cluster has no call that lists terms by prefix with their frequencies. Terms by prefix are read by an aggregation
that matches no document, and therefore reads only the dictionary; frequencies are read from the statistics of an
artificial document. Both are requested for all words of a query at once: the expansion runs on the cached terms and
records the missing ones, which are fetched before it runs again.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from commonplace.domain.cluster import BranchPosition
from commonplace.domain.query_parser import Analyze, ParsedQuery
from commonplace.index.fulltext import tantivy_index as ft
from commonplace.index.fulltext.document_text import RecentDocuments
from commonplace.index.fulltext.term_dictionary import ExpandedQuery, TermDictionary
from commonplace.index.opensearch.connection import Search, Statistics, Steps
from commonplace.index.opensearch.indexes import MAX_TOKEN_CHARS, token

MAX_ROUNDS = 6
"""Maximum number of rounds of requests for one query. Three are usual: words, prefixes, corrections."""
MAX_LISTED = 10_000
"""Maximum number of terms listed for one prefix, in alphabetical order; further terms are ignored by the expansion."""
CACHED_SECONDS = 30.0
"""Retention of cached terms in seconds after the index has changed. Absence of a term is not cached then."""
MAX_CACHED, MAX_EXPANSIONS = 20_000, 2_000
"""Maximum number of cached frequencies and of cached prefixes, and maximum number of cached expansions."""
_ROUTING = "statistics"
"""Routing value for frequencies, which are always read from the same shard."""
_SPECIAL = re.compile(r"[^\w]")
_NONE_RECENT = RecentDocuments({}, ())


@dataclass(slots=True)
class _Known:
    """Cached term statistics of one index."""

    documents: int = 0
    since: float = field(default_factory=time.monotonic)
    may_change: bool = True
    """Whether the index may have changed since the cache was created."""
    frequencies: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    prefixes: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    expansions: dict[ParsedQuery, ExpandedQuery] = field(default_factory=dict[ParsedQuery, ExpandedQuery])

    @property
    def is_over(self) -> bool:
        """Whether the cache is too old or too large."""
        if max(len(self.frequencies), len(self.prefixes)) > MAX_CACHED:
            return True
        return self.may_change and time.monotonic() - self.since > CACHED_SECONDS

    def present(self, since: float) -> _Known:
        """A cache for the changed index with the terms that exist, because these normally still exist."""
        return _Known(
            self.documents,
            since,
            frequencies={term: count for term, count in self.frequencies.copy().items() if count},
            prefixes={prefix: words for prefix, words in self.prefixes.copy().items() if words},
        )


class Vocabulary:
    """The terms of one index. Thread-safe.

    Args:
        index: Name of the index or alias.
        analyze: The full text's tokenizer.
    """

    def __init__(self, index: str, analyze: Analyze) -> None:
        self._index = index
        self._analyze = analyze
        self._lock = threading.Lock()
        self._known = _Known()
        self._position: BranchPosition | None = None

    def note(self, position: BranchPosition) -> None:
        """Record the branch position of the index. Cached terms are valid until the position changes."""
        with self._lock:
            if position == self._position:
                return
            known = self._known
            self._known = known.present(known.since if known.may_change else time.monotonic())
            # Terms that are cached from now on are of this position, or of a later one that will be recorded.
            self._known.may_change = bool(self._known.frequencies)
            self._position = position

    def expand(self, question: ParsedQuery) -> Steps[ExpandedQuery]:
        """Every word of a query with its forms."""
        known = self._current()
        if found := known.expansions.get(question):
            return found
        for _ in range(MAX_ROUNDS):
            terms = _KnownTerms(known)
            expanded = TermDictionary(terms, _NONE_RECENT, self._analyze).expand(question)
            if not terms.lacking:
                if len(known.expansions) < MAX_EXPANSIONS:
                    known.expansions[question] = expanded
                return expanded
            yield from self._learn(known, terms)
        return TermDictionary(_KnownTerms(known), _NONE_RECENT, self._analyze).expand(question)

    def _current(self) -> _Known:
        with self._lock:
            if self._known.is_over:
                self._known = _Known(may_change=self._position is None)
            return self._known

    def _learn(self, known: _Known, terms: _KnownTerms) -> Steps[None]:
        wanted = set(terms.lacking_frequencies)
        if terms.lacking_prefixes:
            listed = yield from self._listed(terms.lacking_prefixes)
            known.prefixes |= listed
            wanted |= {
                (name, word)
                for (name, prefix), words in listed.items()
                if (name, prefix) in terms.counted_prefixes
                for word in words
            }
        wanted -= known.frequencies.keys()
        if wanted or not known.documents:
            yield from self._count(known, wanted)

    def _listed(self, prefixes: Iterable[tuple[str, str]]) -> Steps[dict[tuple[str, str], list[str]]]:
        found: dict[tuple[str, str], list[str]] = {one: [] for one in prefixes}
        asked = {str(at): one for at, one in enumerate(found) if len(one[1]) <= MAX_TOKEN_CHARS}
        if not asked:
            return found
        terms: dict[str, Any] = {"min_doc_count": 0, "size": MAX_LISTED, "order": {"_key": "asc"}}
        aggregations: dict[str, Any] = {
            at: {"terms": {"field": f"{name}_terms", "include": _beginning_with(prefix), **terms}}
            for at, (name, prefix) in asked.items()
        }
        body: dict[str, Any] = {"size": 0, "query": {"match_none": {}}, "aggs": aggregations}
        (answer,) = yield [Search(self._index, body)]
        for at, one in asked.items():
            found[one] = [bucket["key"] for bucket in answer["aggregations"][at]["buckets"]]
        return found

    def _count(self, known: _Known, wanted: set[tuple[str, str]]) -> Steps[None]:
        fields = {ft.BODY: [""], ft.GRAMS: [""], ft.ACCENTED: [""]}
        for name, word in wanted:
            fields[name].append(token(word))
        body: dict[str, Any] = {
            "doc": {name: " ".join(words) for name, words in fields.items()},
            "fields": list(fields),
            "term_statistics": True,
            "field_statistics": True,
            "positions": False,
            "offsets": False,
            "payloads": False,
        }
        (answer,) = yield [Statistics(self._index, body, _ROUTING)]
        found: dict[str, Any] = answer.get("term_vectors", {})
        for name, word in wanted:
            terms = found.get(name, {}).get("terms", {})
            known.frequencies[name, word] = terms.get(token(word), {}).get("doc_freq", 0)
        known.documents = max(found.get(ft.BODY, {}).get("field_statistics", {}).get("doc_count", 0), 1)


class _KnownTerms:
    """`TermSource` on the cached terms; records the requested terms that are missing.

    A missing word counts as existing until its frequency is fetched, because corrections of unknown words cost more.
    """

    def __init__(self, known: _Known) -> None:
        self._known = known
        self.lacking_frequencies: set[tuple[str, str]] = set()
        self.lacking_prefixes: set[tuple[str, str]] = set()
        self.counted_prefixes: set[tuple[str, str]] = set()
        """The missing prefixes whose terms are requested with frequencies."""

    @property
    def lacking(self) -> bool:
        """Whether any requested term is missing."""
        return bool(self.lacking_frequencies or self.lacking_prefixes)

    @property
    def num_docs(self) -> int:
        """Number of pages."""
        return self._known.documents or 1

    def doc_freq(self, field_name: str, field_value: str) -> int:
        """Number of pages with a term in a field."""
        found = self._known.frequencies.get((field_name, field_value))
        if found is None:
            self.lacking_frequencies.add((field_name, field_value))
            return 1
        return found

    def terms_with_prefix(self, field_name: str, prefix: str, *, limit: int | None = None) -> list[tuple[str, int]]:
        """Terms with a prefix and their numbers of pages, most frequent first.

        Without a limit, the terms are in alphabetical order with the number 0: the expansion uses only their spelling.
        """
        words = self._known.prefixes.get((field_name, prefix))
        if words is None:
            self.lacking_prefixes.add((field_name, prefix))
            if limit is not None:
                self.counted_prefixes.add((field_name, prefix))
            return []
        if limit is None:
            return [(word, 0) for word in words]
        counted = [(word, self.doc_freq(field_name, word)) for word in words]
        return sorted((one for one in counted if one[1]), key=lambda one: -one[1])[:limit]


def _beginning_with(prefix: str) -> str:
    """A regular expression of the engine for the terms with a prefix.

    `prefix.*` is not used: version 2.19 fails on it (500) if the prefix sorts after every term of a shard.
    """
    literal = _SPECIAL.sub(lambda found: f"\\{found[0]}", prefix)
    return f"{literal}.{{0,}}"
