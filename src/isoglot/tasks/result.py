"""`Result`: what every task returns, whatever it measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Result"]


@dataclasses.dataclass(frozen=True)
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

    >>> Result("bli", "P@1", 0.5, n=1500, coverage=0.98, protocol={"denominator": "in-vocabulary"}).record()["value"]
    0.5
    """

    task: str
    metric: str
    value: float
    n: int
    coverage: float
    protocol: Mapping[str, Any]
    interval: tuple[float, float] | None = None
    per_item: Sequence[Mapping[str, Any]] = dataclasses.field(default=(), repr=False)

    def record(self, *, per_item: bool = False) -> dict[str, Any]:
        """As plain data for JSON; items only on request."""
        data: dict[str, Any] = {
            "task": self.task,
            "metric": self.metric,
            "value": self.value,
            "n": self.n,
            "coverage": self.coverage,
            "protocol": dict(self.protocol),
            "interval": None if self.interval is None else list(self.interval),
        }
        if per_item:
            data["per_item"] = [dict(item) for item in self.per_item]
        return data
