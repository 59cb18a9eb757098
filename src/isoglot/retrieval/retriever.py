"""`Retriever`: the best targets of queries, by cosine, distance, CSLS or inverted softmax, exact or approximate.

All scores rank the targets of a query by `similarity + a bias of the target`. A backend finds candidates by
that sum, for one direction or for both from one product; candidates are then scored in double precision. The
similarity is an inner product: of unit rows it is the cosine, of lifted rows (see `_rows.py`) minus half the squared
distance.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, InputError
from isoglot.progress import Progress, silent
from isoglot.retrieval._rows import Found, UnitRows, mean_row
from isoglot.retrieval.backends import Backend, make_backend
from isoglot.retrieval.neighbours import MutualPairs, Neighbours
from isoglot.suggest import unknown
from isoglot.threads import available_threads

#: The scores that go by distance: for spaces of few dimensions, where lengths tell as much as directions.
EUCLIDEAN_SCORES = ("euclidean", "csls-euclidean")
SCORES = ("cosine", "csls", "inverted_softmax", *EUCLIDEAN_SCORES)
_CSLS = ("csls", "csls-euclidean")
Vector = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True, eq=False)
class _Scoring:
    """score(x, y) = factor * (similarity + column_bias[y]) + row_term[x], and the same with the sides exchanged."""

    factor: float
    row_bias: Vector  # (n,)
    column_bias: Vector  # (m,)
    row_term: Vector
    column_term: Vector


def check_score(score: str) -> None:
    """Refuse a score we do not know, before any long work.

    >>> check_score("csls")
    """
    if score not in SCORES:
        raise unknown("score", score, SCORES, where="score")


class Retriever:
    """Search the rows of Y for the rows of X.

    Args:
        X: (n, d) source vectors, Y: (m, d) target vectors: any real dtype, memory maps too. Rows are normalised
            to unit length in float32 copies; a zero row has cosine 0 with everything. For the Euclidean scores
            they are not normalised, only the mean of Y is taken off both sides.
        score: "csls" (Conneau et al. 2018), "cosine" or "inverted_softmax" (Smith et al. 2017; log scores, up to
            a constant of the query); for spaces of few dimensions "euclidean", which is -|x - y|^2 / 2, and
            "csls-euclidean", CSLS with that in place of the cosine. Distances below about a thousandth of the
            distance from the mean are beyond the float32 search for candidates.
        neighbourhood: how many nearest neighbours CSLS takes its means over; 10 as in the paper.
        temperature: the inverse temperature beta of the inverted softmax, above 0 and at most 350. Smith et al.
            learn it on the training dictionary; 30 is a usual value.
        backend: "exact"; "int8" (faster, finds about .999 of the neighbours); "faiss" or "usearch" (approximate, for
            millions of words; not for the inverted softmax, which sums over all words); "auto" for int8 or exact.
            The Euclidean scores take "exact" only, which "auto" then picks.
        threads: default as many as this process may use. Results do not depend on it, save for faiss and
            usearch, whose graphs come out differently when they are built in parallel.
        progress: told how far long searches are.
        means: the CSLS means of X's rows and of Y's rows, as `neighbourhood_means` of an equal Retriever gave
            them, which saves the product they cost.

    k larger than the number of targets is cut to that number, as is `neighbourhood`.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.1], [0.0, 1.0]])
    >>> Y = np.array([[0.0, 2.0], [3.0, 0.0], [1.0, 1.0]])
    >>> Retriever(X, Y, score="cosine", threads=1).top(1).indices.tolist()
    [[1], [0]]
    """

    def __init__(
        self,
        X: npt.ArrayLike,
        Y: npt.ArrayLike,
        *,
        score: str = "csls",
        neighbourhood: int = 10,
        temperature: float = 30.0,
        backend: str = "exact",
        threads: int | None = None,
        progress: Progress = silent,
        means: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> None:
        check_score(score)
        if neighbourhood < 1:
            raise ConfigError(f"must be at least 1, not {neighbourhood}", where="neighbourhood")
        if not 0 < temperature <= 350:  # beyond, exp(-2 beta) vanishes in double precision
            raise ConfigError(f"must be above 0 and at most 350, not {temperature}", where="temperature")
        if score == "inverted_softmax" and backend in ("faiss", "usearch"):
            raise ConfigError(
                f"the inverted softmax sums over all words, which {backend} does not visit",
                where="backend",
                remedy="use the exact or int8 backend, or CSLS",
            )
        if score in EUCLIDEAN_SCORES and backend in ("int8", "faiss", "usearch"):
            raise ConfigError(
                f"{backend} searches by cosine, not by distance",
                where="backend",
                remedy="use the exact backend, or a score that goes by cosine",
            )
        self.score = score
        self.neighbourhood = neighbourhood
        self.temperature = temperature
        self.progress = progress
        #: Where distances are taken from; None where rows are of unit length.
        self._origin = mean_row(Y, "Y") if score in EUCLIDEAN_SCORES else None
        source = self._rows(X, "X")
        target = self._rows(Y, "Y", dim=source.dim, targets=True)
        if self._origin is not None and backend == "auto":
            backend = "exact"
        if not target.n:
            raise InputError("there are no target vectors to search", where="Y")
        self._known_means: tuple[Vector, Vector] | None = None
        if means is not None:
            self._known_means = _checked_means(means[0], source.n), _checked_means(means[1], target.n)
        self._backend: Backend = make_backend(backend, source, target, threads=available_threads(threads))

    @property
    def backend(self) -> str:
        """The backend in use: what "auto" picked, or the substitute for one this CPU cannot run."""
        return self._backend.name

    @property
    def shape(self) -> tuple[int, int]:
        """(rows of X, rows of Y)."""
        return self._backend.X.n, self._backend.Y.n

    def __repr__(self) -> str:
        n, m = self.shape
        return f"Retriever({n} x {m}, {self.score}, {self.backend})"

    def top(self, k: int, *, rows: npt.ArrayLike | None = None, vectors: npt.ArrayLike | None = None) -> Neighbours:
        """The k best rows of Y for these rows of X, for free query vectors (q, d), or for all of X.

        What a score needs to know of all words (the means of CSLS, the sums of the inverted softmax) is
        computed at the first call, at the cost of one product of X and Y, and kept.
        """
        X, Y = self._backend.X, self._backend.Y
        k = self._checked(k, Y.n)
        if vectors is not None:
            if rows is not None:
                raise ConfigError("give rows or vectors, not both", where="rows")
            queries = self._rows(vectors, "vectors", dim=Y.dim)
            term = self._free_terms(queries)
        elif rows is not None:
            numbers = self._checked_rows(rows)
            queries, term = X.take(numbers), self._scoring.row_term[numbers]
        else:
            queries, term = X, self._scoring.row_term
        bias = self._scoring.column_bias
        return self._finish(self._backend.forward(queries, bias, k, progress=self.progress), term)

    def top_both(self, k: int) -> tuple[Neighbours, Neighbours]:
        """The k best rows of Y for each row of X, and of X for each row of Y, from one product."""
        scoring = self._scoring
        k = self._checked(k, max(self.shape))
        there, back = self._backend.both(scoring.row_bias, scoring.column_bias, k, progress=self.progress)
        return self._finish(there, scoring.row_term), self._finish(back, scoring.column_term)

    def mutual(self, k: int = 1) -> MutualPairs:
        """Pairs in which each is among the k best of the other.

        >>> import numpy as np
        >>> Retriever(np.eye(3), np.eye(3)[::-1], score="cosine", threads=1).mutual().pairs.tolist()
        [[0, 2], [1, 1], [2, 0]]
        """
        there, back = self.top_both(k)
        source = np.repeat(np.arange(len(there)), there.k)
        target = there.indices.ravel()
        found = (back.indices[target] == source[:, None]).any(axis=1)
        return MutualPairs(np.stack([source[found], target[found]], axis=1), there.scores.ravel()[found])

    def neighbourhood_means(self) -> tuple[Vector, Vector]:
        """r_T of every row of X and r_S of every row of Y: what CSLS takes off. Computed once, whatever the score."""
        if self._known_means is None:
            from isoglot.retrieval.csls import means_of_nearest

            self._known_means = means_of_nearest(self._backend, self.neighbourhood, progress=self.progress)
        return self._known_means

    def _rows(self, vectors: npt.ArrayLike, name: str, *, dim: int | None = None, targets: bool = False) -> UnitRows:
        if self._origin is None:
            return UnitRows.of(vectors, name, dim=dim)
        return UnitRows.lifted(vectors, name, self._origin, targets=targets)

    @cached_property
    def _scoring(self) -> _Scoring:
        backend = self._backend
        n, m = self.shape
        none, none_columns = np.zeros(n, dtype=np.float32), np.zeros(m, dtype=np.float32)
        if self.score in _CSLS:
            row_means, column_means = self.neighbourhood_means()
            half = np.float32(-0.5)
            return _Scoring(2.0, half * row_means, half * column_means, -row_means, -column_means)
        if self.score == "inverted_softmax":
            from isoglot.retrieval.inverted_softmax import log_normalisers

            beta = self.temperature
            over_targets, over_sources = log_normalisers(
                backend.X, backend.Y, beta, threads=backend.threads, progress=self.progress
            )
            row_bias, column_bias = (-sums / beta for sums in (over_targets, over_sources))
            return _Scoring(beta, row_bias.astype(np.float32), column_bias.astype(np.float32), none, none_columns)
        return _Scoring(1.0, none, none_columns, none, none_columns)

    def _free_terms(self, queries: UnitRows) -> Vector:
        if self.score not in _CSLS:
            return np.zeros(queries.n, dtype=np.float32)
        from isoglot.retrieval.csls import mean_of_nearest

        return -mean_of_nearest(self._backend, queries, self.neighbourhood, progress=self.progress)

    def _finish(self, found: Found, term: Vector) -> Neighbours:
        indices, sums = found
        return Neighbours(indices, sums * np.float32(self._scoring.factor) + term[:, None])

    def _checked(self, k: Any, most: int) -> int:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ConfigError(f"k must be a whole number of at least 1, not {k!r}", where="k")
        return min(int(k), most)

    def _checked_rows(self, rows: npt.ArrayLike) -> npt.NDArray[np.int64]:
        numbers = np.asarray(rows)
        n = self._backend.X.n
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise InputError("must be a list of row numbers", where="rows")
        outside = (numbers < 0) | (numbers >= n)
        if outside.any():
            raise InputError(f"row {numbers[outside][0]} is outside the {n} rows of X", where="rows")
        return numbers.astype(np.int64)


def _checked_means(means: npt.ArrayLike, n: int) -> Vector:
    checked = np.ascontiguousarray(means, dtype=np.float32)
    if checked.shape != (n,) or not np.isfinite(checked).all():
        raise InputError(f"must be {n} finite numbers a side, found shape {checked.shape}", where="means")
    return checked
