"""Subtract the difference of two languages' means, learned from pairs: one shift."""

from __future__ import annotations

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method


@method(
    "mean-shift",
    "shift the source by the difference of the means of the pairs; for encoders that already share a space",
    supervision="supervised",
    linear=True,
    cost="one look at the pairs: O(n d)",
    paper="Libovický et al. 2020",
)
class MeanShift(Aligner):
    """Shift the source by the difference of the means of both sides of the pairs.

    Differs from the paper:
        - The source moves onto the target's mean; the paper centres both. Distances are the same.
        - Means are of the pairs, not of all vectors.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(10, 2))
    >>> alignment = MeanShift().fit(X, X + [1, -2], [[i, i] for i in range(10)])
    >>> bool(np.allclose(alignment.transform(X), X + [1, -2], atol=1e-6))
    True
    """

    normalise: str = "none"

    def _fit(self, problem: Problem) -> Alignment:
        X, Y = problem.paired
        bias = X.mean(axis=0, dtype=np.float64) - Y.mean(axis=0, dtype=np.float64)
        return LinearAlignment.learned(b_src=(-bias).astype(np.float32))
