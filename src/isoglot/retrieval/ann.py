"""Approximate search for millions of words, by faiss or usearch.

Both search graphs (HNSW, Malkov and Yashunin 2018) by cosine and hand over more candidates than asked for; scores are
then computed exactly. CSLS takes its neighbourhood means from approximate neighbours and re-ranks the same
candidates, so a word that only CSLS would lift into the top k is found if it is among the nearest
`spread * k` by cosine.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from isoglot.errors import MissingExtraError
from isoglot.progress import Progress, silent
from isoglot.retrieval._rows import Bias, Found, UnitRows
from isoglot.retrieval.exact import ExactBackend
from isoglot.threads import limit_blas

__all__ = ["FaissBackend", "UsearchBackend"]

#: Candidates per asked neighbour.
_SPREAD = 4
_LINKS, _BUILD_EFFORT, _SEARCH_EFFORT = 32, 200, 128
_BLOCK = 16384
#: Below this many words a graph is slower to build than all products, and its recall may be poor.
_SMALL = 2048


class _Index(Protocol):
    def search(self, queries: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]: ...


class _AnnBackend:
    """Builds an index a side when it is first needed."""

    name = ""

    def __init__(self, X: UnitRows, Y: UnitRows, *, threads: int) -> None:
        self.X, self.Y, self.threads = X, Y, threads
        self._library = self._import()
        self._indices: dict[str, _Index] = {}

    def forward(self, queries: UnitRows, column_bias: Bias, k: int, *, progress: Progress = silent) -> Found:
        """The best rows of Y for each query. The bias plays no part before re-ranking."""
        return self._search("Y", queries, column_bias, k, progress)

    def both(self, row_bias: Bias, column_bias: Bias, k: int, *, progress: Progress = silent) -> tuple[Found, Found]:
        """The best rows of Y for each row of X, and of X for each row of Y: two searches."""
        return (
            self._search("Y", self.X, column_bias, k, progress),
            self._search("X", self.Y, row_bias, k, progress),
        )

    def _search(self, side: str, queries: UnitRows, bias: Bias, k: int, progress: Progress) -> Found:
        from isoglot.retrieval._rescore import best_of_candidates

        targets = self.Y if side == "Y" else self.X
        depth = min(targets.n, max(_SPREAD * k, k + 16))
        exact = ExactBackend(queries, targets, threads=self.threads)
        if targets.n <= max(_SMALL, depth):
            return exact.forward(queries, bias, k, progress=progress)
        with limit_blas():
            if side not in self._indices:
                self._indices[side] = self._build(targets, progress)
            index = self._indices[side]
            candidates = np.empty((queries.n, depth), dtype=np.int32)
            for begin in range(0, queries.n, _BLOCK):
                block = queries.matrix[begin : begin + _BLOCK]
                candidates[begin : begin + len(block)] = index.search(block, depth)
                progress("searching", begin + len(block), queries.n)
        found = best_of_candidates(queries, targets, candidates, bias, k, threads=self.threads)
        # A graph may leave a query short of neighbours (many duplicates): those few are searched exactly.
        short = np.flatnonzero(found[0][:, -1] < 0)
        if len(short):
            found[0][short], found[1][short] = exact.forward(queries.take(short), bias, k)
        return found

    def _import(self) -> Any:
        raise NotImplementedError

    def _build(self, targets: UnitRows, progress: Progress) -> _Index:
        raise NotImplementedError


class FaissBackend(_AnnBackend):
    """HNSW of faiss-cpu (Johnson, Douze and Jegou 2019)."""

    name = "faiss"

    def _import(self) -> Any:
        try:
            import faiss
        except ImportError as error:
            raise MissingExtraError("faiss-cpu", "ann", "the faiss backend") from error
        return faiss

    def _build(self, targets: UnitRows, progress: Progress) -> _Index:
        faiss = self._library
        with _faiss_threads(faiss, self.threads):
            index = faiss.IndexHNSWFlat(targets.dim, _LINKS, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction = _BUILD_EFFORT
            for begin in range(0, targets.n, _BLOCK):
                block = targets.matrix[begin : begin + _BLOCK]
                index.add(block)
                progress("building the index", begin + len(block), targets.n)
        return _FaissIndex(faiss, index, self.threads)


class _FaissIndex:
    def __init__(self, faiss: Any, index: Any, threads: int) -> None:
        self.faiss, self.index, self.threads = faiss, index, threads

    def search(self, queries: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
        self.index.hnsw.efSearch = max(_SEARCH_EFFORT, 2 * k)
        with _faiss_threads(self.faiss, self.threads):
            found: npt.NDArray[np.int64] = self.index.search(np.ascontiguousarray(queries), k)[1]
        return found


class _faiss_threads:
    """faiss keeps one global number of threads: set it for a while and put it back."""

    def __init__(self, faiss: Any, threads: int) -> None:
        self.faiss, self.threads = faiss, threads

    def __enter__(self) -> None:
        self.before = self.faiss.omp_get_max_threads()
        self.faiss.omp_set_num_threads(self.threads)

    def __exit__(self, *reason: object) -> None:
        self.faiss.omp_set_num_threads(self.before)


class UsearchBackend(_AnnBackend):
    """HNSW of usearch (Vardanian 2023)."""

    name = "usearch"

    def _import(self) -> Any:
        try:
            from usearch import index
        except ImportError as error:
            raise MissingExtraError("usearch", "ann", "the usearch backend") from error
        return index

    def _build(self, targets: UnitRows, progress: Progress) -> _Index:
        index = self._library.Index(
            ndim=targets.dim,
            metric="ip",
            dtype="f32",
            connectivity=_LINKS,
            expansion_add=_BUILD_EFFORT,
            expansion_search=_SEARCH_EFFORT,
        )
        for begin in range(0, targets.n, _BLOCK):
            block = targets.matrix[begin : begin + _BLOCK]
            index.add(np.arange(begin, begin + len(block)), block, threads=self.threads)
            progress("building the index", begin + len(block), targets.n)
        return _UsearchIndex(index, self.threads)


class _UsearchIndex:
    def __init__(self, index: Any, threads: int) -> None:
        self.index, self.threads = index, threads

    def search(self, queries: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
        self.index.expansion_search = max(_SEARCH_EFFORT, 2 * k)
        matches = self.index.search(queries, k, threads=self.threads)
        keys = np.asarray(matches.keys).reshape(len(queries), -1).astype(np.int64)
        counts = np.asarray(getattr(matches, "counts", keys.shape[1])).reshape(-1, 1)
        return np.where(np.arange(keys.shape[1]) < counts, keys, -1)
