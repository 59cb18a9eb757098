"""Tune the map for the score that will be used: a relaxed CSLS criterion.

Joulin, Bojanowski, Mikolov, Jégou and Grave 2018, "Loss in translation: learning bilingual word mapping with a
retrieval criterion".
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners._held_out import Ranks, hold_out, ranked_by_csls, source_weights, within_one_error
from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.errors import ConfigError
from isoglot.retrieval import Retriever
from isoglot.spaces import FloatMatrix, IntVector
from isoglot.spaces.normalise import unit_rows

__all__ = ["RCSLS", "rcsls_loss"]

Floats = npt.NDArray[np.float64]


@method(
    "rcsls",
    "a map tuned for CSLS retrieval on translation pairs",
    supervision="supervised",
    linear=True,
    cost="a step: the pairs against both vocabularies, O(p (n + m) d), never an n x m matrix",
    paper="Joulin et al. 2018",
    iterative=True,
)
@dataclasses.dataclass(frozen=True)
class RCSLS(Aligner):
    """Gradient descent on the relaxed CSLS loss, from the Procrustes rotation. `normalise="iterative"` is "RCSLS + IN".

    A step that raises the loss is taken back and halved. The step kept in the end is the last one that ranks the
    held-out seeds as well as any, within one standard error; with fewer than 100 source words none are held out and
    the last step is kept.

    Args:
        iterations: steps of gradient descent, 10 as in the paper.
        lr: length of the first step; the reference tries 1 to 50.
        neighbourhood: nearest neighbours in the loss, 10 as in the paper.
        spectral: keep the map in the ball of spectral norm 1, the paper's convex relaxation of a rotation; False
            leaves it free, which the paper found better with many clean pairs.
        weigh_sources: let every source word count the same, however many translations it has.
        held_out: share of the source words kept back to choose the step; 0 for none.
        max_neighbours: rows of each side that may be neighbours, the first ones; 200,000 as in the paper.
    """

    iterations: int = 10
    lr: float = 10.0
    neighbourhood: int = 10
    spectral: bool = False
    weigh_sources: bool = True
    held_out: float = 0.1
    max_neighbours: int = 200_000

    def _fit(self, problem: Problem) -> Alignment:
        _check(self)
        # The loss is about cosines, so rows have length one here whatever `normalise` left.
        X, Y = unit_rows(problem.X), unit_rows(problem.Y)
        learn, kept = hold_out(problem.pairs, self.held_out, self.seed)
        weights = source_weights(learn) if self.weigh_sources else np.ones(len(learn))
        weights = weights / weights.sum()
        options = {"neighbourhood": self.neighbourhood, "max_neighbours": self.max_neighbours}

        state = problem.checkpoint.load()
        if state is None:
            W = _start(X, Y, learn, weights)
            loss, gradient = rcsls_loss(W, X, Y, learn, weights, **options)
            best, top = W, self._ranks(W, X, Y, kept)
            lr, first = self.lr, 0
            history: list[dict[str, Any]] = [_facts(0, loss, top, lr)]
        else:
            W, gradient, best = (np.asarray(state.tensors[name]) for name in ("W", "gradient", "best"))
            top = np.asarray(state.tensors["top"])
            loss, lr = (float(number) for number in state.tensors["numbers"])
            first, history = state.step, list(state.facts["history"])
        for step in range(first, self.iterations):
            problem.progress("RCSLS", step, self.iterations)
            tried = W - lr * gradient
            if self.spectral:
                tried = _into_ball(tried)
            new_loss, new_gradient = rcsls_loss(tried, X, Y, learn, weights, **options)
            if new_loss < loss:
                W, loss, gradient = tried, new_loss, new_gradient
                ranks = self._ranks(W, X, Y, kept)
                best = W if within_one_error(ranks, top) else best
                top = max(ranks, top, key=_mean)
            else:
                lr, ranks = lr / 2, top[:0]
            history.append(_facts(step + 1, new_loss, ranks, lr))
            numbers = np.array([loss, lr])
            tensors = {"W": W, "gradient": gradient, "best": best, "top": top, "numbers": numbers}
            problem.checkpoint.save(step + 1, tensors, {"history": history})
        problem.progress("RCSLS", self.iterations, self.iterations)
        info = {"history": history, "held_out_words": len(np.unique(kept[:, 0]))}
        return LinearAlignment.learned(W_src=best.astype(np.float32), info=info)

    @staticmethod
    def _ranks(W: Floats, X: FloatMatrix, Y: FloatMatrix, kept: IntVector) -> Ranks:
        return ranked_by_csls(X, Y, kept, W.astype(np.float32))


def rcsls_loss(
    W: Floats,
    X: FloatMatrix,
    Y: FloatMatrix,
    pairs: IntVector,
    weights: npt.NDArray[np.float64],
    *,
    neighbourhood: int = 10,
    max_neighbours: int = 200_000,
) -> tuple[float, Floats]:
    """The relaxed CSLS loss of the map W (d, d) and its gradient.

    The loss is the weighted mean over pairs (x, y) of `-2 xW·y + mean of xW·y' + mean of x'W·y`: y' runs over the
    nearest targets of xW, x' over the nearest sources of y. Rows of X (n, d) and Y (m, d) have length one.

    >>> import numpy as np
    >>> X = np.eye(3, dtype=np.float32)
    >>> loss, _ = rcsls_loss(np.eye(3), X, X, np.array([[0, 0]]), np.ones(1), neighbourhood=1)
    >>> loss
    0.0
    """
    A, B = X[pairs[:, 0]].astype(np.float64), Y[pairs[:, 1]].astype(np.float64)
    near_y = _mean_of_nearest(A @ W, Y[:max_neighbours], neighbourhood)
    # x'W·y = x'·yWᵀ: the sources themselves are searched, whose length is one, so that cosines rank like products.
    near_x = _mean_of_nearest(B @ W.T, X[:max_neighbours], neighbourhood)
    weighted_A, weighted_B = A * weights[:, None], B * weights[:, None]
    gradient: Floats = weighted_A.T @ (near_y - 2 * B) + near_x.T @ weighted_B
    # Between changes of neighbours the loss is linear in W.
    return float(np.sum(W * gradient)), gradient


def _mean_of_nearest(queries: Floats, rows: FloatMatrix, k: int) -> Floats:
    """The mean of the k nearest rows of each query, (p, d)."""
    found = Retriever(queries.astype(np.float32), rows, score="cosine").top(k).indices
    sums: Floats = np.zeros(queries.shape)
    for column in found.T:  # one neighbour at a time: p * k * d numbers would be large
        sums += rows[column]
    sums /= found.shape[1]
    return sums


def _start(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, weights: npt.NDArray[np.float64]) -> Floats:
    U, _, Vt = np.linalg.svd((X[pairs[:, 0]] * weights[:, None]).T @ Y[pairs[:, 1]])
    W: Floats = U @ Vt
    return W


def _into_ball(W: Floats) -> Floats:
    """The nearest map whose singular values are at most 1."""
    U, values, Vt = np.linalg.svd(W)
    clipped: Floats = (U * np.minimum(values, 1)) @ Vt
    return clipped


def _mean(ranks: Ranks) -> float:
    return float(ranks.mean()) if len(ranks) else 0.0


def _facts(step: int, loss: float, ranks: Ranks, lr: float) -> dict[str, Any]:
    """A step that was taken back has no ranks."""
    return {"step": step, "loss": loss, "held_out_rank": _mean(ranks) if len(ranks) else None, "lr": lr}


def _check(settings: RCSLS) -> None:
    for name in ("iterations", "neighbourhood", "max_neighbours"):
        if getattr(settings, name) < 1:
            raise ConfigError(f"{name} must be at least 1, got {getattr(settings, name)}")
    if settings.lr <= 0:
        raise ConfigError(f"lr must be above 0, got {settings.lr}")
    if not 0 <= settings.held_out < 1:
        raise ConfigError(f"held_out must be at least 0 and below 1, got {settings.held_out}")
