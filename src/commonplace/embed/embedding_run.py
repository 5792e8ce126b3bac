"""An embedding run: embeds new texts in batches, on low-priority threads."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import threading
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, NotFoundError, StorageError
from commonplace.domain.ports import Index, Progress
from commonplace.domain.revisions import revision_of
from commonplace.domain.semantic import chunks_of
from commonplace.embed.models import Model
from commonplace.embed.vector_file import DocumentVectors, VectorFile, VectorFormat
from commonplace.embed.vector_space import quantized
from commonplace.embed.vector_store import VectorStore

if TYPE_CHECKING:
    from commonplace.embed.encoders import Vectors


log = logging.getLogger(__name__)

BATCH = 32
"""Number of texts that are embedded and written together."""
SLICE = 4
"""Number of texts per call of the model; small, so that stopping is quick."""
SCALE_HEADROOM = 1.25
"""Factor by which components of later vectors may exceed the maximum of the first batch without being clipped."""
NICENESS = 10
"""Niceness (nice(2)) of the threads that embed, so that all others take precedence."""
LOCK = "vectors.lock"


@dataclass(slots=True)
class _Batch:
    """Documents whose texts are embedded together."""

    texts: dict[bytes, str] = field(default_factory=dict[bytes, str])
    """Texts without a vector, by key."""
    pages: list[DocumentVectors] = field(default_factory=list["DocumentVectors"])


class EmbeddingRun:
    """One pass over the documents of a collection.

    Args:
        model: The model.
        index: Index of the documents.
        kept: The vector store.
        stop: Stops the pass after the running call of the model.
    """

    def __init__(self, model: Model, index: Index, store: VectorStore, stop: threading.Event) -> None:
        self._model = model
        self._index = index
        self._store = store
        self._stop = stop
        self.pending = 0
        """Number of remaining documents."""

    def run(self, progress: Progress | None = None, among: Collection[Address] | None = None) -> None:
        """Embed changed documents, unless another process is embedding.

        Args:
            progress: Called with the number of finished documents.
            among: The documents to check; None for all.

        Raises:
            KnowledgeError: kind "model": there is no model, it fails, or vectors cannot be written.
        """
        changed, gone = self._differing() if among is None else self._differing_of(among)
        self.pending = len(changed) + len(gone)
        if not changed and not gone:
            return
        with _alone(self._store.folder / LOCK) as alone:
            if alone:
                self._embed(changed, progress)
                self._write(_Batch(pages=[(path, "", ()) for path in gone]))
                self._store.with_file(lambda file: file.remove_unused())
        self._store.refresh(at_once=True)

    def _differing(self) -> tuple[list[str], list[str]]:
        """Paths of the documents to embed, and of the deleted ones.

        The compared rows of all documents are released before embedding; otherwise other allocations between them would
        fragment the memory.
        """
        revisions, _ = self._store.with_file(lambda file: file.statistics())
        changed: list[str] = []
        for address, revision in self._index.revisions().items():
            if revisions.pop(address.path, None) != revision:
                changed.append(address.path)
        return changed, list(revisions)

    def _differing_of(self, addresses: Collection[Address]) -> tuple[list[str], list[str]]:
        """Paths of the documents to embed, and of the deleted ones, among some documents."""
        revisions, _ = self._store.with_file(lambda file: file.statistics([address.path for address in addresses]))
        changed: list[str] = []
        gone: list[str] = []
        for address in addresses:
            record = self._index.record(address)
            if record is None:
                gone += [address.path] if address.path in revisions else []
            elif revisions.get(address.path) != record.revision:
                changed.append(address.path)
        return changed, gone

    def _embed(self, paths: Sequence[str], progress: Progress | None) -> None:
        batch = _Batch()
        for done, path in enumerate(paths):
            if progress:
                progress(done, len(paths))
            self._take(path, batch)
            if self._stop.is_set():
                return
            if len(batch.texts) >= BATCH or len(batch.pages) >= BATCH:
                self._write(batch)
                self.pending = len(paths) - done - 1
                batch = _Batch()
        self._write(batch)
        if not self._stop.is_set():
            self.pending = 0
        if progress:
            progress(len(paths), len(paths))

    def _take(self, path: str, batch: _Batch) -> None:
        """Add a document to a batch. Most texts of a long document are written before, in separate batches."""
        try:
            document = self._index.document(Address(path))
        except (NotFoundError, StorageError):
            return  # deleted or unreadable meanwhile; the index will report the change
        chunks = {chunk.key: chunk for chunk in chunks_of(document)}
        file = self._store.with_file(lambda file: file.known(chunks))
        texts = {key: chunk.text for key, chunk in chunks.items() if key not in file and key not in batch.texts}
        while len(texts) > BATCH and not self._stop.is_set():
            self._write(_Batch({key: texts.pop(key) for key in list(texts)[:BATCH]}))
        batch.texts |= texts
        places = [(chunk.ordinal, key) for key, chunk in chunks.items()]
        batch.pages.append((path, revision_of(document.raw), places))

    def _write(self, batch: _Batch) -> None:
        """Embed and write a batch completely; if stopped, write nothing."""
        if not batch.texts and not batch.pages:
            return
        vectors = self._vectors(list(batch.texts.values()))
        if vectors is not None and not self._stop.is_set():
            self._store.with_file(lambda file: self._put(file, batch, vectors))

    def _put(self, file: VectorFile, batch: _Batch, vectors: Vectors) -> None:
        form = file.format()
        new_vectors: dict[bytes, bytes] = {}
        if vectors.size:
            form = form or VectorFormat(
                vectors.shape[1], min(1.0, float(np.abs(vectors).max()) * SCALE_HEADROOM) or 1.0
            )
            self._store.check_dimension(vectors.shape[1], form.dimension)
            new_vectors = dict(zip(batch.texts, quantized(vectors, form.scale), strict=True))
        # After damage the file is empty, so that known texts are missing. Their documents are left to the next pass.
        usable = file.known(key for _, _, chunks in batch.pages for _, key in chunks).keys() | new_vectors.keys()
        file.put(form, new_vectors, [page for page in batch.pages if all(key in usable for _, key in page[2])])

    def _vectors(self, texts: Sequence[str]) -> Vectors | None:
        """The texts' vectors, computed by two threads; None if stopped."""
        middle = (len(texts) + 1) // 2
        # Both threads are new, because a thread cannot raise its lowered priority again.
        parts = filter(None, (texts[:middle], texts[middle:]))
        threads = [_EncoderThread(self._model, part, self._stop) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for thread in threads:
            if thread.failure:
                raise thread.failure
        if any(thread.unfinished for thread in threads):
            return None
        made = list(chain.from_iterable(thread.made for thread in threads))
        return np.concatenate(made) if made else np.empty((0, 0), np.float32)


class _EncoderThread(threading.Thread):
    """A thread of low priority that embeds some texts."""

    def __init__(self, model: Model, texts: Sequence[str], stop: threading.Event) -> None:
        super().__init__(name="embed", daemon=True)
        self._model = model
        self._texts = texts
        self._stopping = stop
        self.made: list[Vectors] = []
        self.failure: KnowledgeError | None = None
        self.unfinished = False

    def run(self) -> None:
        """Embed the texts, a few at a time."""
        lower_priority()
        for start in range(0, len(self._texts), SLICE):
            if self._stopping.is_set():
                self.unfinished = True
                return
            try:
                self.made.append(self._model.texts(self._texts[start : start + SLICE]))
            except KnowledgeError as error:
                self.failure = error
                return


def lower_priority() -> None:
    """Lower the priority of this thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def is_embedding(folder: Path) -> bool:
    """Whether a process is embedding into a folder of vectors."""
    try:
        with (folder / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


@contextmanager
def _alone(path: Path) -> Generator[bool]:
    """Try to acquire the lock of the embedding process; yields whether it was acquired. Process exit releases it."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
