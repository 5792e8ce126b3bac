"""Sentences of an answer about quotations and words that the index does not have.

The index has words. Before an answer denies that a page contains a text, the files are read: the text may be part of a
longer word, of markup or of front matter that is not searched.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from unicodedata import normalize

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.languages import content_words, language_of
from commonplace.domain.query import Filter, SearchQuery, SearchResult
from commonplace.domain.query_parser import Expression, Junction, Leaf, changed, holds, leaves, operands, quotations
from commonplace.domain.words.amounts import amount
from commonplace.domain.words.grams import WORD
from commonplace.domain.words.scripts import fold_text
from commonplace.domain.words.text_decoder import readable_text
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection

SEARCHED = "names, tags, description or text"
"""The parts of a page that a search by words looks at; the names are title, aliases and id."""
MAX_SECONDS = 1.0
"""Seconds after which no further file is read."""
MIN_PART_LETTERS = 5
"""Minimum length of a word for which longer words that contain it are named and searched, as in compounds."""
MAX_QUOTED = 60
"""Maximum number of characters of a query that a notice repeats."""
MAX_WORDS_NAMED = 5
"""Maximum number of words that a notice names."""
MAX_PAGES_NAMED = 3
"""Maximum number of pages that a notice names."""
MAX_LONGER_WORDS = 10
"""Maximum number of longer words that are searched instead of their part."""
MAX_OCCURRENCES = 20
"""Maximum number of occurrences in a document whose longer words are taken."""
MAX_CACHED_PAGES = 100_000
"""Maximum number of pages that the cached results of looking through files name."""
_WORD = re.compile(r"[^\W_]+")


Change = Callable[[SearchQuery], SearchQuery]
"""The query to ask instead of another one."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A sentence about something that the index does not have, and what to ask instead."""

    sentence: str
    with_hits: str
    """The sentence that follows if there are hits."""
    without_hits: str = ""
    instead: tuple[Change, ...] = ()
    """Changes to try one after another until there are hits; empty if the answer remains."""

    def notice(self, *, has_hits: bool) -> str:
        """Both sentences."""
        return " ".join(filter(None, (self.sentence, self.with_hits if has_hits else self.without_hits)))


def denial_of(
    collections: Sequence[Collection],
    queries: Sequence[SearchQuery],
    results: Sequence[SearchResult],
    *,
    by_meaning: bool,
) -> Denial | None:
    """The denial of an answer; None if it denies nothing.

    Args:
        collections: The collections that were searched.
        queries: The queries, which have the same text.
        results: The results of all queries in all collections.
        by_meaning: Whether documents were compared by meaning, too.
    """
    has_hits = any(result.total for result in results)
    if not has_hits and any(result.has_operators for result in results):
        return _missing_operands(collections, queries)
    if not has_hits and any(result.demanded for result in results):
        return _missing_quotation(collections, queries)
    if not any(result.known for result in results):
        return _unknown_query(collections, queries, by_meaning=by_meaning)
    unknown = [word for word in results[0].unknown if all(word in result.unknown for result in results)]
    return _unknown_words(collections, queries, unknown) if unknown and has_hits else None


def unknown_notice(collection: Collection, query: SearchQuery, *, has_hits: bool) -> str:
    """The notice for a query by meaning of which a collection has no word."""
    return _unknown_query([collection], [query], by_meaning=True).notice(has_hits=has_hits)


def _unmet(sentence: str, whose: str, instead: Sequence[Change]) -> Denial:
    some, none = f"These pages were found by {whose} words.", f"Nothing was found by {whose} words either."
    return Denial(sentence, some, none, tuple(instead))


def _missing_quotation(collections: Sequence[Collection], queries: Sequence[SearchQuery]) -> Denial:
    texts = quotations(queries[0].text)
    named, whose = ("all quoted phrases", "their") if len(texts) > 1 else ("the quoted phrase", "its")
    matches = _matches(collections, queries, texts)
    if not matches.with_all:
        return _unmet(matches.denial(named, "as words"), whose, [_by_words])
    sentence = f"No page has {named} as words in its {SEARCHED}, but {matches.where(matches.with_all)}."
    return _unmet(sentence, whose, [partial(_by_words_in, matches.with_all), _by_words])


def _missing_operands(collections: Sequence[Collection], queries: Sequence[SearchQuery]) -> Denial:
    denied = "No page matches the query with its operators"
    typed = operands(queries[0].text)
    if typed is None:
        return _unmet(f"{denied}.", "its", [_by_words])
    expression = changed(typed, lambda text: _Sought(text, as_operand=True))
    matches = _matches(collections, queries, [*leaves(typed), *leaves(typed, negative=True)], expression)

    def by_operands(query: SearchQuery) -> SearchQuery:
        return _by_words(replace(query, text=" ".join((*leaves(typed), *matches.longer_words))))

    if matches.with_all:
        where = matches.where(matches.with_all, "matching text")
        instead = [partial(_by_words_in, matches.with_all, by_words=by_operands), by_operands]
        return _unmet(f"{denied} by its words, but {where}.", "its", instead)
    if matches.read < matches.total:
        denied += f" by its words; {matches.looked}"
    return _unmet(f"{denied}.", "its", [by_operands])


