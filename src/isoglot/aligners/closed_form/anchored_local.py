"""A map that moves text only near what it has seen: kernel ridge regression of the change that the pairs ask for.

The source vector x becomes x + k(x, C) A, where C are centres among the pairs and k falls with the distance: far from
all pairs it stays where it is. This is the mean of a Gaussian process (Rasmussen & Williams 2006, chapter 2) whose
prior mean is the identity; with few centres for many pairs it is their "subset of regressors" (chapter 8).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, Side, Tensors
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.closed_form.pull import CHOICES, FEW, choose_pull
from isoglot.errors import ShapeError
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector

Floats = npt.NDArray[np.float64]

#: Pulls to choose from: the variance of noise, where the kernel is 1 at a distance of 0. The last is the identity.
GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 10_000.0)
_FEW_PULL = 1.0
#: Rows that are mapped at once: the kernel of 4,096 rows and 2,000 centres takes 32 MB.
_BLOCK = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class LocalAlignment(Alignment):
    """The source is moved by what its nearest centres say; the target side stays as it is.

    centres: (m, d), moves: (m, d), spread: (1,), the squared distance at which the kernel has fallen to 1/e.
    """

    centres: FloatMatrix
    moves: FloatMatrix
    spread: npt.NDArray[np.float32]

    kind: ClassVar[str] = "local"

    def _map(self, X: FloatMatrix, side: Side) -> FloatMatrix:
        if side == "tgt":
            return X
        if X.shape[1] != self.centres.shape[1]:
            raise ShapeError(f"vectors have {X.shape[1]} dimensions, the src map takes {self.centres.shape[1]}")
        mapped = np.empty_like(X)
        for start in range(0, len(X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            mapped[rows] = X[rows] + kernel(X[rows], self.centres, float(self.spread[0])) @ self.moves
        return mapped

    def _check_maps(self) -> None:
        if self.centres.ndim != 2 or self.moves.shape != self.centres.shape or self.spread.shape != (1,):
            raise ShapeError(f"{self.centres.shape} centres, {self.moves.shape} moves, {self.spread.shape} spreads")
        if not self.spread[0] > 0:
            raise ShapeError(f"a spread of {self.spread[0]}")
        for normaliser in (self.src_normaliser, self.tgt_normaliser):
            if normaliser.output_dim not in (None, self.centres.shape[1]):
                raise ShapeError(f"centres of {self.centres.shape[1]} dimensions after {normaliser.output_dim}")

    def _tensors(self) -> Tensors:
        return {"centres": self.centres, "moves": self.moves, "spread": self.spread}

    @classmethod
    def _from_tensors(cls, tensors: Tensors, **common: Any) -> LocalAlignment:
        maps: dict[str, Any] = dict(tensors)
        return cls(**common, **maps)


@method(
    "anchored-local",
    "moves text near the pairs and leaves the rest where it is; for encoders that already share a space",
    supervision="supervised",
    cost="the kernel of n pairs and m centres, thirty linear systems to choose the pull: O(n m² + m³)",
    paper="Rasmussen & Williams 2006",
)
class AnchoredLocal(Aligner):
    """Move the source by kernel ridge regression of Y - X on X, centred rows of length one.

    Differs from the paper:
        - One kernel of a fixed width for all dimensions; only the noise is chosen, by retrieval of pairs held out.

    Args:
        spread: squared distance at which a pair's say has fallen to 1/e; rows have length one, so that 2 is the
            distance of two rows that have nothing in common.
        pull: variance of noise; None chooses it by cross-validation over the pairs; of fewer than 25 nothing can be
            held out, and it is 1.
        choice: "safe" takes the largest pull that finds hardly fewer of the pairs held out than the best, "best" the
            best one.
        tolerance: what is hardly fewer: this share of what the best pull gains on the largest, or one standard error
            if that is more.
        centres: number of source rows among the pairs that the map is made of, drawn at random.

    >>> import numpy as np
    >>> X = np.eye(4)
    >>> alignment = AnchoredLocal(normalise="none", pull=1e-3).fit(X, X[::-1], [[0, 0], [1, 1]])
    >>> bool(np.allclose(alignment.transform(X[:1]), X[3], atol=0.01))
    True
    >>> alignment.transform([[9, 9, 9, 9]]).tolist()
    [[9.0, 9.0, 9.0, 9.0]]
    """

    spread: float = 1.0
    pull: float | None = None
    choice: str = "safe"
    tolerance: float = 0.01
    centres: int = 2000

    limits: ClassVar[Limits] = {
        "spread": "(0, inf)",
        "choice": CHOICES,
        "tolerance": "[0, 1)",
        "centres": "[1, inf)",
    }

    def _fit(self, problem: Problem) -> Alignment:
        X, Y, pairs = problem.X, problem.Y, problem.pairs
        sources, number = np.unique(pairs[:, 0], return_inverse=True)
        drawn = problem.rng.permutation(len(sources))[: self.centres]
        centres = X[sources[np.sort(drawn)]]
        near = kernel(X[sources], centres, self.spread)  # (sources, m)
        among = kernel(centres, centres, self.spread)
        change = (Y[pairs[:, 1]] - X[pairs[:, 0]]).astype(np.float64)
        gram, asked = _moments(near[number], change)

        def fold(kept: IntVector) -> Callable[[float], Callable[[IntVector], FloatMatrix]]:
            held = kernel(X[kept[:, 0]], centres, self.spread)
            held_gram, held_asked = _moments(held, (Y[kept[:, 1]] - X[kept[:, 0]]).astype(np.float64))

            def mapped(pull: float) -> Callable[[IntVector], FloatMatrix]:
                moves = local_moves(gram - held_gram, asked - held_asked, among, pull).astype(np.float32)
                return lambda rows: X[rows] + near[np.searchsorted(sources, rows)] @ moves

            return mapped

        pull, info = self.pull, {}
        if pull is None and len(pairs) < FEW:
            pull, info = _FEW_PULL, {"choice": "too few pairs"}
        elif pull is None:
            pull, info = choose_pull(
                Y,
                pairs,
                GRID,
                fold,
                choice=self.choice,
                tolerance=self.tolerance,
                seed=self.seed,
                progress=problem.progress,
            )
        moves = local_moves(gram, asked, among, pull).astype(np.float32)
        return LocalAlignment.learned(
            centres=centres,
            moves=moves,
            spread=np.array([self.spread], dtype=np.float32),
            info={"pull": pull, "pull_choice": info},
        )


def kernel(X: FloatMatrix, centres: FloatMatrix, spread: float) -> FloatMatrix:
    """exp(-|x - c|² / spread) of all rows and centres, (n, m).

    >>> kernel(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), 2.0).round(3).tolist()
    [[1.0, 0.36800000071525574], [0.36800000071525574, 1.0]]
    """
    lengths = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", centres, centres)
    near: FloatMatrix = np.exp(np.minimum(2 * (X @ centres.T) - lengths, 0) / spread, dtype=np.float32)
    return near


def local_moves(gram: Floats, asked: Floats, among: FloatMatrix, pull: float) -> Floats:
    """The A that minimises ||K A - R||² + pull tr(A' M A), of K'K, K'R and the centres' own kernel M (m, m)."""
    system = gram + pull * among
    # Rows that are written twice make it singular; this is the rounding of float32 kernels.
    system[np.diag_indices(len(system))] += 1e-6 * np.trace(system) / len(system)
    from scipy.linalg import solve  # slow to import, and needed here alone

    moves: Floats = solve(system, asked, assume_a="pos")
    return moves


def _moments(near: FloatMatrix, change: Floats) -> tuple[Floats, Floats]:
    near64 = near.astype(np.float64)
    return near64.T @ near64, near64.T @ change
