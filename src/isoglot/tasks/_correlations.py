"""Pearson and Kendall's tau-b of two lists, with what each item adds to them and their bootstrap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.tasks.resampling import resampled_counts

METRICS = ("Pearson", "Kendall")
#: Kendall's tau compares all pairs; with more items than this, a thousand resamples of it take minutes.
_MOST_RESAMPLED = 5000
#: Pairs compared at once; 4 million float32 are 16 MB.
_BLOCK = 1 << 22
#: Variance of numbers between -1 and 1 below which a resample is one value over and over, and rounding.
_NOTHING = 1e-14

Vector = npt.NDArray[np.float64]


class Figures(NamedTuple):
    """Of each metric in turn: the figure, the items' values (n,), whose mean it is, and the resampled figures.

    drawn is empty where nothing was resampled.
    """

    figures: Sequence[float]
    values: Sequence[Vector]
    drawn: Sequence[Vector]


def correlate(x: Vector, y: Vector, repeats: int, seed: int | Sequence[int]) -> Figures:
    """Both correlations of x with y, neither of which is constant.

    >>> found = correlate(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]), 0, 0)
    >>> [round(figure, 3) for figure in found.figures]
    [0.8, 0.667]
    """
    # To a common scale: neither huge nor tiny numbers overflow or vanish when squared.
    x, y = ((values - values.mean()) / np.ptp(values) for values in (x, y))
    products = x * y / np.sqrt((x * x).mean() * (y * y).mean())
    agreement = _agreement(x, y)
    taus = len(x) * agreement[:, 0] / np.sqrt(agreement[:, 1].sum() * agreement[:, 2].sum())
    drawn: tuple[list[Vector], list[Vector]] = ([], [])
    for counts in resampled_counts(len(x), repeats, seed):
        drawn[0].append(weighted_pearson(counts, x, y))
        if len(x) <= _MOST_RESAMPLED:
            drawn[1].append(_kendall(counts, x, y))
    return Figures(
        figures=(_bounded(products.mean()), _bounded(taus.mean())),
        values=(products, taus),
        drawn=(np.concatenate([*drawn[0], np.empty(0)]), np.concatenate([*drawn[1], np.empty(0)])),
    )


def _bounded(value: float) -> float:
    return float(np.clip(value, -1, 1))


def weighted_pearson(counts: npt.NDArray[np.float64], x: Vector, y: Vector) -> Vector:
    """Of each resample (b,), NaN where one side is constant."""
    moments = counts @ np.column_stack([x, y, x * x, y * y, x * y]) / len(x)
    mean_x, mean_y, xx, yy, xy = moments.T
    spread_x, spread_y = xx - mean_x**2, yy - mean_y**2
    defined = (spread_x > _NOTHING) & (spread_y > _NOTHING)
    result = np.full(len(counts), np.nan)
    np.divide(xy - mean_x * mean_y, np.sqrt(np.abs(spread_x * spread_y)), out=result, where=defined)
    return np.asarray(np.clip(result, -1, 1))


def _agreement(x: Vector, y: Vector) -> npt.NDArray[np.float64]:
    """For each item (n, 3): pairs it orders alike minus pairs it does not, and pairs not tied in x, and in y."""
    total = np.zeros((len(x), 3))
    for rows, signs in _signs(x, y):
        total[rows] = np.column_stack([matrix.sum(axis=1, dtype=np.float64) for matrix in signs])
    return total


def _kendall(counts: npt.NDArray[np.float64], x: Vector, y: Vector) -> Vector:
    """Of each resample (b,), NaN where one side is constant.

    An item drawn c times and one drawn c' times make c c' pairs, so that the sums over the pairs of a resample are
    quadratic forms of its counts: products of matrices instead of a sort for every resample.
    """
    # Sums stay below 2^24 and are exact in float32.
    times = counts.astype(np.float32)
    total = np.zeros((len(counts), 3))
    for rows, signs in _signs(x, y):
        for column, matrix in enumerate(signs):
            total[:, column] += np.einsum("bi,bi->b", times[:, rows], times @ matrix.T, dtype=np.float64)
    concordant, not_tied_x, not_tied_y = total.T
    pairs = np.sqrt(not_tied_x * not_tied_y)
    result = np.full(len(counts), np.nan)
    np.divide(concordant, pairs, out=result, where=pairs > 0)
    return np.asarray(np.clip(result, -1, 1))


def _signs(x: Vector, y: Vector) -> Iterator[tuple[slice, list[npt.NDArray[np.float32]]]]:
    """For some rows at a time, matrices (rows, n): 1 or -1 for pairs ordered alike or not, 1 if not tied in x, in y."""
    size = max(1, _BLOCK // len(x))
    for start in range(0, len(x), size):
        rows = slice(start, min(len(x), start + size))
        in_x, in_y = (np.sign(values[rows, None] - values).astype(np.float32) for values in (x, y))
        yield rows, [in_x * in_y, np.abs(in_x), np.abs(in_y)]
