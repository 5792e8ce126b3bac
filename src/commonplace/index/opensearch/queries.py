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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonplace.domain.cluster import BranchPosition
from commonplace.domain.query import Filter, Record, SortKey
from commonplace.domain.query_parser import Analyze, Expression, Leaf, ParsedQuery, PhraseTerms
from commonplace.domain.ranking import TIE
from commonplace.domain.records import LAST_DAY, day_number, wanted_terms
from commonplace.domain.words.grams import is_whole
from commonplace.index.fulltext import tantivy_index as ft
from commonplace.index.fulltext.document_text import DAY_FIELD, FOLDER_TERM_PREFIX, RecentDocuments
from commonplace.index.fulltext.query_builder import (
    COMPOUND_WEIGHT,
    EXACT_OR_STEM,
    FIELD_WEIGHTS,
    FieldWeight,
    optional_weight,
)
from commonplace.index.fulltext.ranking import SECTIONS_EACH, SECTIONS_SEEN, NameCoverage
from commonplace.index.fulltext.term_dictionary import ExpandedQuery, ExpandedTerm, NameTerm, TermDictionary, TermForms
from commonplace.index.opensearch.connection import Answer, Search, Statistics, Steps
from commonplace.index.opensearch.indexes import MAX_TOKEN_CHARS, MAX_WINDOW, page_key, shown_record, token

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
            cache = self._known
            self._known = cache.present(cache.since if cache.may_change else time.monotonic())
            # Terms that are cached from now on are of this position, or of a later one that will be recorded.
            self._known.may_change = bool(self._known.frequencies)
            self._position = position

    def expand(self, question: ParsedQuery) -> Steps[ExpandedQuery]:
        """Every word of a query with its forms."""
        cache = self._current()
        if query := cache.expansions.get(question):
            return query
        for _ in range(MAX_ROUNDS):
            terms = _KnownTerms(cache)
            expanded = TermDictionary(terms, _NONE_RECENT, self._analyze).expand(question)
            if not terms.lacking:
                if len(cache.expansions) < MAX_EXPANSIONS:
                    cache.expansions[question] = expanded
                return expanded
            yield from self._learn(cache, terms)
        return TermDictionary(_KnownTerms(cache), _NONE_RECENT, self._analyze).expand(question)

    def _current(self) -> _Known:
        with self._lock:
            if self._known.is_over:
                self._known = _Known(may_change=self._position is None)
            return self._known

    def _learn(self, cache: _Known, terms: _KnownTerms) -> Steps[None]:
        lacking_frequencies = set(terms.lacking_frequencies)
        if terms.lacking_prefixes:
            listed = yield from self._listed(terms.lacking_prefixes)
            cache.prefixes |= listed
            lacking_frequencies |= {
                (name, word)
                for (name, prefix), words in listed.items()
                if (name, prefix) in terms.counted_prefixes
                for word in words
            }
        lacking_frequencies -= cache.frequencies.keys()
        if lacking_frequencies or not cache.documents:
            yield from self._count(cache, lacking_frequencies)

    def _listed(self, prefixes: Iterable[tuple[str, str]]) -> Steps[dict[tuple[str, str], list[str]]]:
        words_by_prefix: dict[tuple[str, str], list[str]] = {prefix: [] for prefix in prefixes}
        requested_values = {str(at): pair for at, pair in enumerate(words_by_prefix) if len(pair[1]) <= MAX_TOKEN_CHARS}
        if not requested_values:
            return words_by_prefix
        terms: dict[str, Any] = {"min_doc_count": 0, "size": MAX_LISTED, "order": {"_key": "asc"}}
        aggregations: dict[str, Any] = {
            at: {"terms": {"field": f"{name}_terms", "include": _beginning_with(prefix), **terms}}
            for at, (name, prefix) in requested_values.items()
        }
        body: dict[str, Any] = {"size": 0, "query": {"match_none": {}}, "aggs": aggregations}
        (answer,) = yield [Search(self._index, body)]
        for at, requested_value in requested_values.items():
            words_by_prefix[requested_value] = [bucket["key"] for bucket in answer["aggregations"][at]["buckets"]]
        return words_by_prefix

    def _count(self, cache: _Known, lacking_frequencies: set[tuple[str, str]]) -> Steps[None]:
        fields = {ft.BODY: [""], ft.GRAMS: [""], ft.ACCENTED: [""]}
        for name, word in lacking_frequencies:
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
        term_vectors: dict[str, Any] = answer.get("term_vectors", {})
        for name, word in lacking_frequencies:
            terms = term_vectors.get(name, {}).get("terms", {})
            cache.frequencies[name, word] = terms.get(token(word), {}).get("doc_freq", 0)
        cache.documents = max(term_vectors.get(ft.BODY, {}).get("field_statistics", {}).get("doc_count", 0), 1)


