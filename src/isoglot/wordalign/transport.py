"""Word alignment as transport: each sentence is a pile of words, and the cheapest way to turn one into the other links.

After Arase, Bao & Yokoi 2023 (Unbalanced Optimal Transport for Unbalanced Word Alignment): words weigh the same, costs
are scaled to [0, 1] in each sentence pair, and a link is a cell of the plan that is large enough. Balanced transport
must bring every word somewhere; unbalanced transport pays for words left behind, which leaves those without a partner
unlinked. Our rule for "large enough" looks at the maxima of row and column, so that it does not depend on the length.

`word_ot` is another transport, the one that the objective WordOT trains encoders with (Alqahtani et al. 2021): it shows
what a trained encoder has learned to carry where.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners import load_pot, transport_plan
from isoglot.errors import ConfigError
from isoglot.wordalign.links import WordLinks

Matrix = npt.NDArray[np.floating[Any]]
Double = npt.NDArray[np.float64]

#: At each blur: rounds at most, quick steps in a round, and what share of a word's weight may be missed at the end.
_ROUNDS, _QUICK, _ENOUGH = 100, 20, 1e-3
#: The smallest blur that numbers can tell, as a share of the widest one; there, the plan is all but the exact one.
_FINEST = 1e-6
#: A share of the plan is no more exact than this, so one that lacks as much of the threshold still reaches it.
_EXACT = 1e-3


def transport(S: Matrix, *, epsilon: float = 0.1, threshold: float = 0.8) -> WordLinks:
    """Links of the balanced plan, many to many; a score is a cell's share of the smaller of its two words' weights.

    Args:
        epsilon: how much the plan is blurred, in units of the pair's range of similarities.
        threshold: a link's cell has at least this share of its row's and of its column's maximum.

    >>> sorted(transport(np.array([[0.9, 0.1], [0.2, 0.8]])).sure)
    [(0, 0), (1, 1)]
    """
    _check(threshold=threshold)
    return _large_cells(similarity_plan(S, epsilon), threshold)


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
    plan = unbalanced_similarity_plan(S, epsilon, penalty)
    n, m = plan.shape
    whole = (plan.sum(axis=1, keepdims=True) * n >= kept) & (plan.sum(axis=0) * m >= kept)
    return _large_cells(np.where(whole, plan, 0), threshold)


def word_ot(S: Matrix, *, blur: float = 0.05, threshold: float = 0.8) -> WordLinks:
    """Links of the plan that WordOT trains with, of the dot products `S` of vectors as they come; many to one.

    A link is a cell that carries most of the lighter of its two words, which is a word of the longer sentence: that has
    one link or none, and a word of the shorter one as many as it fills. A score is the share carried. It depends on no
    length, and no cell is large only because others are small. Words of one sentence that have the same vector share
    what they are carried to, and may all stay below the threshold.

    Rule and threshold were chosen on generated text of five kinds (`simulate_parallel`), with a tiny encoder that was
    rotated or trained with WordOT: mean F1 .836 and .542. The rule of `transport` gets .829 and .532 at its best
    threshold; from .7 to .9 ours differs by a point at most.

    Args:
        blur: see `word_ot_plan`; that of the training.
        threshold: the share. At .5 and below, a word of the longer sentence may have several links.

    >>> sorted(word_ot(np.array([[9.0, 1.0, 0.0, 1.0], [2.0, 8.0, 7.0, 0.0]])).sure)
    [(0, 0), (0, 3), (1, 1), (1, 2)]
    """
    _check(threshold=threshold)
    shares = word_ot_plan(S, blur) * max(S.shape)
    rows, columns = np.nonzero((shares >= threshold - _EXACT) & (shares > 0))
    return WordLinks.from_arrays(rows, columns, shares[rows, columns])


def similarity_plan(S: Matrix, epsilon: float) -> Matrix:
    """The plan of `transport`: balanced, of similarities."""
    if len(S) > S.shape[1]:  # the side that a step begins with must not depend on which language comes first
        return similarity_plan(S.T, epsilon).T
    return transport_plan(_cost(S), epsilon, iterations=1000)


def unbalanced_similarity_plan(S: Matrix, epsilon: float, penalty: float) -> Double:
    """The plan of `unbalanced_transport`."""
    return unbalanced_plan(_cost(S), epsilon, penalty)


def word_ot_plan(S: Matrix, blur: float) -> Double:
    """The entropic plan (n, m) of uniform words whose cost is half the squared distance and whose epsilon is blur ** 2.

    |x - y|^2 / 2 = |x|^2 / 2 + |y|^2 / 2 - x y, and the first two raise whole rows and columns of the costs, which
    changes no plan: dot products are enough. `isoglot.finetuning.transport_plan` solves the same problem, in batches.

    Raw vectors lie thousands of epsilons apart, where POT's Sinkhorn, log domain or not, is far from the end after
    10,000 steps. Here the blur falls by halves, each beginning where the last one ended.

    >>> word_ot_plan(np.array([[0.0, 4.0], [4.0, 0.0]]), 0.05).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    if not 0 < blur < np.inf:
        raise ConfigError(f"must be above 0, not {blur}", where="blur")
    if len(S) > S.shape[1]:  # as in `similarity_plan`
        return word_ot_plan(S.T, blur).T
    gain = S.astype(np.float64)
    gain -= gain.max()
    f, g = np.zeros((len(S), 1)), np.zeros((1, S.shape[1]))  # log-weights that make the kernel a plan
    last = widest = max(float(np.sqrt(-2 * gain.min())), blur)
    blur = max(blur, _FINEST * widest)
    for now in [*(widest / 2**fall for fall in range(math.ceil(math.log2(widest / blur)))), blur]:
        kernel = gain / now / now
        f, g = _sinkhorn(kernel, (last / now) ** 2 * f, (last / now) ** 2 * g)
        last = now
    return _with_margins(np.exp(kernel + f + g))


