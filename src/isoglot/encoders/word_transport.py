"""Word alignment as transport: each sentence is a pile of words, and the cheapest way to turn one into the other links.

After Arase, Bao & Yokoi 2023 (Unbalanced Optimal Transport for Unbalanced Word Alignment): words weigh the same, costs
are scaled to [0, 1] in each sentence pair, and a link is a cell of the plan that is large enough. Balanced transport
must bring every word somewhere; unbalanced transport pays for words left behind, which leaves those without a partner
unlinked. Our rule for "large enough" looks at the maxima of row and column, so that it does not depend on the length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners.transport import load_pot, transport_plan
from isoglot.errors import ConfigError
from isoglot.lexicons.links import WordLinks

__all__ = ["transport", "unbalanced_plan", "unbalanced_transport"]

Matrix = npt.NDArray[np.floating[Any]]


def transport(S: Matrix, *, epsilon: float = 0.1, threshold: float = 0.8) -> WordLinks:
    """Links of the balanced plan, many to many; a score is a cell's share of the larger of its two words' weights.

    Args:
        epsilon: how much the plan is blurred, in units of the pair's range of similarities.
        threshold: a link's cell has at least this share of its row's and of its column's maximum.

    >>> sorted(transport(np.array([[0.9, 0.1], [0.2, 0.8]])).sure)
    [(0, 0), (1, 1)]
    """
    _check(threshold=threshold)
    plan = transport_plan(_cost(S), epsilon, iterations=1000)
    return _large_cells(plan, threshold)


def unbalanced_transport(
    S: Matrix, *, epsilon: float = 0.05, penalty: float = 0.3, threshold: float = 0.5, kept: float = 0.35
) -> WordLinks:
    """The same with a plan that may leave words behind.

    Args:
        epsilon, threshold: as in `transport`.
        penalty: price of weight left behind (Kullback-Leibler divergence), in units of the pair's range of
            similarities; at infinity the plan is balanced.
        kept: a word that keeps less than this share of its weight in the plan is left unlinked.

    >>> sorted(unbalanced_transport(np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])).sure)
    [(0, 0), (1, 1)]
    """
    _check(threshold=threshold, kept=kept)
    plan = unbalanced_plan(_cost(S), epsilon, penalty)
    n, m = plan.shape
    whole = (plan.sum(axis=1, keepdims=True) * n >= kept) & (plan.sum(axis=0) * m >= kept)
    return _large_cells(np.where(whole, plan, 0), threshold)


def unbalanced_plan(cost: Matrix, epsilon: float, penalty: float) -> npt.NDArray[np.float64]:
    """The entropic plan (n, m) of uniform words that pays `penalty` times the divergence of its margins from theirs.

    >>> plan = unbalanced_plan(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), 0.05, 0.3)
    >>> bool(plan[2].sum() < plan[0].sum() / 2)
    True
    """
    if not epsilon > 0:
        raise ConfigError(f"must be above 0, not {epsilon}", where="epsilon")
    if not penalty > 0:
        raise ConfigError(f"must be above 0, not {penalty}", where="penalty")
    ot = load_pot()
    weights = [np.full(size, 1 / size) for size in cost.shape]
    # Majorisation-minimisation takes no exponential of cost / epsilon. POT's Sinkhorn solvers do: the plain one gives
    # NaN at a small epsilon, and the stabilised one, in 0.9.7, a wrong plan from 0.02 down.
    plan = ot.unbalanced.mm_unbalanced(
        *weights, cost.astype(np.float64), penalty, c=np.outer(*weights), reg=epsilon, stopThr=1e-5
    )
    return np.asarray(plan, dtype=np.float64)


def _cost(S: Matrix) -> npt.NDArray[np.float64]:
    """Cosines of contextual vectors fill a narrow band that differs between encoders: scale it to [0, 1]."""
    low, high = float(S.min()), float(S.max())
    return np.asarray((high - S.astype(np.float64)) / ((high - low) or 1.0))


def _large_cells(plan: Matrix, threshold: float) -> WordLinks:
    limit = threshold * np.maximum(plan.max(axis=1, keepdims=True), plan.max(axis=0))
    rows, columns = np.nonzero((plan >= limit) & (plan > 0))
    return WordLinks.from_arrays(rows, columns, plan[rows, columns] * max(plan.shape))


def _check(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ConfigError(f"must lie between 0 and 1, not {share}", where=name)
