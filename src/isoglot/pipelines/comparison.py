"""The table of a comparison: mean, interval, time, memory and significance of each method, from its runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from isoglot.small_tables import TableView
from isoglot.suggest import unknown
from isoglot.tasks import Result, bootstrap_intervals, p_text, paired_test


@dataclasses.dataclass(frozen=True)
class MethodRun:
    """One fit and its figure, or why there is none.

    Args:
        seconds: of the fit.
        criteria: of an iterative method, the semantic criterion of each epoch or round.
    """

    result: Result | None = None
    seconds: float = 0.0
    megabytes: float | None = None
    warning: str = ""
    criteria: tuple[float, ...] = ()
    error: str = ""


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table: the mean over runs with an interval of that mean, and how far runs are apart.

    `interval`: 95%, of the mean, by resampling test words; what another seed would do is told by `spread`.
    `p_value`: of the difference to the best line, on the same test words, means over runs.
    `criteria`: of an iterative method, the semantic criterion of each epoch or round of the first run.
    """

    label: str
    method: str
    supervision: str
    values: tuple[float, ...] = ()
    interval: tuple[float, float] | None = None
    seconds: float | None = None
    megabytes: float | None = None
    p_value: float | None = None
    note: str = ""
    criteria: tuple[float, ...] = ()

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def spread(self) -> tuple[float, float] | None:
        """The lowest and the highest run, where there are several."""
        return (min(self.values), max(self.values)) if len(self.values) > 1 else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation between runs, where there are several."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def brief(self) -> str:
        """The note for a narrow column: why it could not run in full, of a verdict only what it says first."""
        return self.note if self.mean is None else self.note.split(":")[0]

    def cells(self) -> list[str]:
        """For a table: see `Comparison.head`."""
        return [
            self.label,
            self.supervision,
            "" if self.mean is None else f"{self.mean:.3f}",
            "" if self.interval is None else f"{self.interval[0]:.3f} to {self.interval[1]:.3f}",
            str(len(self.values)),
            "" if self.spread is None else f"{self.spread[0]:.3f} to {self.spread[1]:.3f}",
            "" if self.seconds is None else f"{self.seconds:.1f}",
            "" if self.megabytes is None else f"{self.megabytes:,.0f}",
            "" if self.p_value is None else p_text(self.p_value).removeprefix("= "),
            self.brief,
        ]

    def record(self) -> dict[str, Any]:
        spread = None if self.spread is None else list(self.spread)
        own = {"mean": self.mean, "spread": spread, "deviation": self.deviation, "brief": self.brief}
        return {**dataclasses.asdict(self), **own}


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison(TableView):
    """The table, best first, and what it was measured on: `comparison["procrustes"]` is a row, and so is each item.

    `n` counts test words, `pairs` those to learn from.
    """

    rows: tuple[Row, ...]
    languages: tuple[str, str]
    metric: str = "P@1"
    n: int = 0
    protocol: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    pairs: int = 0

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, label: str) -> Row:
        for row in self.rows:
            if row.label == label:
                return row
        raise unknown("row", label, [row.label for row in self.rows])

    @property
    def title(self) -> str:
        source, target = self.languages
        return f"{source or 'source'} to {target or 'target'}, {self.n:,} test words, {self.pairs:,} pairs"

    def table(self) -> tuple[list[str], list[list[str]], list[int]]:
        """Head, rows, and which columns are numbers; runs are told apart only where a method has several."""
        head = ["method", "pairs", self.metric, "95% interval", "runs", "lowest to highest", "s", "MB", "p", "note"]
        rows = [row.cells() for row in self.rows]
        if any(row.spread for row in self.rows):
            return head, rows, [2, 4, 6, 7, 8]
        head, *rows = [[*line[:5], *line[6:]] for line in (head, *rows)]
        return head, rows, [2, 4, 5, 6, 7]

    def record(self) -> dict[str, Any]:
        return {
            "languages": list(self.languages),
            "warnings": list(self.warnings),
            "metric": self.metric,
            "n": self.n,
            "protocol": dict(self.protocol),
            "rows": [row.record() for row in self.rows],
        }


def comparison_of(rows: Mapping[Row, Sequence[MethodRun]], languages: tuple[str, str]) -> Comparison:
    """Fill in the rows, which so far say which method they are, from their runs; best first."""
    results = {row: [run.result for run in runs if run.result is not None] for row, runs in rows.items()}
    measured = [row for row in rows if results[row]]
    best = max(measured, key=lambda row: np.mean([one.value for one in results[row]]), default=None)
    filled = []
    for row, runs in rows.items():
        errors = [run.error for run in runs if run.error]
        if not results[row] or best is None:
            filled.append(dataclasses.replace(row, note=errors[0]))
            continue
        notes = [f"{len(errors)} of {len(runs)} runs failed, such as: {errors[0]}"] if errors else []
        notes += [run.warning for run in runs if run.warning][:1]
        memory = [run.megabytes for run in runs if run.megabytes is not None]
        averaged = _averaged(results[row])
        filled.append(
            dataclasses.replace(
                row,
                values=tuple(result.value for result in results[row]),
                interval=averaged.interval,
                seconds=float(np.median([run.seconds for run in runs if run.result is not None])),
                megabytes=max(memory, default=None),
                p_value=None if row is best else paired_test(averaged, _averaged(results[best])).p_value,
                note="; ".join(notes),
                criteria=runs[0].criteria,
            )
        )
    filled.sort(key=lambda row: -(row.mean if row.mean is not None else -1.0))
    if best is None:
        return Comparison(tuple(filled), languages)
    first = results[best][0]
    return Comparison(tuple(filled), languages, first.metric, first.n, first.protocol)


def _averaged(figures: Sequence[Result]) -> Result:
    """One result for several runs on the same words: each word counts with its mean, and so does the interval."""
    first = figures[0]
    if len(figures) == 1:
        return first
    by_word = [{item["source"]: float(item["value"]) for item in figure.per_item} for figure in figures]
    items = [{**item, "value": float(np.mean([one[item["source"]] for one in by_word]))} for item in first.per_item]
    values = np.array([[item["value"]] for item in items])
    (low, high), *_ = bootstrap_intervals(values, seed=int(first.protocol.get("seed", 0)))
    return dataclasses.replace(first, value=float(values.mean()), interval=(float(low), float(high)), per_item=items)
