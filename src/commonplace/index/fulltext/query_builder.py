"""Builds Tantivy queries from expanded queries: weights, fields and filters."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import tantivy
from tantivy import Occur, Query

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter
from commonplace.domain.query_parser import Expression, Leaf, PhraseTerms
from commonplace.domain.ranking import TIE
from commonplace.domain.records import LAST_DAY, day_number, wanted_terms
from commonplace.domain.words.grams import is_whole
from commonplace.index.catalogue.document_rows import document_key
from commonplace.index.catalogue.listing import matching_keys
from commonplace.index.fulltext import tantivy_index as ft
from commonplace.index.fulltext.document_text import DAY_FIELD, FOLDER_TERM_PREFIX
from commonplace.index.fulltext.term_dictionary import STEM_WEIGHT, ExpandedQuery, ExpandedTerm, TermForms


@dataclass(frozen=True, slots=True)
class FieldWeight:
    """Search parameters of a field of the full text."""

    weight: float
    """Weight of a word in the field."""
    min_form_weight: float = 0.0
    """Minimum weight of the forms to search; distant forms cost time and match little in short texts."""

    def forms(self, word: ExpandedTerm) -> Iterator[tuple[str, float]]:
        """The forms to search, with the factors of their scores."""
        factor = FOLDED_WEIGHT if word.accented else 1.0
        return ((form, factor * weight) for form, weight in word.forms.items() if weight >= self.min_form_weight)


EXACT_OR_STEM = FieldWeight(1.0, STEM_WEIGHT)
"""Parameters for sections, which are searched only in matching documents."""
FIELD_WEIGHTS: Mapping[str, FieldWeight] = {ft.BODY: FieldWeight(1.0), ft.TITLE: FieldWeight(0.4, STEM_WEIGHT)}
"""Parameters for the fields of whole documents. The body also contains the title."""
MAX_LISTED_TERMS = 128
"""Maximum number of terms in a boolean query. For more terms, a term set query is faster, although slower to build."""
FOLDED_WEIGHT = 0.5
"""Weight of the form without accents of a word that was typed with accents."""
COMPOUND_WEIGHT = 1.5
"""Additional weight of the adjacent parts of a compound such as `std::vector` or `utf8`, and of an optional phrase."""
MIXED_WEIGHT = 3.0
"""Additional weight of a word of several scripts (`第3章`); its single characters distinguish little."""


class QueryBuilder:
    """Builds the queries of one search.

    Args:
        expanded: The expanded query.
        documents: Schema of documents.
        sections: Schema of sections.
    """

    def __init__(self, expanded: ExpandedQuery, documents: tantivy.Schema, sections: tantivy.Schema) -> None:
        self._expanded = expanded
        self._documents = documents
        self._sections = sections

    def documents(self, scope: SearchScope, hidden: Sequence[int]) -> Query:
        """The query for documents.

        Args:
            scope: The filter.
            hidden: Documents that are superseded by recent ones.
        """
        schema = self._documents
        clauses: list[tuple[Occur, Query]] = []
        if self._expanded.words or self._expanded.grams:
            occur = Occur.Should if self._expanded.phrases else Occur.Must
            clauses.append((occur, Query.boolean_query(list(self._parts(schema, FIELD_WEIGHTS)))))
        clauses += ((Occur.Must, _phrase(schema, phrase)) for phrase in self._expanded.phrases)
        if not self._expanded.has_terms:
            clauses.append((Occur.Must, _silent(Query.all_query())))
        clauses += ((Occur.MustNot, _phrase(schema, phrase)) for phrase in self._expanded.excluded)
        if self._expanded.expression is not None:
            clauses.append((Occur.Must, _silent(_matching(schema, self._expanded.expression))))
        clauses += ((Occur.Must, _silent(query)) for query in _within(schema, scope))
        for left_out in (hidden, sorted(scope.without)):
            if left_out:
                clauses.append((Occur.MustNot, _any_of(schema, ft.KEY, left_out)))
        return Query.boolean_query(clauses)

    def sections(self, keys: Sequence[int]) -> Query:
        """The query for sections of these documents that contain any word of the query, or all words of a phrase."""
        schema = self._sections
        parts = list(self._parts(schema, {ft.BODY: EXACT_OR_STEM}))
        together = (*self._expanded.phrases, *map(PhraseTerms, self._expanded.parted))
        parts += ((Occur.Should, _all_of(schema, phrase)) for phrase in together)
        within = _silent(_any_of(schema, ft.KEY, keys))
        return Query.boolean_query([(Occur.Must, within), (Occur.Must, Query.boolean_query(parts))])

    def _parts(self, schema: tantivy.Schema, fields: Mapping[str, FieldWeight]) -> Iterable[tuple[Occur, Query]]:
        for word in self._expanded.words:
            for name, field in fields.items():
                forms = [_weighted(_term(schema, name, form), share) for form, share in field.forms(word)]
                if word.accented and name == ft.BODY:
                    forms.append(_term(schema, ft.ACCENTED, word.accented))
                yield Occur.Should, _weighted(_best(forms), field.weight * word.count)
        for gram, count in self._expanded.grams.items():
            yield Occur.Should, _weighted(_term(schema, ft.GRAMS, gram), count)
        if schema is self._documents:
            for compound in (*self._expanded.compounds, *self._expanded.parted):
                yield Occur.Should, _weighted(Query.phrase_query(schema, ft.BODY, list(compound)), COMPOUND_WEIGHT)
            for phrase in self._expanded.optional_phrases:
                yield Occur.Should, _weighted(_phrase(schema, phrase), optional_weight(phrase))


def optional_weight(phrase: PhraseTerms) -> float:
    """The weight of an optional phrase."""
    return MIXED_WEIGHT if phrase.words and phrase.grams else COMPOUND_WEIGHT


def _matching(schema: tantivy.Schema, expression: Expression[TermForms]) -> Query:
    """The query for the documents that match an expression."""
    if isinstance(expression, Leaf):
        forms = expression.term.forms
        return _any_of(schema, ft.BODY, forms) if forms else _phrase(schema, expression.term.phrase)
    first, *others = (_matching(schema, part) for part in expression.parts)
    occur = {"all": Occur.Must, "any": Occur.Should, "but": Occur.MustNot}[expression.kind]
    head = Occur.Should if expression.kind == "any" else Occur.Must
    return Query.boolean_query([(head, first), *((occur, other) for other in others)])


def _phrase(schema: tantivy.Schema, phrase: PhraseTerms) -> Query:
    """A query for the adjacent words and grams of a phrase. A last gram that is a prefix has no score."""
    if not phrase.mixed:
        return _run(schema, ft.BODY, phrase.words)
    if phrase.beginning == phrase.mixed:
        return _run(schema, ft.GRAMS, phrase.mixed)
    if not phrase.beginning:
        return _gram(schema, phrase.mixed[0])
    patterns = [*map(re.escape, phrase.beginning), f"{phrase.mixed[-1]}.*"]
    exact = _silent(Query.regex_phrase_query(schema, ft.GRAMS, list(patterns)))
    return Query.boolean_query([(Occur.Must, _run(schema, ft.GRAMS, phrase.beginning)), (Occur.Must, exact)])


def _run(schema: tantivy.Schema, field: str, words: Sequence[str]) -> Query:
    return _term(schema, field, words[0]) if len(words) == 1 else Query.phrase_query(schema, field, list(words))


def _all_of(schema: tantivy.Schema, phrase: PhraseTerms) -> Query:
    parts = [_term(schema, ft.BODY, word) for word in phrase.words]
    parts += [_gram(schema, gram) for gram in phrase.grams]
    return Query.boolean_query([(Occur.Must, part) for part in parts])


def _within(schema: tantivy.Schema, scope: SearchScope) -> list[Query]:
    queries = [_any_of(schema, ft.TERMS, sorted(group)) for group in scope.groups]
    queries += (
        Query.range_query(schema, name, tantivy.FieldType.Integer, least, most) for name, least, most in scope.ranges
    )
    if scope.keys is not None:
        queries.append(_any_of(schema, ft.KEY, sorted(scope.keys)))
    return queries


def _any_of(schema: tantivy.Schema, field: str, terms: Sequence[str] | Sequence[int]) -> Query:
    """A query for texts with at least one of these terms."""
    if not 0 < len(terms) <= MAX_LISTED_TERMS:
        return Query.term_set_query(schema, field, terms)
    return Query.boolean_query([(Occur.Should, Query.term_query(schema, field, term)) for term in terms])


def _term(schema: tantivy.Schema, field: str, text: str) -> Query:
    return Query.term_query(schema, field, text)


def _gram(schema: tantivy.Schema, gram: str) -> Query:
    """A query for a gram, or for every gram with this prefix."""
    return _term(schema, ft.GRAMS, gram) if is_whole(gram) else Query.regex_query(schema, ft.GRAMS, f"{gram}.*")


def _weighted(query: Query, weight: float) -> Query:
    return query if weight == 1.0 else Query.boost_query(query, weight)


def _best(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries, tie_breaker=TIE)


def _silent(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)


# A filter in the form that the full text applies.


@dataclass(frozen=True, slots=True)
class SearchScope:
    """A selection of documents; every given part must match."""

    groups: tuple[frozenset[str], ...] = ()
    """Groups of terms; a document must have at least one term of each."""
    ranges: tuple[tuple[str, int | None, int | None], ...] = ()
    """Ranges of a document's numbers: name, minimum and maximum (None: unlimited)."""
    keys: frozenset[int] | None = None
    """Documents that match those parts of a filter that only the catalogue can evaluate; None without such parts."""
    without: frozenset[int] = frozenset()
    """Documents to exclude."""

    def holds(self, key: int, terms: frozenset[str], numbers: Mapping[str, int]) -> bool:
        """Whether a document matches."""
        return (
            all(not group.isdisjoint(terms) for group in self.groups)
            and all(_is_within(numbers.get(name), least, most) for name, least, most in self.ranges)
            and (self.keys is None or key in self.keys)
            and key not in self.without
        )


