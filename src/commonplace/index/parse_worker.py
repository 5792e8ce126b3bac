"""Parses files for another process: reads frames of files from standard input, writes documents to standard output.

The process ends when its input ends, that is, when the other process exits in any way.
"""

from __future__ import annotations

import gc
import marshal
import signal
import sys
from typing import IO, NamedTuple, cast

from commonplace.domain.addresses import Address, read_also
from commonplace.domain.changes import Revision
from commonplace.domain.document_reader import read_document
from commonplace.domain.records import build_record
from commonplace.index.catalogue.document_rows import DocumentColumns, columns_of
from commonplace.index.catalogue.links import LinkColumns, links_of
from commonplace.index.fulltext.document_text import DocumentText, document_text
from commonplace.index.fulltext.name_coverage import name_words

_LENGTH_BYTES = 8


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Parse every frame of files until the source ends. The first frame has the masks of `read_also`."""
    read_also(cast("list[str]", read_frame(source)))
    while True:
        try:
            files = cast("list[tuple[str, str, bytes]]", read_frame(source))
        except EOFError:
            return
        write_frame(target, [to_plain(prepare(FileToParse(*file))) for file in files])


def write_frame(target: IO[bytes], value: object) -> None:
    """Write one value of plain types.

    Raises:
        OSError: the reader has exited.
    """
    content = marshal.dumps(value)  # pyright: ignore[reportArgumentType] - a value of another type raises ValueError
    target.write(len(content).to_bytes(_LENGTH_BYTES, "little"))
    target.write(content)
    target.flush()


def read_frame(source: IO[bytes]) -> object:
    """Read one value.

    Raises:
        EOFError: the writer has exited.
    """
    length = int.from_bytes(_exactly(source, _LENGTH_BYTES), "little")
    return marshal.loads(_exactly(source, length))  # noqa: S302 - from a process of this program


def _exactly(source: IO[bytes], count: int) -> bytes:
    content = source.read(count)
    if len(content) < count:
        raise EOFError
    return content


def main() -> None:
    """Serve the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal interrupts both processes; the parent decides when to end
    gc.disable()  # documents contain no cycles
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        sys.stdout = None  # the parent has exited; otherwise Python would flush into the closed pipe at exit


# The data of a document in the index that its bytes determine.
#
# It consists of plain values, so that a process that parses files can pass it on cheaply.


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


if __name__ == "__main__":
    main()
