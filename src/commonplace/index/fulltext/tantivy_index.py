"""The full text in Tantivy: schemas, writers and searchers.

There are two indexes, because the statistics of BM25 (number and length of texts) must be those of the ranked unit. One
contains whole documents, which are matched, filtered and counted. The other contains their sections, which locate the
matches in a document.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import tantivy

from commonplace.domain.query_parser import Analyze
from commonplace.domain.records import STATED_KEYS
from commonplace.domain.words.grams import grams, tokens, without_grams
from commonplace.domain.words.scripts import accented_words
from commonplace.index.fulltext.document_text import DAY_FIELD, DocumentText
from commonplace.index.process import trim_heap, tune_allocator

KEY = "key"
ORDINAL = "ordinal"
TERMS = "terms"
TITLE = "title"
BODY = "body"
GRAMS = "grams"
"""Field of the grams. In whole documents it also contains the words between grams, in order, so that phrases match."""
ACCENTED = "accented"
"""Field of the words with accents as written; `BODY` contains folded words."""

_WORDS = "commonplace_words"
_BLANKS = "whitespace"

_PATH = re.compile(r'"[^"]*"')
"""A file name in Tantivy's errors."""
BULK_HEAP = 48_000_000
SMALL_HEAP = 15_000_000
"""Memory of a writer in bytes; Tantivy's minimum is 15 MB."""
MAX_HELD_DOCUMENTS = 64
MAX_HELD_CHARS = 1_000_000
"""Maximum number of characters that are passed to Tantivy's threads at once; `MAX_HELD` is that of documents.

Waking a thread for every section costs more than indexing the section.
"""


class FullTextError(Exception):
    """The full text is missing, damaged, or cannot be written."""


@dataclass(frozen=True, slots=True)
class Searchers:
    """Searchers of both indexes at the same commit."""

    documents: tantivy.Searcher
    sections: tantivy.Searcher
    document_lengths: dict[str, float] = field(default_factory=dict[str, float])
    """Cached average lengths of the fields of documents, in words."""
    section_lengths: dict[str, float] = field(default_factory=dict[str, float])
    """Cached average lengths of the fields of sections, in words."""


class FullText:
    """An open full text.

    Args:
        folder: Folder of the full text.
        create: Whether to create an empty full text; the folder must be missing or empty.

    Raises:
        FullTextError: the full text is missing or damaged.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.analyzer = words_analyzer()
        self._folder = folder
        with failures():
            documents = _opened(folder / "documents", _document_schema(), self.analyzer, create=create)
            sections = _opened(folder / "sections", _section_schema(), self.analyzer, create=create)
        self.document_schema = documents.schema
        self.section_schema = sections.schema
        self._lock = threading.Lock()
        self._generation = -1
        self._open: tuple[tantivy.Index, tantivy.Index, Searchers] | None = (
            documents, sections, Searchers(documents.searcher(), sections.searcher())
        )  # fmt: skip

    def searchers(self, generation: int) -> Searchers:
        """Searchers that see at least the full text's state at a generation.

        Raises:
            FullTextError: the full text is missing or damaged.
        """
        with self._lock, failures():
            documents, sections, searchers = self._opened_indexes()
            if self._generation != generation:
                documents.reload()
                sections.reload()
                searchers = Searchers(documents.searcher(), sections.searcher())
                self._open = documents, sections, searchers
                self._generation = generation
            return searchers

    def close(self) -> None:
        """Release the files, and end the threads with which Tantivy watches them; searchers in use stay usable."""
        with self._lock:
            self._open = None

    @contextmanager
    def writing(self, *, bulk: bool) -> Generator[FullTextWriter]:
        """A writer whose changes are committed at the end of the `with` block, and rolled back on an exception.

        Args:
            bulk: Whether to use more memory, for many documents.

        Raises:
            FullTextError: another writer is active, the full text is missing or damaged, or the disk is full.
        """
        tune_allocator()
        heap = BULK_HEAP if bulk else SMALL_HEAP
        with failures():
            opened_documents, opened_sections, _ = self._opened_indexes()
            for part in ("documents", "sections"):
                _remove_uncommitted(self._folder / part)
            documents = opened_documents.writer(heap, 1)
            sections = opened_sections.writer(heap, 1)
        try:
            writer = FullTextWriter(documents, sections, self.analyzer.analyze)
            yield writer
            with failures():
                writer.hand_over()
                sections.commit()
                documents.commit()
        finally:
            # Ends the writers' threads after their merges, and releases the locks.
            with failures():
                sections.wait_merging_threads()
                documents.wait_merging_threads()
            del sections, documents
            trim_heap()

    def _opened_indexes(self) -> tuple[tantivy.Index, tantivy.Index, Searchers]:
        if self._open is None:
            raise FullTextError("the full text is closed")
        return self._open


class FullTextWriter:
    """Adds and removes documents, in order and in groups. Nothing is visible before the commit."""

    def __init__(self, documents: tantivy.IndexWriter, sections: tantivy.IndexWriter, analyze: Analyze) -> None:
        self._documents = documents
        self._sections = sections
        self._analyze = analyze
        self._held: list[tuple[int, DocumentText | None]] = []
        self._chars = 0

    def remove(self, key: int) -> None:
        """Remove a document, if it exists."""
        self._hold(key, None)

    def add(self, key: int, text: DocumentText) -> None:
        """Add a document that does not exist."""
        self._hold(key, text)

    def hand_over(self) -> None:
        """Pass the buffered documents to Tantivy."""
        for key, text in self._held:
            if text is None:
                self._documents.delete_documents_by_term(KEY, key)
                self._sections.delete_documents_by_term(KEY, key)
            else:
                self._add(key, text)
        self._held.clear()
        self._chars = 0

    def _hold(self, key: int, text: DocumentText | None) -> None:
        self._held.append((key, text))
        self._chars += len(text.body) if text else 0
        if len(self._held) >= MAX_HELD_DOCUMENTS or self._chars >= MAX_HELD_CHARS:
            self.hand_over()

    def _add(self, key: int, text: DocumentText) -> None:
        document = tantivy.Document()
        document.add_integer(KEY, key)
        for term in text.terms:
            document.add_text(TERMS, term)
        for name, number in text.numbers.items():
            document.add_integer(name, number)
        document.add_text(TITLE, without_grams(text.title))
        document.add_text(BODY, without_grams(text.body))
        order = tokens(text.body, self._analyze)
        if order:
            document.add_text(GRAMS, " ".join(order))
        accented = accented_words(text.body)
        if accented:
            document.add_text(ACCENTED, " ".join(accented))
        self._documents.add_document(document)
        for ordinal, words in text.sections:
            section = tantivy.Document()
            section.add_integer(KEY, key)
            section.add_unsigned(ORDINAL, ordinal)
            pairs = grams(words) if order else ()
            section.add_text(BODY, without_grams(words) if pairs else words)
            if pairs:
                section.add_text(GRAMS, " ".join(pairs))
            marked = accented_words(words) if accented else ()
            if marked:
                section.add_text(ACCENTED, " ".join(marked))
            self._sections.add_document(section)


@contextmanager
def failures() -> Generator[None]:
    """Convert Tantivy's exceptions to `FullTextError`, including its panics, which are no subclass of `Exception`."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise FullTextError(_PATH.sub("…", str(error))) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise FullTextError("the full text's library failed") from error
        raise