def _unknown_query(collections: Sequence[Collection], queries: Sequence[SearchQuery], *, by_meaning: bool) -> Denial:
    text = queries[0].text
    how = "spelling or meaning" if by_meaning else "spelling"
    endings = (f"These are the nearest ones by {how}.", f"None is near by {how}.")
    words = _WORD.findall(text.casefold())
    telling = content_words(words, language_of(words, lambda _: 0.0))
    # Pages may have the words that tell nothing, such as "when": these are not searched, and not denied.
    named = f"a word of {_cut(' '.join(text.split() if len(telling) == len(words) else telling))!r}"
    return _missing_words(_matches(collections, queries, telling), named, *endings)


def _unknown_words(collections: Sequence[Collection], queries: Sequence[SearchQuery], unknown: Sequence[str]) -> Denial:
    typed = {fold_text(word): word for word in WORD.findall(queries[0].text)}
    matches = _matches(collections, queries, [typed.get(word, word) for word in unknown])
    words = ", ".join(repr(_cut(word)) for word in unknown[:MAX_WORDS_NAMED])
    more = " and others" if len(unknown) > MAX_WORDS_NAMED else ""
    named = f"the {'word' if len(unknown) == 1 else 'words'} {words}{more}"
    return _missing_words(matches, named, "These pages have the rest of the query, or words like it.")


def _missing_words(matches: _Matches, named: str, with_hits: str, without_hits: str = "") -> Denial:
    """The denial of words. Longer words that contain them are searched instead."""
    how = "by themselves" if named.startswith("the words") else "by itself"
    present = {text: pages for text, pages in matches.pages.items() if pages}
    telling = {text: pages for text, pages in present.items() if len(text) >= MIN_PART_LETTERS}
    if not telling:
        sentence = f"No page has {named} {how} in its {SEARCHED}." if present else matches.denial(named, how)
        return Denial(sentence, with_hits, without_hits)
    pages = list(dict.fromkeys(page for of_text in telling.values() for page in of_text))
    where = matches.where(pages, ", ".join(map(repr, telling)))
    instead = (partial(_with_words, matches.longer_words),) if matches.longer_words else ()
    return Denial(f"No page has {named} {how} in its {SEARCHED}, but {where}.", with_hits, "", instead)


def _by_words(query: SearchQuery) -> SearchQuery:
    return replace(query, demand=False)


def _by_words_in(pages: Sequence[_Page], query: SearchQuery, by_words: Change = _by_words) -> SearchQuery:
    """The query by words, in these documents alone."""
    inside = {address for _, address in pages}
    if query.filter.among is not None:
        inside &= set(query.filter.among)
    return by_words(replace(query, filter=replace(query.filter, among=tuple(inside))))


def _with_words(words: Sequence[str], query: SearchQuery) -> SearchQuery:
    return replace(query, text=" ".join((query.text, *words)))


_Page = tuple[str, Address]
"""A document: the name of its collection, and its address."""


@dataclass(frozen=True, slots=True)
class _Matches:
    """The documents whose files contain texts."""

    pages: Mapping[str, Sequence[_Page]]
    """The documents by text."""
    with_all: Sequence[_Page]
    """The documents that contain all of the texts."""
    longer_words: Sequence[str]
    """Words of which a text is a part."""
    read: int
    """Number of documents that were read; `total` is that of all searched documents."""
    total: int
    prefixed: bool
    """Whether paths are shown with the names of their collections."""

    def denial(self, named: str, how: str) -> str:
        """The sentence that denies what no file contains; it says how many files were read if not all were."""
        if self.read >= self.total:
            return f"No page contains {named} in its {SEARCHED}."
        return f"No page has {named} {how} in its {SEARCHED}; {self.looked}."

    @property
    def looked(self) -> str:
        """The number of files that were read in time, as a clause."""
        return f"{self.read:,} of {amount(self.total, 'page')} could be read in time to look for it in other places"

    def where(self, pages: Sequence[_Page], texts: str = "the text") -> str:
        """The first of these documents by path, and the number of the others."""
        shown = pages[:MAX_PAGES_NAMED]
        paths = [f"{name}:{address.path}" if self.prefixed else address.path for name, address in shown]
        more = f" and {len(pages) - len(shown):,} more" if len(pages) > len(shown) else ""
        part = "" if self.read >= self.total else f", among the {amount(self.read, 'page')} that could be read in time"
        return f"{texts} stands in {', '.join(paths)}{more}{part}"