class _KnownTerms:
    """`TermSource` on the cached terms; records the requested terms that are missing.

    A missing word counts as existing until its frequency is fetched, because corrections of unknown words cost more.
    """

    def __init__(self, cache: _Known) -> None:
        self._known = cache
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
        frequency = self._known.frequencies.get((field_name, field_value))
        if frequency is None:
            self.lacking_frequencies.add((field_name, field_value))
            return 1
        return frequency

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
        return sorted((element for element in counted if element[1]), key=lambda element: -element[1])[:limit]


def _beginning_with(prefix: str) -> str:
    """A regular expression of the engine for the terms with a prefix.

    `prefix.*` is not used: version 2.19 fails on it (500) if the prefix sorts after every term of a shard.
    """
    literal = _SPECIAL.sub(lambda match: f"\\{match[0]}", prefix)
    return f"{literal}.{{0,}}"


# Builds queries in the language of the engine, with the weights of `index.fulltext.query_builder`.


MAX_CLAUSES = 900
"""Maximum number of terms in a query; the engine rejects more than 1,024. Longer queries use fewer forms per word."""
MAX_TERMS = 60_000
"""Maximum number of terms in a list; the engine rejects more than 65,536."""
SECTION_PREFIX = "section_"

Query = dict[str, Any]

_SORT_FIELDS: Mapping[SortKey, str] = {
    "path": "path",
    "score": "path",
    "title": "sort_title",
    "type": "sort_type",
    "date": "sort_date",
    "created": "sort_created",
    "updated": "sort_updated",
    "updated_day": "updated_day",
}


def page_query(expanded: ExpandedQuery, filter_: Filter) -> Query:
    """The query for pages."""
    query: Query = {"filter": [{"exists": {"field": "path"}}, *filter_clauses(filter_)], "must": [], "should": []}
    parts = list(_parts(expanded, FIELD_WEIGHTS, ""))
    parts += [
        _weighted(_run(ft.BODY, compound), COMPOUND_WEIGHT) for compound in (*expanded.compounds, *expanded.parted)
    ]
    parts += [_weighted(_phrase(phrase), optional_weight(phrase)) for phrase in expanded.optional_phrases]
    if parts:
        query["should" if expanded.phrases else "must"].append(_any_of(parts))
    query["must"] += [_phrase(phrase) for phrase in expanded.phrases]
    query["must_not"] = [*map(_phrase, expanded.excluded), *_among(filter_.without)]
    if expanded.expression is not None:
        query["filter"].append(_matching(expanded.expression))
    return {"bool": query}


def section_query(expanded: ExpandedQuery, keys: Sequence[str]) -> Query:
    """The query for sections of these pages that contain any word of the query, or all words of a phrase."""
    parts = list(_parts(expanded, {ft.BODY: EXACT_OR_STEM}, SECTION_PREFIX))
    parts += map(_all_of, (*expanded.phrases, *map(PhraseTerms, expanded.parted)))
    return {"bool": {"filter": [{"terms": {"page": list(keys)}}], "must": [_any_of(parts)]}}


