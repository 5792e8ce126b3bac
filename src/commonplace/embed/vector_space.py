"""Vectors of a collection in memory, synchronized with their file, and queries on them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import eq
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import numpy.typing as npt

from commonplace.domain.query import Background, ChunkHit, NearDocument
from commonplace.domain.semantic import background
from commonplace.embed.vector_file import EmbeddedDocument, VectorFile

if TYPE_CHECKING:
    from commonplace.embed.encoders import Vectors


CHUNKS_EACH = 6
"""Number of chunks fetched per requested document, because a similar document has several similar chunks."""
MAX_REFRESH_SHARE = 0.1
"""Maximum fraction of time that a process spends reading changes of the file."""
MAX_REFRESH_PAUSE = 1.0
"""Maximum delay in seconds until changes of other processes are read."""
MAX_DEAD_SHARE = 0.25
"""Fraction of unused rows above which all rows are read again."""
MIN_DEAD_ROWS = 1000
"""Minimum number of unused rows for all rows to be read again."""
MAX_CODE = 127
MAX_SAMPLED_DOCUMENTS = 128
"""Maximum number of documents in the sample that determines the similarity of an ordinary document."""
SAMPLED_EACH = 8
"""Maximum number of chunks of each sampled document."""

Numbers = npt.NDArray[np.int64]


def quantized(vectors: Vectors, scale: float) -> list[bytes]:
    """The vectors as 8-bit integers, where 127 represents `scale`."""
    integers = np.clip(np.rint(vectors * (MAX_CODE / scale)), -MAX_CODE, MAX_CODE).astype(np.int8)
    return [integer.tobytes() for integer in integers]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The assignment of rows to documents. Entries are grouped by document."""

    paths: Sequence[str]
    places: Mapping[str, int]
    """Position of each document, by path."""
    starts: Numbers
    """First entry of each document, followed by the end of the last document's entries."""
    rows: Numbers
    """Row of each entry."""
    ordinals: Numbers
    """Ordinal of each entry's section."""
    owners: Numbers
    """Document of each entry."""
    order: Numbers
    """Entries sorted by row."""
    live: Mask
    """Whether a row is used by some document."""


