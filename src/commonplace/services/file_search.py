"""Sections for a question, and pages by name, found in the files: for the time in which the first index is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from commonplace.domain.addresses import Address, fold
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.foreground import TimeBudget
from commonplace.domain.languages import language_of, without_stop_words
from commonplace.domain.markdown.paths import ends_path, without_suffix
from commonplace.domain.query import Record
from commonplace.domain.ranking import query_words, rarity
from commonplace.domain.records import build_record
from commonplace.domain.revisions import revision_of
from commonplace.domain.words.amounts import amount
from commonplace.domain.words.scripts import fold_text
from commonplace.services.collections import Collection
from commonplace.services.evidence import EvidenceSection, by_paragraphs
from commonplace.services.statuses import CollectionStatuses

SEARCH_SECONDS = 0.14
"""Seconds in which the files of one collection are listed and read, as of `TimeBudget`."""
READ_SECONDS = 0.03
"""Seconds in which files are read if listing them took longer."""
NAME_SECONDS = 0.4
"""Seconds in which the beginnings of files are read for a title, as of `TimeBudget`."""
HEAD_BYTES = 4_096
"""Number of bytes at the beginning of a file in which its title is looked for."""
MAX_FILE_BYTES = 500_000
"""Maximum number of bytes of a file that are searched."""
MAX_PAGES = 6
"""Maximum number of pages that are parsed."""
MAX_SECTIONS = 3
"""Maximum number of sections of a page."""
MIN_WORDS = 0.4
"""The least share of the words that a section has."""
MIN_SHARE = 0.5
"""The least worth of a section relative to the best one."""


@dataclass(frozen=True, slots=True)
class FileSections:
    """The sections that were found, and how many of the files were read."""

    sections: list[EvidenceSection]
    """Sections, best first."""
    read: int
    total: int


def sections_in_files(collection: Collection, question: str) -> FileSections:
    """The sections with the rarest words of a question, in as many files as can be read in `SEARCH_SECONDS`."""
    whole = TimeBudget(SEARCH_SECONDS)
    words = _telling_words(question)
    files = [address for address, _ in collection.store.scan(names_only=True)]
    files.sort(key=lambda address: (-_count_in(address.path.casefold(), words), address.path))  # by names first
    holders = _words_by_file(collection, files, words, (whole, TimeBudget(READ_SECONDS)))
    counts = Counter(word for there in holders.values() for word in there)
    worths = {word: rarity(counts[word], len(holders)) for word in sorted(words)}
    best = sorted(holders, key=lambda address: (-sum(worths[word] for word in holders[address]), address.path))
    sections = [section for address in best[:MAX_PAGES] for section in _sections(collection, address, worths)]
    return FileSections(by_paragraphs(_best(sections), question), len(holders), len(files))


def pages_named(collection: Collection, names: Sequence[str]) -> tuple[list[tuple[Record, str]], str]:
    """The pages whose file has one of these names, else those with such an id, title or alias, each with its name.

    Returns these, and how many files were looked at for a title. A title with markup is not found.
    """
    files = sorted((address for address, _ in collection.store.scan(names_only=True)), key=lambda item: item.path)
    for name in names:
        bare = fold(without_suffix(name))
        named = [address for address in files if ends_path(bare, address, fold)]
        if named:
            return [(_record_in_file(collection, address), name) for address in named], ""
    keys = {fold(name): name for name in reversed(names)}
    budget, looked = TimeBudget(NAME_SECONDS), 0
    pages: list[tuple[Record, str]] = []
    with collection.store.reading() as read:
        for address in files:
            with suppress(KnowledgeError):
                pages += _titled(collection, address, read(address)[:HEAD_BYTES], keys)
            looked += 1
            if budget.is_over():
                break
    return pages, f"{looked:,} of {amount(len(files), 'file')} were looked at for a title"


def _titled(collection: Collection, address: Address, head: bytes, keys: Mapping[str, str]) -> list[tuple[Record, str]]:
    """The page with the name by which it has one of the folded names; none if its beginning has none of them."""
    text = fold(head.decode("utf-8", "replace"))
    if not any(key in text for key in keys):
        return []
    record = _record_in_file(collection, address)
    own = map(fold, (record.id, record.title, *record.aliases))
    return [(record, keys[key]) for key in own if key in keys][:1]


def _record_in_file(collection: Collection, address: Address) -> Record:
    """The record of a page by its file."""
    raw = collection.store.read(address)
    return build_record(read_document(address, raw), revision_of(raw))


def _best(sections: Sequence[EvidenceSection]) -> list[EvidenceSection]:
    least = MIN_SHARE * max((section.score for section in sections), default=0.0)
    return [section for section in sections if section.score >= least]


def _words_by_file(
    collection: Collection, files: Sequence[Address], words: frozenset[str], budgets: Sequence[TimeBudget]
) -> dict[Address, frozenset[str]]:
    """The words that each file has, for the first files: as many as can be read until all budgets are used."""
    holders: dict[Address, frozenset[str]] = {}
    with collection.store.reading() as read:
        for address in files:
            if all(budget.is_over() for budget in budgets):
                break
            text = ""
            with suppress(KnowledgeError):  # it was deleted meanwhile, or cannot be read
                text = read(address)[:MAX_FILE_BYTES].decode("utf-8", "replace")
            text = f"{address.path}\n{text}".casefold()
            holders[address] = frozenset(word for word in words if word in text)
    return holders


def _telling_words(question: str) -> frozenset[str]:
    """The words of a question that are not stop words."""
    words = sorted(query_words(question))
    language = language_of([fold_text(word) for word in words], lambda _: 0.0)
    return frozenset(without_stop_words(words, language) or words)


def _count_in(text: str, words: frozenset[str]) -> int:
    return len([word for word in words if word in text])


def _sections(collection: Collection, address: Address, worths: Mapping[str, float]) -> list[EvidenceSection]:
    """The sections of a page that have most of the words, best first."""
    try:
        document = read_document(address, collection.store.read(address))
    except KnowledgeError:
        return []
    record = Record(address=address, id=address.id, title=document.title, type="")
    scored = [(_worth(document, section, worths), section) for section in document.sections]
    scored = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].start))
    sections: list[EvidenceSection] = []
    for worth, section in scored[:MAX_SECTIONS]:
        text = document.source[section.content : section.end].decode("utf-8", "replace").strip()
        status = CollectionStatuses(collection).in_version(document, section.ordinal)
        anchors = (section.anchor,)
        made = EvidenceSection(collection, record, section.path, section.anchor, text, anchors, worth, status=status)
        sections += [made] if text else []
    return sections


def _worth(document: Document, section: Section, worths: Mapping[str, float]) -> float:
    """The worth of the words in a section, its headings and the title of its page; 0 if too few of them are there."""
    text = document.source[section.start : section.end].decode("utf-8", "replace")
    text = "\n".join((document.title, *section.path, text)).casefold()
    there = [worth for word, worth in worths.items() if word in text]
    return sum(there) if len(there) >= MIN_WORDS * len(worths) else 0.0