def names_query(expanded: ExpandedQuery, keys: Sequence[str], *, of_sections: bool) -> Query:
    """The query for pages, or sections of pages, whose names contain a word of the query; its score is the coverage."""
    field = f"{SECTION_PREFIX if of_sections else ''}names"
    covered = [
        {"constant_score": {"filter": {"terms": {field: list(map(token, term.forms))}}, "boost": term.share}}
        for term in expanded.names
    ]
    return {"bool": {"filter": [{"terms": {"page": list(keys)}}], "must": [_any_of(covered)]}}


def chosen_query(keys: Sequence[str], queries: Sequence[Query]) -> Query:
    """The query for those of these pages that match the queries."""
    chosen: Query = {"terms": {"page": list(keys)}} if keys else {"match_none": {}}
    return {"bool": {"filter": [{"exists": {"field": "path"}}, chosen, *queries]}}


def filter_clauses(filter_: Filter) -> Iterator[Query]:
    """The conditions of a filter for a page."""
    groups = wanted_terms(filter_)
    folder = filter_.prefix.endswith("/") and not (filter_.prefix.startswith("/") or filter_.prefix_any_case)
    if folder:
        groups = (*groups, frozenset(FOLDER_TERM_PREFIX + prefix for prefix in filter_.prefixes))
    elif filter_.prefix:
        yield {"prefix": {"path": {"value": filter_.prefix, "case_insensitive": filter_.prefix_any_case}}}
    for group in groups:
        yield {"terms": {"filter_terms": sorted(group)}}
    for name, least, most in filter_.dates:
        yield _range(name, least, most)
    for name, first, last in (
        (DAY_FIELD, filter_.date_from, filter_.date_to),
        ("created_day", filter_.created_from, filter_.created_to),
        ("updated_day", filter_.updated_from, filter_.updated_to),
    ):
        if first or last:
            yield _range(name, day_number(first) or 1, day_number(last) or LAST_DAY)
    if filter_.among is not None:
        yield _any_of(list(_among(filter_.among)) or [{"match_none": {}}])


def left_out(filter_: Filter) -> list[Query]:
    """The condition that excludes the pages in `Filter.without`; empty if there are none."""
    return [{"bool": {"must_not": list(_among(filter_.without))}}] if filter_.without else []


def order(sort: SortKey, *, descending: bool) -> list[dict[str, str]]:
    """The order of pages, ties by path."""
    return [{_SORT_FIELDS[sort]: "desc" if descending else "asc"}, {"path": "asc"}]


def by_score(*, descending: bool) -> list[dict[str, str]]:
    """The order of pages by score, ties by path."""
    return [{"_score": "desc" if descending else "asc"}, {"path": "asc" if descending else "desc"}]


def _parts(expanded: ExpandedQuery, fields: Mapping[str, FieldWeight], before: str) -> Iterator[Query]:
    limit = _form_limit(expanded, len(fields))
    for word in expanded.words:
        for name, searched in fields.items():
            forms = [
                _term(f"{before}{form_of}", form, weight) for form_of, form, weight in _forms(word, name, searched)
            ]
            yield _weighted(_best(forms[:limit]), searched.weight * word.count)
    for gram, count in expanded.grams.items():
        yield _term(f"{before}{ft.GRAMS}", gram, count)


def _forms(word: ExpandedTerm, name: str, field: FieldWeight) -> Iterator[tuple[str, str, float]]:
    """Field, form and weight of each form to search, highest weight first."""
    if word.accented and name == ft.BODY:
        yield ft.ACCENTED, word.accented, 1.0
    for form, weight in sorted(field.forms(word), key=lambda other_form: -other_form[1]):
        yield name, form, weight


