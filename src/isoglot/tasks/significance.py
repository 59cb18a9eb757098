"""How far a figure can be trusted, and whether two systems really differ.

Intervals are percentile bootstraps over items (Efron 1979). Two systems are compared on the items both were
asked: the bootstrap gives an interval for the difference, and a sign-flip permutation test its p-value, which for
right-or-wrong items is the exact McNemar test.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError
from isoglot.tasks.resampling import checked_repeats
from isoglot.tasks.result import Result, Results

# Resampled values held at once; 4 million float64 are 32 MB.
_BLOCK = 1 << 22


@dataclasses.dataclass(frozen=True)
class PairedTest:
    """`a` against `b` on `n` common items; `difference` is a - b, `p_value` two-sided.

    `wins` and `losses` count the items on which a is better or worse.
    """

    metric: str
    a: float
    b: float
    difference: float
    interval: tuple[float, float]
    p_value: float
    n: int
    wins: int
    losses: int
    method: str

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {**dataclasses.asdict(self), "interval": list(self.interval)}

    def sentence(self) -> str:
        """In words, for people."""
        verdict = "significant at .05" if self.p_value < 0.05 else "not significant at .05"
        low, high = self.interval
        return (
            f"{self.metric}: {self.a:.3f} against {self.b:.3f} on {self.n:,} common items, difference "
            f"{self.difference:+.3f} (95% {low:+.3f} to {high:+.3f}), p {p_text(self.p_value)} ({self.method}): "
            f"{verdict}"
        )


def p_text(value: float) -> str:
    """A p-value for people: "= 0.012", or "< 0.0001" where digits would only be zeros.

    >>> p_text(0.0123), p_text(3e-9)
    ('= 0.0123', '< 0.0001')
    """
    return "< 0.0001" if value < 0.0001 else f"= {value:.4f}"


def bootstrap_intervals(
    values: npt.ArrayLike, *, repeats: int = 1000, level: float = 0.95, seed: int = 0
) -> npt.NDArray[np.float64]:
    """Percentile intervals of the column means of `values` (n, m), as (m, 2): low and high.

    All columns share the same resamples, so intervals of related figures are drawn from the same items.

    >>> low, high = bootstrap_intervals([[0.0], [1.0]] * 50, seed=1)[0]
    >>> bool(0.38 < low < 0.45 < 0.55 < high < 0.62)
    True
    """
    matrix = np.asarray(values, dtype=np.float64)
    n, columns = matrix.shape
    if n == 0 or repeats < 1:
        raise InputError("a bootstrap needs at least one item and one repeat")
    random = np.random.default_rng(seed)
    means = np.empty((repeats, columns))
    block = max(1, _BLOCK // n)
    for start in range(0, repeats, block):
        drawn = random.integers(0, n, size=(min(block, repeats - start), n), dtype=np.int32)
        for column in range(columns):
            means[start : start + block, column] = matrix[:, column][drawn].mean(axis=1)
    tail = (1 - level) / 2
    return np.asarray(np.quantile(means, [tail, 1 - tail], axis=0).T)


class ItemFigure(NamedTuple):
    """A figure that is the mean of its items' values (n,), with a record of each item."""

    metric: str
    values: npt.NDArray[Any]
    items: Sequence[Mapping[str, Any]]
    protocol: Mapping[str, Any]


def means_of_items(task: str, figures: Sequence[ItemFigure], *, coverage: float, bootstrap: int, seed: int) -> Results:
    """Results of figures over the same items, which share the resamples of their intervals."""
    values = np.column_stack([figure.values for figure in figures]).astype(np.float64)  # (n, figures)
    repeats = checked_repeats(bootstrap)
    intervals = bootstrap_intervals(values, repeats=repeats, seed=seed).tolist() if repeats else [None] * len(figures)
    return Results(
        Result(
            task,
            figure.metric,
            value=float(values[:, column].mean()),
            n=len(values),
            coverage=coverage,
            protocol=figure.protocol,
            interval=None if interval is None else tuple(interval),
            per_item=figure.items,
        )
        for column, (figure, interval) in enumerate(zip(figures, intervals, strict=True))
    )


def paired_test(
    a: Result, b: Result, *, key: str = "source", repeats: int = 10_000, level: float = 0.95, seed: int = 0
) -> PairedTest:
    """Compare two results of the same metric item by item; `key` names the field that identifies an item.

    Items that only one of the two was asked are left out, so the two means may differ from the results' values.

    >>> def result(values):
    ...     items = [{"source": f"w{i}", "value": v} for i, v in enumerate(values)]
    ...     return Result("bli", "P@1", sum(values) / len(values), len(values), 1.0, {}, per_item=items)
    >>> test = paired_test(result([1, 1, 1, 1, 1, 1, 0, 0]), result([0, 0, 0, 0, 0, 0, 0, 0]))
    >>> test.difference, test.wins, test.losses, test.p_value
    (0.75, 6, 0, 0.03125)
    """
    if (a.task, a.metric) != (b.task, b.metric):
        raise InputError(f"cannot compare {a.task} {a.metric} with {b.task} {b.metric}")
    first, second = _by_key(a, key), _by_key(b, key)
    common = [name for name in first if name in second]
    if not common:
        raise InputError("the two results have no items in common", remedy="compare runs on one test set")
    for name in common:
        if first[name].get("gold") != second[name].get("gold"):
            raise InputError(f"the two results have different answers for {name!r}: not one test set")
    values = np.array([[first[name]["value"], second[name]["value"]] for name in common], dtype=np.float64)
    gaps = values[:, 0] - values[:, 1]
    p_value, method = _p_value(gaps, repeats, seed)
    low, high = bootstrap_intervals(gaps[:, None], repeats=repeats, level=level, seed=seed)[0]
    return PairedTest(
        metric=a.metric,
        a=float(values[:, 0].mean()),
        b=float(values[:, 1].mean()),
        difference=float(gaps.mean()),
        interval=(float(low), float(high)),
        p_value=p_value,
        n=len(common),
        wins=int((gaps > 0).sum()),
        losses=int((gaps < 0).sum()),
        method=method,
    )


def _by_key(result: Result, key: str) -> dict[Any, Any]:
    if not result.per_item:
        raise InputError(f"the result {result.task} {result.metric} carries no items to compare")
    items = {item[key]: item for item in result.per_item}
    if len(items) != len(result.per_item):
        raise InputError(f"the field {key!r} does not identify the items of {result.task} {result.metric}")
    return items


def _p_value(gaps: npt.NDArray[np.float64], repeats: int, seed: int) -> tuple[float, str]:
    """Chance of so large a sum of gaps if each gap's sign were a fair coin."""
    decided = gaps[gaps != 0]
    if len(decided) == 0:
        return 1.0, "no item differs"
    sizes = np.abs(decided)
    if np.allclose(sizes, sizes[0]):
        from scipy.stats import binomtest

        return float(binomtest(int((decided > 0).sum()), len(decided), 0.5).pvalue), "exact McNemar"
    random = np.random.default_rng([seed, 1])
    observed = abs(decided.sum())
    as_large = 0
    block = max(1, _BLOCK // len(decided))
    for start in range(0, repeats, block):
        signs = random.integers(0, 2, size=(min(block, repeats - start), len(decided)), dtype=np.int8)
        sums = (2.0 * signs - 1.0) @ sizes
        # A hair of slack, so that sums equal on paper stay equal in floating point.
        as_large += int((np.abs(sums) >= observed - 1e-9).sum())
    return (1 + as_large) / (1 + repeats), "sign-flip permutation"