class VectorSpace:
    """All vectors of one collection.

    Args:
        file: The vector file.
    """

    def __init__(self, file: VectorFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._birth = self._seq = 0
        self._highest = 0
        self._ids = np.empty(0, np.int64)
        self._pages: dict[str, EmbeddedDocument] = {}
        self._scan: VectorScan | None = None
        self._dimension = 0
        self._scale = 1.0
        self._layout = _laid_out({}, self._ids)
        self._due = 0.0

    def refresh(self, *, at_once: bool = False) -> None:
        """Read the changes in the file, unless that was done very recently.

        Args:
            at_once: Whether to read in any case, because this process has just written.

        Raises:
            sqlite3.DatabaseError: the file is damaged.
        """
        with self._lock:
            began = time.monotonic()
            if (at_once or began >= self._due) and self._take_in():
                now = time.monotonic()
                self._due = now + min((now - began) / MAX_REFRESH_SHARE, MAX_REFRESH_PAUSE)

    def query(self, question: Vectors, within: AbstractSet[str] | None) -> VectorQuery:
        """A query on the current vectors.

        Args:
            question: Float32 array of shape (dimension,) and length 1.
            within: The documents to consider; None for all.
        """
        with self._lock:
            return VectorQuery(self._layout, self._scan, question * (self._scale / MAX_CODE), within)

    @property
    def dimension(self) -> int:
        """Dimension of the vectors; 0 if there are none."""
        return self._dimension if self._layout.paths else 0

    @property
    def documents(self) -> int:
        """Number of documents that were embedded, including those without text."""
        return len(self._layout.paths)

    def _take_in(self) -> bool:
        news = self._file.since(self._birth, self._seq, self._highest)
        if (news.birth, news.seq) == (self._birth, self._seq) and not news.chunks:
            return False
        if news.birth != self._birth:
            self._forget()
        self._add(news.chunks)
        for page in news.pages:
            if page.revision:
                self._pages[page.path] = page
            else:
                self._pages.pop(page.path, None)
        self._birth, self._seq = news.birth, news.seq
        self._layout = _laid_out(self._pages, self._ids, self._layout)
        count = len(self._ids)
        if count - int(self._layout.live.sum()) > max(MIN_DEAD_ROWS, MAX_DEAD_SHARE * count):
            self._drop_dead()
        return True

    def _drop_dead(self) -> None:
        """Read the vectors again, without the rows that no document uses."""
        self._forget()
        news = self._file.since(0, 0, 0)
        self._pages = {page.path: page for page in news.pages if page.revision}
        used = set(_entries(self._pages)[:, 1].tolist())
        self._add([(chunk, vector) for chunk, vector in news.chunks if chunk in used])
        self._birth, self._seq = news.birth, news.seq
        self._highest = max((chunk for chunk, _ in news.chunks), default=0)
        self._layout = _laid_out(self._pages, self._ids)

    def _add(self, chunks: Sequence[tuple[int, bytes]]) -> None:
        form = self._file.format()
        if not chunks or form is None:
            return
        self._dimension, self._scale = form.dimension, form.scale
        scan = self._scan or VectorScan(form.dimension)
        scan.add(np.frombuffer(b"".join(vector for _, vector in chunks), np.int8).reshape(-1, form.dimension))
        self._scan = scan
        self._ids = np.concatenate((self._ids, np.array([chunk for chunk, _ in chunks], np.int64)))
        self._highest = chunks[-1][0]

    def _forget(self) -> None:
        self._birth = self._seq = self._highest = 0
        self._ids, self._pages, self._scan = np.empty(0, np.int64), {}, None


class VectorQuery:
    """A query with its similarities: implements `domain.query.SimilarityScores`.

    Args:
        layout: Layout of the space.
        scan: Scan of the space; None if it is empty.
        question: The query's vector, scaled so that its product with a row is the cosine.
        within: The documents to consider; None for all.
    """

    def __init__(
        self, layout: _Layout, scan: VectorScan | None, question: Vectors, within: AbstractSet[str] | None
    ) -> None:
        self._layout = layout
        self._scan = scan
        self._question = question
        self._within = within

    def background(self) -> Background:
        """Similarity of an ordinary document, from an evenly spread sample of all documents."""
        layout = self._layout
        if self._scan is None or not layout.paths:
            return Background()
        # `np.unique` is left out here and below: the first use of it loads a tenth of numpy.
        documents = len(layout.paths)
        places = np.linspace(0, documents - 1, min(documents, MAX_SAMPLED_DOCUMENTS)).astype(np.int64)
        starts = layout.starts[places]
        ends = np.minimum(layout.starts[places + 1], starts + SAMPLED_EACH)
        entries: list[Numbers] = [np.arange(start, end) for start, end in zip(starts, ends, strict=True) if end > start]
        if not entries:
            return Background()
        products = self._scan.of(self._question, layout.rows[np.concatenate(entries)])
        first = np.cumsum([0, *map(len, entries[:-1])])
        return background(np.maximum.reduceat(products, first).tolist())

    def nearest(self, count: int) -> list[NearDocument]:
        """The documents with the most similar chunks."""
        return self._documents(*self._entries(count * CHUNKS_EACH))[:count]

    def nearest_chunks(self, count: int, each: int) -> list[ChunkHit]:
        """The most similar chunks.

        Args:
            count: Maximum number of chunks.
            each: Maximum number of chunks per document.
        """
        hits: list[ChunkHit] = []
        seen: dict[int, int] = {}
        entries, products = self._entries(count * CHUNKS_EACH * each)
        for entry, similarity in zip(entries.tolist(), products.tolist(), strict=True):
            owner = int(self._layout.owners[entry])
            seen[owner] = seen.get(owner, 0) + 1
            if seen[owner] <= each:
                hits.append(self._passage(entry, owner, similarity))
            if len(hits) == count:
                break
        return hits

    def of(self, paths: Sequence[str]) -> dict[str, NearDocument]:
        """The similarities of these documents; documents without vectors are omitted."""
        layout = self._layout
        places = [layout.places[path] for path in paths if path in layout.places]
        ranges: list[Numbers] = [np.arange(layout.starts[place], layout.starts[place + 1]) for place in places]
        if self._scan is None or not ranges:
            return {}
        entries = np.concatenate(ranges)
        products = self._scan.of(self._question, layout.rows[entries])
        order = np.argsort(-products, kind="stable")
        return {near.path: near for near in self._documents(entries[order], products[order])}

    @cached_property
    def _among(self) -> Mask | None:
        """The rows of the documents to consider; None for all rows."""
        layout = self._layout
        if self._within is None:
            return None if layout.live.all() else layout.live
        places = [layout.places[path] for path in self._within if path in layout.places]
        meant = np.zeros(len(layout.paths), np.bool_)
        meant[places] = True
        among = np.zeros(len(layout.live), np.bool_)
        among[layout.rows[meant[layout.owners]]] = True
        return among

    def _entries(self, count: int) -> tuple[Numbers, Vectors]:
        """The most similar entries, and their similarities. Several documents can have the same chunk."""
        if self._scan is None:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        rows, products = self._scan.best(self._question, count, self._among)
        layout = self._layout
        by_row = layout.rows[layout.order]
        first = np.searchsorted(by_row, rows, "left")
        counts = np.searchsorted(by_row, rows, "right") - first
        # The entries of one row follow each other in `order`: of n entries, the places are n numbers from `first` on.
        places: Numbers = np.arange(int(counts.sum())) + np.repeat(first - np.cumsum(counts) + counts, counts)
        entries: Numbers = layout.order[places]
        similarities = np.repeat(products, counts)
        if (within := self._within) is not None:
            there = np.array([layout.paths[int(owner)] in within for owner in layout.owners[entries]], np.bool_)
            entries, similarities = entries[there], similarities[there]
        return entries, similarities

    def _documents(self, entries: Numbers, products: Vectors) -> list[NearDocument]:
        """The documents of entries, each by the first of its entries."""
        layout = self._layout
        first: dict[int, int] = {}
        for at, owner in enumerate(layout.owners[entries].tolist()):
            first.setdefault(owner, at)
        return [
            NearDocument(layout.paths[owner], int(layout.ordinals[entries[at]]), float(products[at]))
            for owner, at in first.items()
        ]

    def _passage(self, entry: int, owner: int, similarity: float) -> ChunkHit:
        start, end = (int(self._layout.starts[at]) for at in (owner, owner + 1))
        return ChunkHit(
            path=self._layout.paths[owner],
            ordinal=int(self._layout.ordinals[entry]),
            number=entry - start,
            of=end - start,
            similarity=similarity,
        )


def _entries(pages: Mapping[str, EmbeddedDocument]) -> Numbers:
    """Section and id of every chunk of these pages, of shape (chunks, 2)."""
    packed = b"".join([page.packed for page in pages.values()])
    return np.frombuffer(packed, "<u4").reshape(-1, 2).astype(np.int64)


def _laid_out(pages: Mapping[str, EmbeddedDocument], ids: Numbers, before: _Layout | None = None) -> _Layout:
    """The layout of these pages. The rows are the chunks with these ascending ids; other chunks are omitted.

    It runs after every change, so it creates arrays of numbers instead of objects per chunk. The paths of `before` are
    reused if they are equal.
    """
    same = before if before and len(before.paths) == len(pages) and all(map(eq, before.paths, pages)) else None
    paths = same.paths if same else list(pages)
    entries = _entries(pages)
    owners = np.repeat(np.arange(len(paths)), [len(page.packed) // 8 for page in pages.values()])
    rows: Rows = np.searchsorted(ids, entries[:, 1])
    there = np.append(ids, -1)[rows] == entries[:, 1]
    entries, owners, rows = entries[there], owners[there], rows[there]
    live = np.zeros(len(ids), np.bool_)
    live[rows] = True
    return _Layout(
        paths=paths,
        places=same.places if same else {path: place for place, path in enumerate(paths)},
        starts=np.searchsorted(owners, np.arange(len(paths) + 1)),
        rows=rows,
        ordinals=entries[:, 0],
        owners=owners,
        order=np.argsort(rows, kind="stable"),
        live=live,
    )


# Exact comparison of a query with every vector by faiss; docs/decisions/vectors.md has the measurements.


BLOCK = 2048
"""Number of vectors that are converted to floats together; they fit into a processor's cache."""
CODE_OF_ZERO = 128
"""The byte by which faiss stores the component 0; the others are that far from it."""

Codes = npt.NDArray[np.int8]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class _FaissBytes(Protocol):
    def data(self) -> object: ...
    def size(self) -> int: ...


class _Faiss(Protocol):
    """The used part of the library, whose own type annotations are not specific."""

    ntotal: int

    def add(self, x: Vectors) -> None: ...
    def search(self, x: Vectors, k: int, *, params: object) -> tuple[Vectors, Rows]: ...
    @property
    def codes(self) -> _FaissBytes: ...


class VectorScan:
    """All vectors of a collection, by row; append-only. The codes of faiss are the integers themselves.

    faiss divides the work between threads that wait for each other by running idle, which costs more than a scan. Their
    number is set for the calling thread alone, so each scan sets it.

    Thread-safe: queries run beside each other, and never beside `add`. That may move the codes in memory, and faiss
    reads them without Python's lock: the process would end.

    Args:
        dimension: Number of components of a vector.
    """

    def __init__(self, dimension: int) -> None:
        logging.getLogger("faiss").setLevel(logging.WARNING)
        import faiss

        self._set_threads = faiss.omp_set_num_threads
        self._bytes = cast("Callable[[object, int], npt.NDArray[np.uint8]]", faiss.rev_swig_ptr)
        self._dimension = dimension
        kind = faiss.ScalarQuantizer.QT_8bit_direct_signed
        self._index = cast("_Faiss", faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT))
        self._changed = threading.Condition()
        """Held during `add`; notified when a query ends, and when rows were added."""
        self._queries = 0
        self._is_adding = False
        """Whether rows are added, or wait for the end of queries: later queries wait, or rows might wait for ever."""

    def add(self, codes: Codes) -> None:
        """Append rows."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_adding)
            self._is_adding = True
            try:
                self._changed.wait_for(lambda: not self._queries)
                for start in range(0, len(codes), BLOCK):
                    self._index.add(codes[start : start + BLOCK].astype(np.float32))
            finally:
                self._is_adding = False
                self._changed.notify_all()

    def best(self, question: Vectors, count: int, among: Mask | None) -> tuple[Rows, Vectors]:
        """The rows with the greatest products, greatest first, and the products.

        Args:
            question: Float32 array of shape (dimension,).
            count: Maximum number of rows.
            among: The rows to consider; None for all.
        """
        with self._querying():
            return self._best(question, count, among)

    def of(self, question: Vectors, rows: Rows) -> Vectors:
        """The products of these rows."""
        with self._querying():
            return self._of(question, rows)

    @contextmanager
    def _querying(self) -> Generator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_adding)
            self._queries += 1
        try:
            yield
        finally:
            with self._changed:
                self._queries -= 1
                self._changed.notify_all()

    def _best(self, question: Vectors, count: int, among: Mask | None) -> tuple[Rows, Vectors]:
        count = min(count, self._index.ntotal if among is None else int(among.sum()))
        if count <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        # `bits` must be referenced until the end of the search, because the library stores only its address.
        bits = None if among is None else np.packbits(among, bitorder="little")
        parameters = None if bits is None else _only(bits)
        # faiss rounds the query, too, if codes are integers. Therefore the products of the results are computed again.
        self._set_threads(1)
        whole = np.rint(question * (127 / (np.abs(question).max() or 1))).astype(np.float32)
        _, found_rows = self._index.search(whole[None], count, params=parameters)
        rows = found_rows[0][found_rows[0] >= 0]
        products = self._of(question, rows)
        order = np.argsort(-products, kind="stable")
        return rows[order], products[order]

    def _of(self, question: Vectors, rows: Rows) -> Vectors:
        # `reconstruct_batch` of faiss takes seven times as long for a few hundred rows.
        codes = self._bytes(self._index.codes.data(), self._index.codes.size()).reshape(-1, self._dimension)
        return (codes[rows].astype(np.float32) - CODE_OF_ZERO) @ question if len(rows) else np.empty(0, np.float32)


def _only(bits: npt.NDArray[np.uint8]) -> object:
    """Parameters that restrict a faiss search to the rows of the set bits."""
    import faiss

    selector = faiss.IDSelectorBitmap(len(bits), faiss.swig_ptr(bits))
    parameters = faiss.SearchParameters()
    parameters.sel = selector
    parameters.kept = selector  # pyright: ignore[reportAttributeAccessIssue] - or Python would free it
    return parameters
