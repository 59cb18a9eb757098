"""`Result` and `Results`: what every task returns, whatever it measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, overload

from isoglot.small_tables import agreed, html_table, text_table
from isoglot.suggest import unknown


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """One figure, with what is needed to trust it.

    Args:
        task: which task, e.g. "bli".
        metric: which figure, e.g. "P@1".
        value: the figure.
        n: over how many items it was taken (the denominator).
        coverage: share of all test items that could be asked at all.
        protocol: how it was measured, in readable settings (denominator, retrieval, ties, ...).
        interval: confidence interval (low, high), where there is one.
        per_item: one record per item, so that errors can be read and systems compared item by item.

    >>> result = Result("bli", "P@1", 0.5, n=1500, coverage=0.98, protocol={"denominator": "in-vocabulary"})
    >>> result, float(result)
    (<bli P@1 0.500, n=1,500, in-vocabulary>, 0.5)
    """

    task: str
    metric: str
    value: float
    n: int
    coverage: float
    protocol: Mapping[str, Any]
    interval: tuple[float, float] | None = None
    per_item: Sequence[Mapping[str, Any]] = ()

    @property
    def denominator(self) -> str:
        """What the figure is a share of, and whether candidates were re-ranked; empty where a task has one way only."""
        name = str(self.protocol.get("denominator", ""))
        return f"{name}, re-ranked" if "rerank" in self.protocol else name

    def record(self, *, per_item: bool = False) -> dict[str, Any]:
        """As plain data for JSON; items only on request."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data |= {"protocol": dict(self.protocol), "interval": None if self.interval is None else list(self.interval)}
        items = data.pop("per_item")
        return {**data, "per_item": [dict(item) for item in items]} if per_item else data

    def cells(self) -> list[str]:
        """A row of the table of results: metric, value, 95% interval, denominator, n, coverage."""
        interval = "" if self.interval is None else f"{self.interval[0]:.3f} to {self.interval[1]:.3f}"
        return [self.metric, f"{self.value:.3f}", interval, self.denominator, f"{self.n:,}", f"{self.coverage:.1%}"]

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        interval = "" if self.interval is None else f" (95% {self.interval[0]:.3f} to {self.interval[1]:.3f})"
        rest = f", {self.denominator}" if self.denominator else ""
        return f"<{self.task} {self.metric} {self.value:.3f}{interval}, n={self.n:,}{rest}>"


class Results(list[Result]):
    """The figures of a task, the primary one first: a list that is also asked by metric.

    >>> results = Results([Result("bli", "P@1", 0.5, 40, 1.0, {}), Result("bli", "MRR", 0.61, 40, 1.0, {})])
    >>> results["MRR"], results[0].value, results.get("P@5")
    (0.61, 0.5, None)
    >>> results
    metric  value  95% interval  denominator   n  coverage
    P@1     0.500                             40    100.0%
    MRR     0.610                             40    100.0%
    """

    #: Titles of `Result.cells`, and which of these are numbers.
    head = ("metric", "value", "95% interval", "denominator", "n", "coverage")
    numeric = (1, 4, 5)

    @overload
    def __getitem__(self, key: str) -> float: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> Results: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> float | Result | Results:
        """By metric the value, of the first result that has it; by place a result."""
        if isinstance(key, str):
            return self.find(key).value
        return Results(super().__getitem__(key)) if isinstance(key, slice) else super().__getitem__(key)

    def get(self, metric: str, default: float | None = None) -> float | None:
        """The value of the metric, if there is one."""
        return next((result.value for result in self if result.metric == metric), default)

    def find(self, metric: str, **protocol: Any) -> Result:
        """The first result of this metric and protocol, as `find("P@1", denominator="full")`."""
        for result in self:
            if result.metric == metric and all(result.protocol.get(key) == value for key, value in protocol.items()):
                return result
        of = "".join(f", {key} {value}" for key, value in protocol.items())
        raise unknown("metric", metric + of, dict.fromkeys(result.metric for result in self))

    def record(self, *, per_item: bool = False) -> list[dict[str, Any]]:
        """As plain data for JSON; items only on request."""
        return [result.record(per_item=per_item) for result in self]

    def __add__(self, other: Iterable[Result]) -> Results:  # type: ignore[override]
        return Results([*self, *other])

    def __repr__(self) -> str:
        return text_table(self.head, agreed([result.cells() for result in self], 3), numeric=self.numeric)

    def _repr_html_(self) -> str:
        return html_table("", self.head, agreed([result.cells() for result in self], 3), numeric=self.numeric)
