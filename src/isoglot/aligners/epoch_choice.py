"""Which round or epoch of a training to keep, by what was measured after each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: By criteria that need no dictionary (Zhao & Eger 2022, section 4.2), or simply the last.
SELECT = ("semantic", "structural", "last")


def chosen(history: Sequence[Mapping[str, Any]], select: str) -> int:
    """The place of the row that `select` picks; of equals the first.

    >>> rows = [{"semantic": 0.1, "structural": 0.2}, {"semantic": 0.3, "structural": 0.4}]
    >>> chosen(rows, "semantic"), chosen(rows, "structural"), chosen(rows, "last")
    (1, 0, 1)
    """
    if select == "last":
        return len(history) - 1
    values = np.array([row[select] for row in history], dtype=np.float64)
    # An epoch that broke down is never chosen.
    values = np.where(np.isfinite(values), values, np.inf if select == "structural" else -np.inf)
    return int(np.argmin(values) if select == "structural" else np.argmax(values))
