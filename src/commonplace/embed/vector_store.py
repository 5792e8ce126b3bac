"""The vector store of one collection. Opens lazily, without numpy, and rebuilds a damaged file."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from commonplace.domain.errors import StorageError
from commonplace.embed.models import Model

if TYPE_CHECKING:
    from commonplace.embed.vector_file import VectorFile
    from commonplace.embed.vector_space import VectorSpace

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class VectorStore:
    """Vectors on disk and in memory.

    Args:
        model: The model of the vectors.
        folder: Folder of the vector file.
    """

    def __init__(self, model: Model, folder: Path) -> None:
        self._model = model
        self.folder = folder
        self._opening = threading.Lock()
        self._opened: tuple[VectorFile, VectorSpace] | None = None
        self.failure = ""
        """The current error, and what to do; "" if there is none."""

    @property
    def may_exist(self) -> bool:
        """Whether a vector file exists, for any model. Does not open it."""
        return self._opened is not None or any(self.folder.glob("vectors-*"))

    @property
    def space(self) -> VectorSpace:
        """The in-memory vectors as of the last `refresh`. Raises the same errors as `with_file`."""
        return self._open()[1]

    def with_file(self, work: Callable[[VectorFile], Result]) -> Result:
        """Run `work` on the file. If the file is damaged, recreate it and retry once.

        Raises:
            KnowledgeError: kind "model": there is no model, or the cache folder is not writable.
        """
        try:
            try:
                return work(self._open()[0])
            except (sqlite3.OperationalError, sqlite3.ProgrammingError):  # it was closed meanwhile
                raise
            except sqlite3.DatabaseError as error:
                log.warning("the vectors are damaged (%s) and are rebuilt", error)
                self._reset()
                return work(self._open()[0])
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                "The vectors cannot be written to the cache folder.",
                kind="model",
                hint="Free disk space, or make the cache folder writable.",
            ) from error

    def refresh(self, *, at_once: bool = False) -> None:
        """Read the changes in the file, see `VectorSpace.refresh`. Raises the same errors as `with_file`."""
        self.with_file(lambda _: self.space.refresh(at_once=at_once))

    def check_dimension(self, found_number: int, expected: int) -> None:
        """Check that new vectors have the dimension of the stored ones.

        Raises:
            StorageError: kind "model": the dimensions differ, because the model has changed and its name has not.
        """
        self.failure = ""
        if found_number != expected:
            error = StorageError(
                f"The model returns vectors of {found_number} dimensions, but the stored ones have {expected}.",
                kind="model",
                hint="Restore the former model, or give the new one another name in embedding_model.",
            )
            self.failure = error.advice
            raise error

    def close(self) -> None:
        """Release the vector file."""
        if self._opened:
            self._opened[0].close()

    def _open(self) -> tuple[VectorFile, VectorSpace]:
        with self._opening:
            if self._opened is None:
                from commonplace.embed.vector_file import VectorFile
                from commonplace.embed.vector_space import VectorSpace

                identity = self._model.encoder().identity
                name = blake2b(identity.encode(), digest_size=6).hexdigest()
                file = VectorFile(self.folder / f"vectors-{name}.sqlite3", identity)
                self._opened = file, VectorSpace(file)
            return self._opened

    def _reset(self) -> None:
        from commonplace.embed.vector_space import VectorSpace

        file, _ = self._open()
        file.reset()
        self._opened = file, VectorSpace(file)
