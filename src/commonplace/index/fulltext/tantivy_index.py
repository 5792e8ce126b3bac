"""Tantivy: its fields, its writers and its searchers.

Two of its indexes lie side by side, because what BM25 counts with (how many texts there are and how long they are)
must be that of the thing that is ranked: one holds whole documents, which are found, filtered and counted; the other
their sections, which say where in a document the answer stands.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tantivy

from commonplace.domain.query_parser import grams
from commonplace.domain.records import STATED_KEYS
from commonplace.index.fulltext.document_text import DAY_FIELD, DocumentText
from commonplace.index.process.allocator import trim_heap, tune_allocator

KEY = "key"
ORDINAL = "ordinal"
TERMS = "terms"
TITLE = "title"
BODY = "body"
GRAMS = "grams"

_WORDS = "commonplace_words"
_BLANKS = "whitespace"

_PATH = re.compile(r'"[^"]*"')
"""How Tantivy's errors name files."""
BULK_HEAP = 48_000_000
SMALL_HEAP = 15_000_000
"""Bytes of memory of a writer; Tantivy's least is 15 MB."""
MAX_HELD_DOCUMENTS = 64
MAX_HELD_CHARS = 1_000_000
"""Documents, and characters of their texts, that are handed to Tantivy's threads at once: one that is woken for every
section works in a cold cache, and to wake it costs more than to take the section in."""


class FullTextError(Exception):
    """The full text is missing, damaged, or cannot be written."""


@dataclass(frozen=True, slots=True)
class Searchers:
    """One view of both indexes."""

    documents: tantivy.Searcher
    sections: tantivy.Searcher


class FullText:
    """A full text that is open in this process.

    Args:
        folder: Where it lies.
        create: Begin an empty one; the folder must be missing or empty.

    Raises:
        FullTextError: it is missing or damaged.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.analyzer = _analyzer()
        with failures():
            self._documents = _opened(folder / "documents", _document_schema(), self.analyzer, create=create)
            self._sections = _opened(folder / "sections", _section_schema(), self.analyzer, create=create)
        self.document_schema = self._documents.schema
        self.section_schema = self._sections.schema
        self._lock = threading.Lock()
        self._generation = -1
        self._searchers = Searchers(self._documents.searcher(), self._sections.searcher())

    def searchers(self, generation: int) -> Searchers:
        """A view that holds at least what the full text held at a generation.

        Raises:
            FullTextError: it is missing or damaged.
        """
        with self._lock, failures():
            if self._generation != generation:
                self._documents.reload()
                self._sections.reload()
                self._searchers = Searchers(self._documents.searcher(), self._sections.searcher())
                self._generation = generation
            return self._searchers

    @contextmanager
    def writing(self, *, bulk: bool) -> Generator[FullTextWriter]:
        """Changes that are on disk when the `with` block ends well, and forgotten when it does not.

        Args:
            bulk: Many documents are coming: take more memory.

        Raises:
            FullTextError: another writer is at work, it is missing or damaged, or the disk is full.
        """
        tune_allocator()
        heap = BULK_HEAP if bulk else SMALL_HEAP
        with failures():
            documents = self._documents.writer(heap, 1)
            sections = self._sections.writer(heap, 1)
        try:
            writer = FullTextWriter(documents, sections)
            yield writer
            with failures():
                writer.hand_over()
                sections.commit()
                documents.commit()
        finally:
            # Ends the writers' threads, lets merges that the commits began come to their end, and frees the locks.
            with failures():
                sections.wait_merging_threads()
                documents.wait_merging_threads()
            del sections, documents
            trim_heap()


class FullTextWriter:
    """Takes documents in and out, in order and some at a time; nothing is visible before the commit."""

    def __init__(self, documents: tantivy.IndexWriter, sections: tantivy.IndexWriter) -> None:
        self._documents = documents
        self._sections = sections
        self._held: list[tuple[int, DocumentText | None]] = []
        self._chars = 0

    def remove(self, key: int) -> None:
        """Take a document out, if it is there."""
        self._hold(key, None)

    def add(self, key: int, text: DocumentText) -> None:
        """Put a document in that is not there."""
        self._hold(key, text)

    def hand_over(self) -> None:
        """Let Tantivy's threads have what was held back."""
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
        document.add_text(TITLE, text.title)
        document.add_text(BODY, text.body)
        pairs = grams(text.body)
        if pairs:
            document.add_text(GRAMS, " ".join(pairs))
        self._documents.add_document(document)
        for ordinal, words in text.sections:
            self._add_section(key, ordinal, words, grams(words) if pairs else ())

    def _add_section(self, key: int, ordinal: int, words: str, pairs: Sequence[str]) -> None:
        document = tantivy.Document()
        document.add_integer(KEY, key)
        document.add_unsigned(ORDINAL, ordinal)
        document.add_text(BODY, words)
        if pairs:
            document.add_text(GRAMS, " ".join(pairs))
        self._sections.add_document(document)


@contextmanager
def failures() -> Generator[None]:
    """Turn what Tantivy raises, and its panics, which are no `Exception`, into one error."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise FullTextError(_PATH.sub("…", str(error))) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise FullTextError("the full text's library failed") from error
        raise


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
    # An integer field: the library deletes by the terms of these, not by those of unsigned ones.
    builder.add_integer_field(KEY, indexed=True, fast=True)
    for name in (DAY_FIELD, *STATED_KEYS):
        builder.add_integer_field(name, fast=True)
    builder.add_text_field(TERMS, tokenizer_name="raw", index_option="basic")
    for name in (TITLE, BODY):
        builder.add_text_field(name, tokenizer_name=_WORDS)
    builder.add_text_field(GRAMS, tokenizer_name=_BLANKS)
    return builder.build()


def _section_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    # An integer field: the library deletes by the terms of these, not by those of unsigned ones.
    builder.add_integer_field(KEY, indexed=True, fast=True)
    builder.add_unsigned_field(ORDINAL, fast=True)
    # No positions: a phrase is looked for in the whole document, and shown where all its words stand.
    builder.add_text_field(BODY, tokenizer_name=_WORDS, index_option="freq")
    builder.add_text_field(GRAMS, tokenizer_name=_BLANKS, index_option="freq")
    return builder.build()


def _analyzer() -> tantivy.TextAnalyzer:
    """What makes words of folded text: it is in lower case already, for a tenth of what a filter costs word by word.

    Words of over 65,530 bytes, which are data, the library leaves out by itself.
    """
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.ascii_fold()).build()