def _remove_uncommitted(folder: Path) -> None:
    """Remove the lists of deleted documents that a killed writer had written and not committed.

    The next writer would give its lists the same names, and Tantivy creates no file that exists.
    """
    committed = json.loads((folder / "meta.json").read_bytes())["opstamp"]
    for name in os.listdir(folder):  # noqa: PTH208 - names are enough
        stem, _, rest = name.partition(".")
        if rest.endswith(".del") and int(rest.removesuffix(".del")) > committed:
            (folder / f"{stem}.{rest}").unlink(missing_ok=True)


def _opened(folder: Path, schema: tantivy.Schema, analyzer: tantivy.TextAnalyzer, *, create: bool) -> tantivy.Index:
    if create:
        folder.mkdir(parents=True, exist_ok=True)
        index = tantivy.Index(schema, path=str(folder), reuse=False)
    else:
        index = tantivy.Index.open(str(folder))
    index.config_reader("manual")
    index.register_tokenizer(_WORDS, analyzer)
    return index


def _document_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    # A signed integer field, because Tantivy does not delete by terms of unsigned fields.
    builder.add_integer_field(KEY, indexed=True, fast=True)
    for name in (DAY_FIELD, *STATED_KEYS):
        builder.add_integer_field(name, fast=True)
    builder.add_text_field(TERMS, tokenizer_name="raw", index_option="basic")
    for name in (TITLE, BODY):
        builder.add_text_field(name, tokenizer_name=_WORDS)
    builder.add_text_field(GRAMS, tokenizer_name=_BLANKS)
    builder.add_text_field(ACCENTED, tokenizer_name=_BLANKS, index_option="freq")
    return builder.build()


def _section_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    # A signed integer field, because Tantivy does not delete by terms of unsigned fields.
    builder.add_integer_field(KEY, indexed=True, fast=True)
    builder.add_unsigned_field(ORDINAL, fast=True)
    # No positions: phrases are matched in the whole document; a section is shown if it has all words of a phrase.
    builder.add_text_field(BODY, tokenizer_name=_WORDS, index_option="freq")
    builder.add_text_field(GRAMS, tokenizer_name=_BLANKS, index_option="freq")
    builder.add_text_field(ACCENTED, tokenizer_name=_BLANKS, index_option="freq")
    return builder.build()


def words_analyzer() -> tantivy.TextAnalyzer:
    """The tokenizer for folded text.

    It does not lower-case words: the text is lower-case already, which costs a tenth of a filter. Tantivy drops words
    of more than 65,530 bytes, which are data.
    """
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.ascii_fold()).build()
