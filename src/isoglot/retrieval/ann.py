"""Approximate search for millions of words, by faiss or usearch.

Both search graphs (HNSW, Malkov and Yashunin 2018) by cosine and hand over more candidates than asked for; scores are
then computed exactly. CSLS takes its neighbourhood means from approximate neighbours and re-ranks the same
candidates, so a word that only CSLS would lift into the top k is found if it is among the nearest
`spread * k` by cosine.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.progress import Progress, silent
from isoglot.retrieval._rows import Bias, Found, UnitRows
from isoglot.retrieval.exact import ExactBackend
from isoglot.threads import limit_blas

Block = npt.NDArray[np.float32]

#: Candidates per asked neighbour.
_SPREAD = 4
_LINKS, _BUILD_EFFORT, _SEARCH_EFFORT = 32, 200, 128
_BLOCK = 16384
#: Below this many words a graph is slower to build than all products, and its recall may be poor.
_SMALL = 2048


class _AnnBackend:
    """Builds a graph of each side when it is first needed."""

    name = ""

    def __init__(self, X: UnitRows, Y: UnitRows, *, threads: int) -> None:
        self.X, self.Y, self.threads = X, Y, threads
        self._graphs: dict[str, Any] = {}

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
            if side not in self._graphs:
                graph = self._graphs[side] = self._new_graph(targets.dim)
                for begin in range(0, targets.n, _BLOCK):
                    block = targets.matrix[begin : begin + _BLOCK]
                    self._add(graph, begin, block)
                    progress("building the index", begin + len(block), targets.n)
            candidates = np.empty((queries.n, depth), dtype=np.int32)
            for begin in range(0, queries.n, _BLOCK):
                block = queries.matrix[begin : begin + _BLOCK]
                candidates[begin : begin + len(block)] = self._nearest(self._graphs[side], block, depth)
                progress("searching", begin + len(block), queries.n)
        found = best_of_candidates(queries, targets, candidates, bias, k, threads=self.threads)
        # A graph may leave a query short of neighbours (many duplicates): those few are searched exactly.
        short = np.flatnonzero(found[0][:, -1] < 0)
        if len(short):
            found[0][short], found[1][short] = exact.forward(queries.take(short), bias, k)
        return found

    def _new_graph(self, dim: int) -> Any:
        raise NotImplementedError

    def _add(self, graph: Any, begin: int, block: Block) -> None:
        raise NotImplementedError

    def _nearest(self, graph: Any, queries: Block, k: int) -> npt.NDArray[np.int64]:
        """(n, k) indices, -1 where the graph finds no more."""
        raise NotImplementedError


class FaissBackend(_AnnBackend):
    """HNSW of faiss-cpu (Johnson, Douze and Jegou 2019)."""

    name = "faiss"

    def _new_graph(self, dim: int) -> Any:
        import faiss

        graph = faiss.IndexHNSWFlat(dim, _LINKS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = _BUILD_EFFORT
        return graph

    def _add(self, graph: Any, begin: int, block: Block) -> None:
        with _faiss_threads(self.threads):
            graph.add(block)

    def _nearest(self, graph: Any, queries: Block, k: int) -> npt.NDArray[np.int64]:
        graph.hnsw.efSearch = max(_SEARCH_EFFORT, 2 * k)
        with _faiss_threads(self.threads):
            found: npt.NDArray[np.int64] = graph.search(np.ascontiguousarray(queries), k)[1]
        return found


@contextlib.contextmanager
def _faiss_threads(threads: int) -> Iterator[None]:
    """faiss keeps one global number of threads: set it for a while and put it back."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


class UsearchBackend(_AnnBackend):
    """HNSW of usearch (Vardanian 2023)."""

    name = "usearch"

    def _new_graph(self, dim: int) -> Any:
        from usearch.index import Index

        return Index(ndim=dim, metric="ip", dtype="f32", connectivity=_LINKS, expansion_add=_BUILD_EFFORT)

    def _add(self, graph: Any, begin: int, block: Block) -> None:
        graph.add(np.arange(begin, begin + len(block)), block, threads=self.threads)

    def _nearest(self, graph: Any, queries: Block, k: int) -> npt.NDArray[np.int64]:
        graph.expansion_search = max(_SEARCH_EFFORT, 2 * k)
        matches = graph.search(queries, k, threads=self.threads)
        keys = np.asarray(matches.keys).reshape(len(queries), -1).astype(np.int64)
        counts = np.asarray(getattr(matches, "counts", keys.shape[1])).reshape(-1, 1)
        return np.where(np.arange(keys.shape[1]) < counts, keys, -1)
