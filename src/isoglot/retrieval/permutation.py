"""The best one-to-one translation of all rows at once: a permutation, not each row's own nearest neighbour.

With as many rows on both sides what CSLS takes off cancels: every row and every column is used once, so that the best
permutation by CSLS is the one by similarity. It matters where one side has rows to spare.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isoglot.retrieval.retriever import EUCLIDEAN_SCORES, Retriever
from isoglot.spaces import FloatMatrix, IntVector, unit_rows

#: Up to so many cells the matrix of all scores is solved as it is; beyond, a sparse one of candidates.
DENSE = 9_000_000
#: Candidates of each row, on both sides.
CANDIDATES = 50
#: Directions along which both sides are sorted, for candidates that surely make a whole permutation.
DIRECTIONS = 3


def best_permutation(
    X: FloatMatrix,
    Y: FloatMatrix,
    *,
    score: str = "csls",
    neighbourhood: int = 10,
    backend: str = "auto",
    threads: int | None = None,
    dense: int = DENSE,
) -> IntVector:
    """Rows (p, 2) of X (n, d) and Y (m, d), each row at most once, p = min(n, m), with the highest sum of scores.

    Exact up to `dense` cells (scipy's `linear_sum_assignment`); beyond, the best permutation among each row's 50 best
    candidates of the other side.

    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], dtype=np.float32)
    >>> best_permutation(X, X[::-1] + 0.9, score="euclidean").tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    from scipy.optimize import linear_sum_assignment

    n, m = len(X), len(Y)
    if n * m > dense:
        return _among_candidates(X, Y, score, neighbourhood, backend, threads)
    columns = _column_means(X, Y, score, neighbourhood, threads) if n != m else None
    rows, chosen = linear_sum_assignment(_scores(X, Y, score, columns), maximize=True)
    return np.stack([rows, chosen], axis=1).astype(np.int64)


def _scores(
    X: FloatMatrix, Y: FloatMatrix, score: str, columns: npt.NDArray[np.float32] | None
) -> npt.NDArray[np.float64]:
    if score in EUCLIDEAN_SCORES:
        origin = Y.mean(axis=0, dtype=np.float64)
        A, B = X - origin, Y - origin
        lengths = np.square(A).sum(axis=1)[:, None] / 2 + np.square(B).sum(axis=1) / 2
        similarity: npt.NDArray[np.float64] = A @ B.T - lengths
    else:
        similarity = (unit_rows(X) @ unit_rows(Y).T).astype(np.float64)
    if columns is not None:
        similarity -= columns / 2
    return similarity


def _column_means(
    X: FloatMatrix, Y: FloatMatrix, score: str, neighbourhood: int, threads: int | None
) -> npt.NDArray[np.float32] | None:
    if score not in ("csls", "csls-euclidean"):
        return None
    return Retriever(X, Y, score=score, neighbourhood=neighbourhood, threads=threads).neighbourhood_means()[1]


def _among_candidates(
    X: FloatMatrix, Y: FloatMatrix, score: str, neighbourhood: int, backend: str, threads: int | None
) -> IntVector:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    retriever = Retriever(X, Y, score=score, neighbourhood=neighbourhood, backend=backend, threads=threads)
    there, back = retriever.top_both(CANDIDATES)
    sure = _sorted_pairs(X, Y)
    rows = [np.repeat(np.arange(len(X)), there.k), back.indices.ravel(), *(pairs[:, 0] for pairs in sure)]
    columns = [there.indices.ravel(), np.repeat(np.arange(len(Y)), back.k), *(pairs[:, 1] for pairs in sure)]
    # A pair of both lists counts once.
    keys = np.unique(np.concatenate(rows) * len(Y) + np.concatenate(columns))
    i, j = keys // len(Y), keys % len(Y)
    scores = _pair_scores(X, Y, i, j, score)
    if score in ("csls", "csls-euclidean") and len(X) != len(Y):
        scores -= retriever.neighbourhood_means()[1][j] / 2
    # What scipy takes for an edge must not be zero.
    costs = scores.max() - scores + 1
    matching = min_weight_full_bipartite_matching(csr_matrix((costs, (i, j)), shape=(len(X), len(Y))))
    return np.stack(matching, axis=1).astype(np.int64)


def _pair_scores(X: FloatMatrix, Y: FloatMatrix, i: IntVector, j: IntVector, score: str) -> npt.NDArray[np.float64]:
    A, B = (X, Y) if score in EUCLIDEAN_SCORES else (unit_rows(X), unit_rows(Y))
    scores = np.empty(len(i), dtype=np.float64)
    for begin in range(0, len(i), 100_000):
        block = slice(begin, begin + 100_000)
        a, b = A[i[block]], B[j[block]]
        if score in EUCLIDEAN_SCORES:
            scores[block] = np.square(a - b, dtype=np.float64).sum(axis=1) / -2
        else:
            scores[block] = np.einsum("ij,ij->i", a, b)
    return scores


def _sorted_pairs(X: FloatMatrix, Y: FloatMatrix) -> list[IntVector]:
    """Whole permutations: both sides sorted along the target's principal directions and paired by rank."""
    size = min(len(X), len(Y))
    centred = Y - Y.mean(axis=0)
    directions = np.linalg.eigh(centred.T.astype(np.float64) @ centred)[1][:, ::-1][:, :DIRECTIONS]
    found = []
    for direction in directions.T:
        orders = [np.argsort(M @ direction, kind="stable") for M in (X, Y)]
        ranks = [order[np.linspace(0, len(order) - 1, size).round().astype(np.int64)] for order in orders]
        found.append(np.stack(ranks, axis=1))
    return found