def _form_limit(expanded: ExpandedQuery, fields: int) -> int:
    """Maximum number of forms of each word, so that the query has at most `MAX_CLAUSES` terms."""
    fixed = len(expanded.grams) + 4 * (len(expanded.compounds) + len(expanded.parted)) + len(expanded.optional_phrases)
    return max(1, (MAX_CLAUSES - fixed) // max(len(expanded.words) * fields, 1))


def _matching(expression: Expression[TermForms]) -> Query:
    """The query for the pages that match an expression."""
    if isinstance(expression, Leaf):
        forms = expression.term.forms
        return {"terms": {ft.BODY: list(map(token, forms))}} if forms else _phrase(expression.term.phrase)
    first, *others = (_matching(part) for part in expression.parts)
    if expression.kind == "any":
        return _any_of([first, *others])
    kind = "must" if expression.kind == "all" else "must_not"
    return {"bool": {"must": [first, *others]}} if kind == "must" else {"bool": {"must": [first], "must_not": others}}


def _phrase(phrase: PhraseTerms) -> Query:
    """A query for the adjacent words and grams of a phrase. A last gram that is a prefix has no score."""
    if not phrase.mixed:
        return _run(ft.BODY, phrase.words) if phrase.words else {"match_none": {}}
    if phrase.beginning == phrase.mixed:
        return _run(ft.GRAMS, phrase.mixed)
    if not phrase.beginning:
        return _gram(ft.GRAMS, phrase.mixed[0])
    whole = {"query": " ".join(map(token, phrase.mixed)), "max_expansions": MAX_TERMS}
    exact: Query = {"match_phrase_prefix": {ft.GRAMS: whole}}
    return {"bool": {"must": [_run(ft.GRAMS, phrase.beginning)], "filter": [exact]}}


def _all_of(phrase: PhraseTerms) -> Query:
    parts = [_term(f"{SECTION_PREFIX}{ft.BODY}", word) for word in phrase.words]
    parts += [_gram(f"{SECTION_PREFIX}{ft.GRAMS}", gram) for gram in phrase.grams]
    return {"bool": {"must": parts}} if parts else {"match_none": {}}


def _run(field: str, words: Sequence[str]) -> Query:
    if len(words) == 1:
        return _term(field, words[0])
    # The engine splits the text at blanks; tokens contain no blanks.
    return {"match_phrase": {field: {"query": " ".join(map(token, words))}}}


def _term(field: str, text: str, weight: float = 1.0) -> Query:
    value = token(text)
    return {"term": {field: {"value": value, "boost": weight} if weight != 1.0 else {"value": value}}}


def _gram(field: str, gram: str) -> Query:
    """A query for a gram, or for every gram with this prefix."""
    return _term(field, gram) if is_whole(gram) else {"prefix": {field: {"value": token(gram)}}}


def _best(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else {"dis_max": {"queries": queries, "tie_breaker": TIE}}


def _any_of(queries: list[Query]) -> Query:
    return {"bool": {"should": queries, "minimum_should_match": 1}}


def _weighted(query: Query, weight: float) -> Query:
    return query if weight == 1.0 else {"bool": {"must": [query], "boost": weight}}


def _range(name: str, least: int | None, most: int | None) -> Query:
    bounds = {key: value for key, value in (("gte", least), ("lte", most)) if value is not None}
    return {"range": {name: bounds}} if bounds else {"exists": {"field": name}}


def _among(addresses: Iterable[Any]) -> Iterator[Query]:
    """Queries for these pages, split into lists of at most `MAX_TERMS`."""
    keys = [page_key(address.path) for address in addresses]
    for start in range(0, len(keys), MAX_TERMS):
        yield {"terms": {"page": keys[start : start + MAX_TERMS]}}


# The two searches of a query by words, for pages and for sections, and the parsing of their answers.


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """A page of the results."""

    key: str
    score: float
    record: Record
    first: int
    """Ordinal of the first section."""
    titled: bool = False
    """Whether the query equals the page's title or one of its aliases."""


@dataclass(frozen=True, slots=True)
class ClusterPages:
    """Pages in order."""

    pages: Sequence[ClusterPage]
    total: int


def page_search(index: str, query: Mapping[str, Any], sort: list[dict[str, str]], offset: int, limit: int) -> Search:
    """The search for pages, with the shown part of each. Without a sort, the best pages come first."""
    body: dict[str, Any] = {
        "query": query,
        "from": min(offset, MAX_WINDOW),
        "size": max(min(limit, MAX_WINDOW - offset), 0),
        "track_total_hits": True,
        "_source": ["page", "shown", "first"],
    }
    return Search(index, {**body, "sort": sort, "track_scores": True} if sort else body)


def found_pages(answer: Answer) -> ClusterPages:
    """The pages of an answer."""
    pages = [
        ClusterPage(
            hit["_source"]["page"],
            float(hit["_score"] or 0.0),
            shown_record(hit["_source"]["shown"]),
            hit["_source"]["first"],
        )
        for hit in answer["hits"]["hits"]
    ]
    return ClusterPages(pages, int(answer["hits"]["total"]["value"]))


def section_search(index: str, expanded: ExpandedQuery, keys: Sequence[str], count: int) -> Search:
    """The search for the best sections of pages.

    Args:
        index: The index.
        expanded: The query.
        keys: The pages.
        count: Number of sections of each page.
    """
    body: dict[str, Any] = {
        "query": section_query(expanded, keys) if keys else {"match_none": {}},
        "size": max(SECTIONS_SEEN, 8 * count * len(keys)),
        "sort": [{"_score": "desc"}, {"ordinal": "asc"}],
        "track_scores": True,
        "track_total_hits": False,
        "_source": False,
        "docvalue_fields": ["page", "ordinal"],
    }
    return Search(index, body)


def name_searches(index: str, expanded: ExpandedQuery, keys: Sequence[str]) -> list[Search]:
    """The searches for the coverage of the query by the names of pages, and by names and headings of their sections."""
    fields = {"track_total_hits": False, "_source": False, "docvalue_fields": ["page", "ordinal", "heading_words"]}
    return [
        Search(index, {"query": names_query(expanded, keys, of_sections=of_sections), "size": size, **fields})
        for of_sections, size in ((False, len(keys)), (True, SECTIONS_SEEN))
    ]


def found_coverage(names: Answer, headings: Answer, terms: Sequence[NameTerm]) -> dict[str, NameCoverage]:
    """The coverage of pages by the terms of the query, from the answers to `name_searches`."""
    forms = {token(form) for term in terms for form in term.forms}
    titles = {str(hit["fields"]["page"][0]): float(hit["_score"]) for hit in names["hits"]["hits"]}
    sections: dict[str, dict[int, float]] = {}
    named: dict[str, set[int]] = {}
    for hit in headings["hits"]["hits"]:
        key, ordinal, score = str(hit["fields"]["page"][0]), int(hit["fields"]["ordinal"][0]), float(hit["_score"])
        sections.setdefault(key, {})[ordinal] = score
        words = hit["fields"].get("heading_words")
        if words and score > titles.get(key, 0.0) and forms.issuperset(words):
            named.setdefault(key, set()).add(ordinal)
    return {
        key: NameCoverage(titles.get(key, 0.0), sections.get(key, {}), (), frozenset(named.get(key, ())))
        for key in titles.keys() | sections.keys()
    }


def found_sections(answer: Answer, count: int) -> dict[str, list[tuple[int, float]]]:
    """Ordinals and scores of the best sections, by page; at least `count` of each page if so many match."""
    best: dict[str, list[tuple[int, float]]] = {}
    for hit in answer["hits"]["hits"]:
        sections = best.setdefault(str(hit["fields"]["page"][0]), [])
        if len(sections) < max(count, SECTIONS_EACH):
            sections.append((int(hit["fields"]["ordinal"][0]), float(hit["_score"])))
    return best