def unbalanced_plan(cost: Matrix, epsilon: float, penalty: float) -> Double:
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
        *weights, cost.astype(np.float64), penalty, c=np.outer(*weights), reg=epsilon, stopThr=1e-6, numItermax=10_000
    )
    return np.asarray(plan, dtype=np.float64)


def _cost(S: Matrix) -> Double:
    """Cosines of contextual vectors fill a narrow band that differs between encoders: scale it to [0, 1]."""
    low, high = float(S.min()), float(S.max())
    return np.asarray((high - S.astype(np.float64)) / ((high - low) or 1.0))


def _sinkhorn(kernel: Double, f: Double, g: Double) -> tuple[Double, Double]:
    """Log-weights f (n, 1) and g (1, m) by which exp(kernel + f + g) has uniform margins, from those of a wider one."""
    n, m = kernel.shape
    for _ in range(_ROUNDS):
        # In the log domain nothing vanishes; then quick steps on the plan itself, for as long as its numbers last.
        f = -_log_sum(kernel + g, axis=1) - math.log(n)
        g = -_log_sum(kernel + f, axis=0) - math.log(m)
        plan = np.exp(kernel + f + g)
        u, v = np.ones((n, 1)), np.ones((1, m))
        with np.errstate(all="ignore"):
            for _ in range(_QUICK):
                missed = n * u * (plan @ v.T)
                u = u / missed
                v = 1 / (m * (u.T @ plan))
            log_u, log_v = np.log(u), np.log(v)
        if np.isfinite(log_u).all() and np.isfinite(log_v).all():
            f, g = f + log_u, g + log_v
            if np.abs(missed - 1).max() < _ENOUGH:
                break
    return f, g


def _log_sum(powers: Double, axis: int) -> Double:
    """log(sum(exp)); scipy's takes ten times as long for matrices of this size."""
    top = powers.max(axis=axis, keepdims=True)
    powers -= top
    np.exp(powers, out=powers)
    return np.asarray(top + np.log(powers.sum(axis=axis, keepdims=True)))


def _with_margins(plan: Double) -> Double:
    """What is left wrong, set right as in Altschuler et al. 2017: too much is cut, and what then lacks is spread."""
    n, m = plan.shape
    plan *= np.minimum(1 / (n * plan.sum(axis=1, keepdims=True)), 1)
    plan *= np.minimum(1 / (m * plan.sum(axis=0)), 1)
    rows = np.maximum(1 / n - plan.sum(axis=1, keepdims=True), 0)
    columns = np.maximum(1 / m - plan.sum(axis=0), 0)
    lack = float(rows.sum())
    return plan + rows * columns / lack if lack > 0 else plan


def _large_cells(plan: Matrix, threshold: float) -> WordLinks:
    limit = threshold * np.maximum(plan.max(axis=1, keepdims=True), plan.max(axis=0))
    rows, columns = np.nonzero((plan >= limit) & (plan > 0))
    return WordLinks.from_arrays(rows, columns, plan[rows, columns] * max(plan.shape))


def _check(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ConfigError(f"must lie between 0 and 1, not {share}", where=name)