def _keys(addresses: Iterable[Address]) -> frozenset[int]:
    return frozenset(document_key(address.path) for address in addresses)


def _ranges(filter_: Filter) -> tuple[tuple[str, int | None, int | None], ...]:
    """The ranges of numbers that a filter states, with that of its own day."""
    if not (filter_.date_from or filter_.date_to):
        return filter_.dates
    first, last = day_number(filter_.date_from) or 1, day_number(filter_.date_to) or LAST_DAY
    return (*filter_.dates, (DAY_FIELD, first, last))


def scope_of(connection: sqlite3.Connection, filter_: Filter) -> SearchScope:
    """The scope of a filter.

    Two parts are evaluated by the catalogue: created and updated days, which change with commits, and a path prefix
    that ends inside a name, which is not a term.
    """
    groups = wanted_terms(filter_)
    folder = filter_.prefix.endswith("/") and not (filter_.prefix.startswith("/") or filter_.prefix_any_case)
    if folder:
        groups = (*groups, frozenset(FOLDER_TERM_PREFIX + prefix for prefix in filter_.prefixes))
    rest = Filter(
        prefix="" if folder else filter_.prefix,
        prefix_any_case=filter_.prefix_any_case,
        created_from=filter_.created_from,
        created_to=filter_.created_to,
        updated_from=filter_.updated_from,
        updated_to=filter_.updated_to,
    )
    keys = None if rest == Filter() else frozenset(matching_keys(connection, rest))
    if filter_.among is not None:
        among = _keys(filter_.among)
        keys = among if keys is None else among & keys
    return SearchScope(
        groups=groups,
        ranges=_ranges(filter_),
        keys=keys,
        without=_keys(filter_.without),
    )


def _is_within(number: int | None, least: int | None, most: int | None) -> bool:
    if number is None:
        return False
    return (least is None or number >= least) and (most is None or number <= most)