_MATCHES: BoundedCache[_Matches] = BoundedCache(MAX_CACHED_PAGES)


def _matches(
    collections: Sequence[Collection],
    queries: Sequence[SearchQuery],
    texts: Iterable[str],
    expression: Expression[_Sought] | None = None,
) -> _Matches:
    """Search the files for texts, regardless of case, Unicode normalization and the length of blanks.

    Documents for which the expression holds count as those that contain all; without one, all texts must be there.
    The result is cached until an index changes, unless the time was too short for all files.
    """
    texts = tuple(dict.fromkeys(texts))
    states = tuple((collection.store.identity, collection.index.generation) for collection in collections)
    names = tuple(collection.name for collection in collections)
    # The expression is that of the text of the queries.
    key = (states, names, _scope(queries), texts, queries[0].text if expression else None)
    cached = _MATCHES.get(key)
    if cached is not None:
        return cached
    matches = _searched(collections, _scope(queries), texts, expression)
    if matches.read < matches.total:
        return matches
    return _MATCHES.put(key, matches, sum(map(len, matches.pages.values())) + len(matches.with_all) + 1)


def _searched(
    collections: Sequence[Collection], scope: Filter, texts: Sequence[str], expression: Expression[_Sought] | None
) -> _Matches:
    """Like `_matches`, but not cached."""
    sought = [_Sought(text) for text in texts]
    all_of_them = Junction("all", tuple(map(Leaf, sought)))
    pages: dict[str, list[_Page]] = {item.text: [] for item in sought}
    with_all: list[_Page] = []
    longer: dict[str, None] = {}
    listed = [(collection, sorted(collection.index.revisions(scope))) for collection in collections]
    read, deadline = 0, time.monotonic() + MAX_SECONDS
    for page, text in _texts(listed):
        if time.monotonic() > deadline:
            break
        read += 1
        present = [item for item in sought if item.pattern.search(text)]
        for item in present:
            pages[item.text].append(page)
            longer.update(dict.fromkeys(item.longer_words(text)))
        has_all = expression is None and len(present) == len(sought)
        if present and (has_all or _is_met(expression or all_of_them, text)):
            with_all.append(page)
    total = sum(len(addresses) for _, addresses in listed)
    return _Matches(pages, with_all, list(longer)[:MAX_LONGER_WORDS], read, total, len(collections) > 1)


def _scope(queries: Sequence[SearchQuery]) -> Filter:
    """The documents that any of the queries may find."""
    filters = [query.filter for query in queries]
    if len(filters) == 1:
        return filters[0]
    chosen = [scope.among for scope in filters if scope.among is not None]
    return (
        Filter(among=tuple({address for among in chosen for address in among}))
        if len(chosen) == len(filters)
        else Filter()
    )


def _texts(listed: Sequence[tuple[Collection, Sequence[Address]]]) -> Iterator[tuple[_Page, str]]:
    """The files of documents, folded; the text of an unreadable one is ""."""
    for collection, addresses in listed:
        with collection.store.reading() as read:
            for address in addresses:
                try:
                    raw = read(address)
                except (NotFoundError, StorageError):
                    raw = b""
                yield (collection.name, address), _folded(raw.decode("utf-8", "replace"))


def _is_met(expression: Expression[_Sought], text: str) -> bool:
    """Whether the expression holds for a text, as it is written or as it is read."""
    if holds(expression, lambda item: bool(item.pattern.search(text))):
        return True
    shown = readable_text(text).text
    return holds(expression, lambda item: bool(item.pattern.search(text) or item.pattern.search(shown)))


class _Sought:
    """A text that files are searched for.

    Args:
        text: The text, with a letter or digit.
        as_operand: Whether it is an operand, which as a short word is no part of a longer word.
    """

    def __init__(self, text: str, *, as_operand: bool = False) -> None:
        self.text = text
        words = _folded(text).split()
        border = r"\b" if as_operand and len(text) < MIN_PART_LETTERS and WORD.fullmatch(text) else ""
        self.pattern = re.compile(border + r"\s+".join(map(re.escape, words)) + border)
        """Finds the text in folded text."""
        self._is_part = len(words) == 1 and len(text) >= MIN_PART_LETTERS and bool(WORD.fullmatch(words[0]))

    def longer_words(self, text: str) -> Iterator[str]:
        """Words of a folded text of which this one is a part, unless it is too short."""
        for match in islice(self.pattern.finditer(text), MAX_OCCURRENCES if self._is_part else 0):
            start = match.start()
            while start and WORD.fullmatch(text[start - 1]):
                start -= 1
            word = WORD.match(text, start)
            if word and word[0] != match[0]:
                yield word[0]


def _folded(text: str) -> str:
    return (text if text.isascii() else normalize("NFC", text)).casefold()


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"
