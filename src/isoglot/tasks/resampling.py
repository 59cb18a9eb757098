"""Bootstrap for figures that are no means of items: ratios of sums, correlations.

`bootstrap_intervals` averages items. Here a task gets how often each item was drawn, and computes its own figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError

# Counts held at once; 4 million float64 are 32 MB.
_BLOCK = 1 << 22
_LEVEL = 0.95


def checked_repeats(bootstrap: int) -> int:
    """The number of resamples; 0 for none.

    >>> checked_repeats(1000)
    1000
    """
    if bootstrap < 0:
        raise ConfigError(f"must be a number of resamples, or 0 for no interval, not {bootstrap}", where="bootstrap")
    return int(bootstrap)


def resampled_counts(n: int, repeats: int, seed: int | Sequence[int]) -> Iterator[npt.NDArray[np.float64]]:
    """How often each of n items is drawn in each resample, some resamples (b, n) at a time.

    >>> [block.sum(axis=1).tolist() for block in resampled_counts(5, 2, seed=0)]
    [[5.0, 5.0]]
    """
    random = np.random.default_rng(seed)
    block = max(1, _BLOCK // n)
    for start in range(0, repeats, block):
        rows = min(block, repeats - start)
        drawn = random.integers(0, n, size=(rows, n))
        drawn += np.arange(rows)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def percentile_interval(values: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """The middle 95% of the resampled figures; those that a resample left undefined (NaN) do not count.

    >>> low, high = percentile_interval(np.array([np.nan, *range(81)]))
    >>> round(low), round(high)
    (2, 78)
    """
    defined = values[np.isfinite(values)]
    if not len(defined):
        return None
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)
