"""Parts for tests of a shared engine: pages made from texts, and each implementation of the engine's port."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.cluster import BranchPosition, SharedBase, SharedIndexReader, SharedIndexWriter, SharedPage
from commonplace.domain.document_reader import read_document
from commonplace.domain.query import Hit, SearchQuery, SearchResult
from commonplace.domain.records import build_record
from commonplace.domain.revisions import revision_of
from commonplace.index.opensearch.connection import ClusterAddress, Connection
from commonplace.index.opensearch.writer import ClusterReader, ClusterWriter
from embedded_engine import EmbeddedBases, EmbeddedReader, EmbeddedWriter

COMMIT = "c" * 40
DATED = "2024-05-01T10:00:00Z"


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine as its port."""

    reader: SharedIndexReader
    writer: SharedIndexWriter

    def filled(self, base: SharedBase, texts: Mapping[str, str], number: int = 1) -> SharedBase:
        """A base with a published index of these texts."""
        generation = self.writer.begin(base)
        self.writer.put(base, number, pages(texts), generation)
        self.writer.advance(base, BranchPosition(number, COMMIT), generation)
        self.writer.publish(base, generation)
        return base

    def put(self, base: SharedBase, texts: Mapping[str, str], number: int) -> None:
        """Index texts, and make them searchable."""
        self.writer.put(base, number, pages(texts))
        self.writer.advance(base, BranchPosition(number, COMMIT))

    def remove(self, base: SharedBase, paths: Iterable[str], number: int) -> None:
        """Remove pages, and make it visible."""
        self.writer.remove(base, map(Address, paths), number)
        self.writer.advance(base, BranchPosition(number, COMMIT))

    def search(self, base: SharedBase, text: str, **options: object) -> SearchResult:
        """The result of a search of one base, which must be complete."""
        match = self.reader.search([base], replace(SearchQuery(text=text), **options))
        assert not match.partial
        return match.results[base]

    def paths(self, base: SharedBase, text: str, **options: object) -> list[str]:
        """Paths of the hits, in order."""
        return [hit.record.address.path for hit in self.search(base, text, **options).hits]


def page(path: str, text: str | bytes, dated: str = DATED) -> SharedPage:
    """A page of a text, made and changed at a moment."""
    raw = text.encode() if isinstance(text, str) else text
    document = read_document(Address(path), raw)
    record = build_record(document, revision_of(raw))
    return SharedPage(document, replace(record, created=record.created or dated, updated=record.updated or dated))


def pages(texts: Mapping[str, str]) -> list[SharedPage]:
    """Pages of texts by path."""
    return [page(path, text) for path, text in texts.items()]


def shown(hit: Hit) -> tuple[str, list[tuple[int, tuple[str, ...], str, str]]]:
    """The visible parts of a hit besides its score and its record."""
    sections = [(section.ordinal, section.path, section.anchor, section.snippet) for section in hit.sections]
    return hit.record.address.path, sections


def new_base(name: str = "notes") -> SharedBase:
    """A base that no other test uses."""
    return SharedBase(f"{name} {secrets.token_hex(6)}", "s" * 16)


@contextmanager
def embedded(folder: Path) -> Generator[Engine]:
    """The port on the embedded index."""
    bases = EmbeddedBases(folder)
    yield Engine(EmbeddedReader(bases), EmbeddedWriter(bases))


@contextmanager
def cluster(url: str, prefix: str = "test") -> Generator[Engine]:
    """The port on a cluster."""
    connection = Connection(ClusterAddress((url,)))
    try:
        yield Engine(ClusterReader(connection, prefix), ClusterWriter(connection, prefix))
    finally:
        connection.close()


MakeEngine = Callable[[], Engine]
