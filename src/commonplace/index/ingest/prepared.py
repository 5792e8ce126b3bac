"""The data of a document in the index that its bytes determine.

It consists of plain values, so that a process that parses files can pass it on cheaply.
"""

from __future__ import annotations

from typing import NamedTuple

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.document_reader import read_document
from commonplace.domain.records import build_record
from commonplace.index.catalogue.document_rows import DocumentColumns, columns_of
from commonplace.index.fulltext.document_text import DocumentText, document_text
from commonplace.index.fulltext.name_coverage import name_words
from commonplace.index.stored.link_rows import LinkColumns, links_of


class FileToParse(NamedTuple):
    """A file's path, revision and bytes."""

    path: str
    revision: Revision
    raw: bytes


class PreparedDocument(NamedTuple):
    """A parsed document, ready to be written."""

    columns: DocumentColumns
    links: LinkColumns
    text: DocumentText


PlainDocument = tuple[tuple[object, ...], tuple[object, ...], tuple[object, ...]]
"""A `PreparedDocument` of plain tuples, which `marshal` can write."""


def prepare(file: FileToParse) -> PreparedDocument:
    """Parse a file. Never raises because of its content."""
    document = read_document(Address(file.path), file.raw)
    record = build_record(document, file.revision)
    columns = columns_of(document, record, name_words(document, record))
    return PreparedDocument(columns, links_of(document, columns.names), document_text(document, record))


def to_plain(document: PreparedDocument) -> PlainDocument:
    """The document as plain tuples."""
    columns, links, text = document
    texts = (text.terms, text.numbers, text.title, text.body, text.sections)
    return tuple(columns), tuple(links), texts


def from_plain(plain: PlainDocument) -> PreparedDocument:
    """The inverse of `to_plain`."""
    columns, links, text = plain
    return PreparedDocument(DocumentColumns._make(columns), LinkColumns._make(links), DocumentText(*text))  # pyright: ignore[reportArgumentType] - what `to_plain` took apart
