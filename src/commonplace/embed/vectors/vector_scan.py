"""Exact comparison of a query with every vector by faiss; docs/decisions/vectors.md has the measurements."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from commonplace.embed.encoders import Vectors

BLOCK = 2048
"""Number of vectors that are converted to floats together; they fit into a processor's cache."""

Codes = npt.NDArray[np.int8]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class _Faiss(Protocol):
    """The used part of the library, whose own type annotations are not specific."""

    ntotal: int

    def add(self, x: Vectors) -> None: ...
    def search(self, x: Vectors, k: int, *, params: object) -> tuple[Vectors, Rows]: ...
    def reconstruct_batch(self, key: Rows) -> Vectors: ...


class VectorScan:
    """All vectors of a collection, by row; append-only. The codes of faiss are the integers themselves.

    Args:
        dimension: Number of components of a vector.
    """

    def __init__(self, dimension: int) -> None:
        logging.getLogger("faiss").setLevel(logging.WARNING)
        import faiss

        faiss.omp_set_num_threads(1)
        kind = faiss.ScalarQuantizer.QT_8bit_direct_signed
        self._index = cast("_Faiss", faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT))

    def add(self, codes: Codes) -> None:
        """Append rows."""
        for start in range(0, len(codes), BLOCK):
            self._index.add(codes[start : start + BLOCK].astype(np.float32))

    def best(self, question: Vectors, count: int, among: Mask | None) -> tuple[Rows, Vectors]:
        """The rows with the greatest products, greatest first, and the products.

        Args:
            question: Float32 array of shape (dimension,).
            count: Maximum number of rows.
            among: The rows to consider; None for all.
        """
        count = min(count, self._index.ntotal if among is None else int(among.sum()))
        if count <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        # `bits` must be referenced until the end of the search, because the library stores only its address.
        bits = None if among is None else np.packbits(among, bitorder="little")
        parameters = None if bits is None else _only(bits)
        # faiss rounds the query, too, if codes are integers. Therefore the products of the results are computed again.
        whole = np.rint(question * (127 / (np.abs(question).max() or 1))).astype(np.float32)
        _, found = self._index.search(whole[None], count, params=parameters)
        rows = found[0][found[0] >= 0]
        products = self.of(question, rows)
        order = np.argsort(-products, kind="stable")
        return rows[order], products[order]

    def of(self, question: Vectors, rows: Rows) -> Vectors:
        """The products of these rows."""
        return self._index.reconstruct_batch(rows) @ question if len(rows) else np.empty(0, np.float32)


def _only(bits: npt.NDArray[np.uint8]) -> object:
    """Parameters that restrict a faiss search to the rows of the set bits."""
    import faiss

    selector = faiss.IDSelectorBitmap(len(bits), faiss.swig_ptr(bits))
    parameters = faiss.SearchParameters()
    parameters.sel = selector
    parameters.kept = selector  # pyright: ignore[reportAttributeAccessIssue] - or Python would free it
    return parameters
