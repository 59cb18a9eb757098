"""Pearson, Spearman and the harmonic mean of both, with what each item adds to them and their bootstrap."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isoglot.tasks._correlations import Figures, weighted_pearson
from isoglot.tasks.resampling import resampled_counts

METRICS = ("harmonic", "Pearson", "Spearman")

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


def similarity_figures(x: Vector, y: Vector, repeats: int, seed: int) -> Figures:
    """All three of x with y, neither of which is constant.

    >>> found = similarity_figures(np.array([1.0, 2, 3, 5]), np.array([1.0, 3, 2, 4]), 0, 0)
    >>> [round(figure, 3) for figure in found.figures]
    [0.815, 0.832, 0.8]
    """
    # To a common scale: neither huge nor tiny numbers overflow or vanish when squared.
    x, y = ((values - values.mean()) / np.ptp(values) for values in (x, y))
    once = np.ones((1, len(x)))
    products, ranked = _products(x, y), _products(_centred_ranks(once, x)[0], _centred_ranks(once, y)[0])
    pearson, spearman = (np.clip(items.mean(), -1, 1) for items in (products, ranked))
    drawn: list[Matrix] = [np.empty((0, 2))]
    for counts in resampled_counts(len(x), repeats, seed):
        drawn.append(np.column_stack([weighted_pearson(counts, x, y), _spearman(counts, x, y)]))
    resampled = np.concatenate(drawn).T
    return Figures(
        figures=(float(_harmonic(pearson, spearman)), float(pearson), float(spearman)),
        values=(_harmonic_items(products, ranked), products, ranked),
        drawn=(_harmonic(*resampled), *resampled),
    )


def _products(x: Vector, y: Vector) -> Vector:
    """Of centred values: what each item adds to their correlation."""
    return np.asarray(x * y / np.sqrt((x * x).mean() * (y * y).mean()))


def _harmonic(pearson: npt.ArrayLike, spearman: npt.ArrayLike) -> Vector:
    """0 unless both are above 0; NaN where one of them is."""
    p, s = np.asarray(pearson, dtype=np.float64), np.asarray(spearman, dtype=np.float64)
    both = (p > 0) & (s > 0)
    mean = np.where(both, 2 * p * s / np.where(both, p + s, 1), 0)
    return np.where(np.isnan(p) | np.isnan(s), np.nan, mean)


def _harmonic_items(products: Vector, ranked: Vector) -> Vector:
    """What each item adds to the harmonic mean: its additions to both, weighed by the slopes of the mean there.

    The mean doubles when both of its parts double, so that slopes times parts make up the whole (Euler).
    """
    p, s = products.mean(), ranked.mean()
    if p <= 0 or s <= 0:
        return np.zeros(len(products))
    return np.asarray(2 * (s * s * products + p * p * ranked) / (p + s) ** 2)


def _spearman(counts: Matrix, x: Vector, y: Vector) -> Vector:
    """Of each resample (b,), ranked anew; NaN where one side is constant."""
    X, Y = _centred_ranks(counts, x), _centred_ranks(counts, y)
    xy, xx, yy = (np.einsum("bi,bi,bi->b", counts, first, second) for first, second in ((X, Y), (X, X), (Y, Y)))
    spread = np.sqrt(xx * yy)
    result = np.full(len(counts), np.nan)
    np.divide(xy, spread, out=result, where=spread > 0)
    return np.asarray(np.clip(result, -1, 1))


def _centred_ranks(counts: Matrix, values: Vector) -> Matrix:
    """Rank of each item in each resample minus the mean rank, (b, n); ties share the middle of their ranks.

    Items drawn c times take c ranks, so that one sort serves all resamples.
    """
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    sizes = np.add.reduceat(counts[:, order], starts, axis=1)  # (b, groups)
    middle = np.cumsum(sizes, axis=1) - (sizes + len(values)) / 2
    return np.asarray(middle[:, group])
