"""The vectors of one collection as they are kept: opened when first needed, begun anew when damaged."""

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
    from commonplace.embed.vectors.vector_file import VectorFile
    from commonplace.embed.vectors.vector_space import VectorSpace

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class VectorStore:
    """Vectors on disk and in memory.

    Args:
        model: Whose vectors they are.
        folder: Where they lie.
    """

    def __init__(self, model: Model, folder: Path) -> None:
        self._model = model
        self.folder = folder
        self._opening = threading.Lock()
        self._opened: tuple[VectorFile, VectorSpace] | None = None
        self.failure = ""
        """What is wrong with them, and what to do; "" when nothing is."""

    @property
    def may_exist(self) -> bool:
        """Whether there may be any, by this model or another. Opens nothing."""
        return self._opened is not None or any(self.folder.glob("vectors-*"))

    @property
    def space(self) -> VectorSpace:
        """Them in memory, as of the last `follow`; raises as `with_file` does."""
        return self._open()[1]

    def with_file(self, work: Callable[[VectorFile], Result]) -> Result:
        """Do something with the file; when it proves damaged, begin it anew and do it again.

        Raises:
            KnowledgeError: kind "model": there is no model, or nothing can be written in the cache folder.
        """
        try:
            try:
                return work(self._open()[0])
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:
                log.warning("the vectors are damaged (%s) and are made again", error)
                self._reset()
                return work(self._open()[0])
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                "The vectors cannot be kept in the cache folder.",
                kind="model",
                hint="Free disk space, or make the cache folder writable.",
            ) from error

    def refresh(self, *, at_once: bool = False) -> None:
        """Take in what this process or another has written, see `VectorSpace.refresh`; raises as `with_file` does."""
        self.with_file(lambda _: self.space.refresh(at_once=at_once))

    def check_dimension(self, found: int, expected: int) -> None:
        """Note whether vectors fit those that are there.

        Raises:
            StorageError: kind "model": they do not: the model changed under its name.
        """
        self.failure = ""
        if found != expected:
            error = StorageError(
                f"The model answers vectors of {found} dimensions, and the pages have {expected}.",
                kind="model",
                hint="Let it answer as before, or give it another name in embedding_model.",
            )
            self.failure = error.advice
            raise error

    def close(self) -> None:
        """Release the file."""
        if self._opened:
            self._opened[0].close()

    def _open(self) -> tuple[VectorFile, VectorSpace]:
        with self._opening:
            if self._opened is None:
                from commonplace.embed.vectors.vector_file import VectorFile
                from commonplace.embed.vectors.vector_space import VectorSpace

                identity = self._model.encoder().identity
                name = blake2b(identity.encode(), digest_size=6).hexdigest()
                file = VectorFile(self.folder / f"vectors-{name}.sqlite3", identity)
                self._opened = file, VectorSpace(file)
            return self._opened

    def _reset(self) -> None:
        from commonplace.embed.vectors.vector_space import VectorSpace

        file, _ = self._open()
        file.reset()
        self._opened = file, VectorSpace(file)
