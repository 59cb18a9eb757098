"""Resampling and swapping of test examples: intervals of encoders' figures, and whether two encoders differ.

A figure is a ratio of sums over examples (see `Tally.ratio`), the figure of an encoder its mean over runs. Resamples
and swaps are drawn from one seed: test sets of equal size get the same ones. So encoders are compared on the same
examples, and the languages of a parallel test set are drawn together, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError
from isoglot.tasks import PairedTest, percentile_interval, resampled_counts

Matrix = npt.NDArray[np.float64]

# Swaps held at once; 4 million float64 are 32 MB.
_BLOCK = 1 << 22


def drawn_figures(ratios: Matrix, repeats: int, seed: int) -> Matrix:
    """The figure of each run in each resample of examples (repeats, runs); `ratios` are (n, runs, 2).

    >>> ratios = np.array([[[1.0, 1.0]], [[0.0, 1.0]]] * 50)
    >>> drawn = drawn_figures(ratios, 500, seed=0)
    >>> drawn.shape, bool(0.45 < drawn.mean() < 0.55)
    ((500, 1), True)
    """
    n, runs, _ = ratios.shape
    flat = ratios.reshape(n, -1)
    blocks = [_ratios((times @ flat).reshape(-1, runs, 2)) for times in resampled_counts(n, repeats, seed)]
    return np.concatenate([np.empty((0, runs)), *blocks])


def resampled_runs(drawn: Matrix, seed: int) -> Matrix:
    """Means (repeats,) over runs that are resampled too: what another seed and other examples might give.

    >>> resampled_runs(np.array([[0.0, 1.0]] * 1000), seed=0).mean().round(1)
    np.float64(0.5)
    """
    random = np.random.default_rng([seed, 2])
    return np.asarray(np.take_along_axis(drawn, random.integers(0, drawn.shape[1], drawn.shape), axis=1).mean(axis=1))


def paired_figures(
    metric: str,
    a: Sequence[Matrix],
    b: Sequence[Matrix],
    *,
    repeats: int = 10_000,
    bootstrap: int = 1000,
    seed: int = 0,
) -> PairedTest:
    """Does `a` differ from `b`, on average over test sets?

    The p-value is that of approximate randomisation (Noreen 1989): if both were equally good, their predictions for an
    example could be swapped, and the difference would as often be as large as it is.

    Args:
        a, b: for each test set (n, runs, 2), with the same examples and equally many runs on both sides.

    >>> good, bad = np.array([[[1.0, 1.0]]] * 20), np.array([[[0.0, 1.0]], [[1.0, 1.0]]] * 10)
    >>> test = paired_figures("accuracy", [good], [bad])
    >>> test.difference, test.wins, test.losses, test.p_value < 0.01
    (0.5, 10, 0, True)
    """
    if not a or [one.shape for one in a] != [one.shape for one in b]:
        raise InputError("only results on the same test sets, with equally many runs, can be compared")
    first, second = (float(np.mean([_figures(one.sum(axis=0)) for one in side])) for side in (a, b))
    swapped = np.mean([_swapped(x, y, repeats, seed) for x, y in zip(a, b, strict=True)], axis=0)
    # A hair of slack, so that differences equal on paper stay equal in floating point.
    as_large = int((np.abs(swapped) >= abs(first - second) - 1e-9).sum())
    drawn = [
        (drawn_figures(x, bootstrap, seed) - drawn_figures(y, bootstrap, seed)).mean(axis=1)
        for x, y in zip(a, b, strict=True)
    ]
    gaps = np.concatenate([_alone(x) - _alone(y) for x, y in zip(a, b, strict=True)])
    return PairedTest(
        metric=metric,
        a=first,
        b=second,
        difference=first - second,
        interval=percentile_interval(np.mean(drawn, axis=0)) or (first - second, first - second),
        p_value=(1 + as_large) / (1 + repeats),
        n=len(gaps),
        wins=int((gaps > 1e-9).sum()),
        losses=int((gaps < -1e-9).sum()),
        method="approximate randomisation",
    )


def _swapped(a: Matrix, b: Matrix, repeats: int, seed: int) -> Matrix:
    """Differences (repeats,) after the two swapped their predictions for half of the examples, at random."""
    n, runs, _ = a.shape
    gap = (b - a).reshape(n, -1)
    totals = [one.sum(axis=0).ravel() for one in (a, b)]
    # Examples on which the two agree would be swapped to no effect; they still take part in the draw, which must be
    # the same for all test sets of this size.
    random = np.random.default_rng([seed, 1])
    differences = []
    block = max(1, _BLOCK // n)
    for start in range(0, repeats, block):
        rows = min(block, repeats - start)
        moved = random.integers(0, 2, size=(rows, n), dtype=np.int8).astype(np.float64) @ gap
        sides = [_figures(sums.reshape(rows, runs, 2)) for sums in (totals[0] + moved, totals[1] - moved)]
        differences.append(sides[0] - sides[1])
    return np.concatenate(differences)


def _figures(sums: Matrix) -> Matrix:
    """Mean over runs (...) of the ratios of sums (..., runs, 2)."""
    return np.asarray(_ratios(sums).mean(axis=-1))


def _ratios(sums: Matrix) -> Matrix:
    part, whole = sums[..., 0], sums[..., 1]
    return np.asarray(np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0))


def _alone(ratios: Matrix) -> Matrix:
    """The figure of each example alone (n,), mean over runs; where nothing was to be found nor found, 1."""
    return np.asarray(np.where(ratios[..., 1] > 0, _ratios(ratios), 1.0).mean(axis=1))
