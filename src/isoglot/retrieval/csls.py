"""Cross-domain similarity local scaling (Conneau, Lample, Ranzato, Denoyer and Jegou 2018, "Word translation
without parallel data").

    CSLS(x, y) = 2 cos(x, y) - r_T(x) - r_S(y)

r_T(x) is the mean cosine of x to its nearest targets, r_S(y) that of y to its nearest sources: a hub, near
everything, is marked down. Halved, CSLS is a cosine plus a bias of the row and a bias of the column, so one
product ranks both directions. Over lifted rows (see `_rows.py`) the same holds with -|x - y|^2 / 2 for the cosine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isoglot.progress import Progress, silent
from isoglot.retrieval._rows import UnitRows
from isoglot.retrieval.backends import Backend

Means = npt.NDArray[np.float32]


def means_of_nearest(backend: Backend, k: int, *, progress: Progress = silent) -> tuple[Means, Means]:
    """r_T of every row of X and r_S of every row of Y, over the k nearest (or all, if there are fewer)."""
    X, Y = backend.X, backend.Y
    no_rows, no_columns = np.zeros(X.n, dtype=np.float32), np.zeros(Y.n, dtype=np.float32)
    there, back = backend.both(no_rows, no_columns, k, progress=progress)
    return _means(there[1]), _means(back[1])


def mean_of_nearest(backend: Backend, queries: UnitRows, k: int, *, progress: Progress = silent) -> Means:
    """r_T of free queries."""
    return _means(backend.forward(queries, np.zeros(backend.Y.n, dtype=np.float32), k, progress=progress)[1])


def _means(similarities: npt.NDArray[np.float32]) -> Means:
    if not similarities.shape[1]:
        return np.zeros(len(similarities), dtype=np.float32)
    means: Means = similarities.mean(axis=1, dtype=np.float64).astype(np.float32)
    return means
