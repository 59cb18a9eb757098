"""Tune the map for the score that will be used: a relaxed CSLS criterion.

Joulin, Bojanowski, Mikolov, Jégou and Grave 2018, "Loss in translation: learning bilingual word mapping with a
retrieval criterion".
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.held_out import ENOUGH, Ranks, folds, hold_out, ranked_by_csls, source_weights, within_one_error
from isoglot.retrieval import Retriever
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector, unit_rows

Floats = npt.NDArray[np.float64]
#: Parts that few words are cut into, each held out once.
_FOLDS = 5
_MAPS = ("W", "gradient", "best")


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
    held-out seeds as well as any, within one standard error. Where fewer than 100 words would be held out, each word is
    held out once, in one of five parts, and the map then learns from all pairs for as many steps: a few words drawn by
    the seed would choose the step by luck. With fewer than 100 source words none are held out and the last step is
    kept.

    Differs from the paper:
        - Held-out seeds choose the step to keep, and a step that raises the loss is taken back.
        - Every source word counts the same, however many translations it has (`weigh_sources`).
        - All rows are brought to unit length.

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

    limits: ClassVar[Limits] = {
        "iterations": "[1, inf)",
        "lr": "(0, inf)",
        "neighbourhood": "[1, inf)",
        "held_out": "[0, 1)",
        "max_neighbours": "[1, inf)",
    }

    def _fit(self, problem: Problem) -> Alignment:
        # The loss is about cosines, so rows have length one here whatever `normalise` left.
        X, Y = unit_rows(problem.X), unit_rows(problem.Y)
        learn, kept = hold_out(problem.pairs, self.held_out, self.seed)
        state = problem.checkpoint.load()
        steps, words, validated = self.iterations, len(np.unique(kept[:, 0])), None
        if 0 < words < ENOUGH:
            words = len(np.unique(problem.pairs[:, 0]))
            learn, kept = problem.pairs, problem.pairs[:0]
            known = None if state is None else state.tensors.get("validated")
            validated = self._validated(X, Y, problem) if known is None else known
            steps = _last_good(validated)
        if state is None:
            now = self._start(X, Y, learn)
            best, top, first = now.W, self._ranks(now.W, X, Y, kept), 0
            history: list[dict[str, Any]] = [_facts(0, now.loss, top if validated is None else validated[0], now.lr)]
        else:
            W, gradient, best = (np.asarray(state.tensors[name], dtype=np.float64) for name in _MAPS)
            top = np.asarray(state.tensors["top"])
            loss, lr = (float(number) for number in state.tensors["numbers"])
            now, first, history = _Descent(W, loss, gradient, lr), state.step, list(state.facts["history"])
        for step in range(first, steps):
            problem.progress("RCSLS", step, steps)
            before, (now, tried) = now, self._step(now, X, Y, learn)
            ranks = top[:0]
            if now.W is not before.W:
                ranks = self._ranks(now.W, X, Y, kept)
                best = now.W if within_one_error(ranks, top) else best
                top = max(ranks, top, key=_mean)
            history.append(_facts(step + 1, tried, ranks if validated is None else validated[step + 1], now.lr))
            tensors = {"W": now.W, "gradient": now.gradient, "best": best, "top": top}
            tensors["numbers"] = np.array([now.loss, now.lr])
            tensors["validated"] = np.zeros((0, 0)) if validated is None else validated
            problem.checkpoint.save(step + 1, tensors, {"history": history})
        problem.progress("RCSLS", steps, steps)
        info = {"history": history, "held_out_words": words, "folds": 1 if validated is None else _FOLDS}
        return LinearAlignment.learned(W_src=best.astype(np.float32), info=info)

    def _validated(self, X: FloatMatrix, Y: FloatMatrix, problem: Problem) -> Floats:
        """Reciprocal ranks of all source words after each step, (steps + 1, words), each word of a map without it."""
        found = []
        for number, (learn, kept) in enumerate(folds(problem.pairs, _FOLDS, self.seed)):
            problem.progress("RCSLS, choosing the step", number, _FOLDS)
            now = self._start(X, Y, learn)
            ranks = [self._ranks(now.W, X, Y, kept)]
            for _ in range(self.iterations):
                before, (now, _) = now, self._step(now, X, Y, learn)
                ranks.append(ranks[-1] if now.W is before.W else self._ranks(now.W, X, Y, kept))
            found.append(np.stack(ranks))
        problem.progress("RCSLS, choosing the step", _FOLDS, _FOLDS)
        return np.concatenate(found, axis=1)

    def _start(self, X: FloatMatrix, Y: FloatMatrix, learn: IntVector) -> _Descent:
        W = _rotation(X, Y, learn, self._weights(learn))
        return _Descent(W, *self._loss(W, X, Y, learn), self.lr)

    def _step(self, now: _Descent, X: FloatMatrix, Y: FloatMatrix, learn: IntVector) -> tuple[_Descent, float]:
        """The next state, the same map with half the rate if the step raised the loss, and the loss that was tried."""
        tried = now.W - now.lr * now.gradient
        if self.spectral:
            tried = _into_ball(tried)
        loss, gradient = self._loss(tried, X, Y, learn)
        if loss < now.loss:
            return _Descent(tried, loss, gradient, now.lr), loss
        return dataclasses.replace(now, lr=now.lr / 2), loss

    def _loss(self, W: Floats, X: FloatMatrix, Y: FloatMatrix, learn: IntVector) -> tuple[float, Floats]:
        options = {"neighbourhood": self.neighbourhood, "max_neighbours": self.max_neighbours}
        return rcsls_loss(W, X, Y, learn, self._weights(learn), **options)

    def _weights(self, learn: IntVector) -> npt.NDArray[np.float64]:
        weights = source_weights(learn) if self.weigh_sources else np.ones(len(learn))
        shares: npt.NDArray[np.float64] = weights / weights.sum()
        return shares

    @staticmethod
    def _ranks(W: Floats, X: FloatMatrix, Y: FloatMatrix, kept: IntVector) -> Ranks:
        return ranked_by_csls(X, Y, kept, W.astype(np.float32))


@dataclasses.dataclass(frozen=True, eq=False)
class _Descent:
    """Where gradient descent is: the map, its loss and gradient, and the length of the next step."""

    W: Floats
    loss: float
    gradient: Floats
    lr: float


def _last_good(ranks: Floats) -> int:
    """The last step that ranks the words as well as any, within one standard error: row of (steps + 1, words)."""
    top = ranks[int(np.argmax(ranks.mean(axis=1)))]
    return max(step for step, row in enumerate(ranks) if within_one_error(row, top))


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


def _rotation(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, weights: npt.NDArray[np.float64]) -> Floats:
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
