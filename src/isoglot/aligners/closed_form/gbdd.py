"""Subtract the global language bias: one shift, learned from pairs.

GBDD of Zhao & Eger 2022: the bias vector of a language pair is the difference of the two language means over aligned
pairs, and the source is freed of it.
"""

from __future__ import annotations

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method


@method(
    "gbdd",
    "subtract the language bias vector; for encoders that already share a space",
    supervision="supervised",
    linear=True,
    cost="one look at the pairs: O(n d)",
    paper="Zhao & Eger 2022",
)
class GBDD(Aligner):
    """Shift the source by the difference of the means of both sides of the pairs.

    Differs from the paper:
        - In nothing that we know of.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(10, 2))
    >>> alignment = GBDD().fit(X, X + [1, -2], [[i, i] for i in range(10)])
    >>> bool(np.allclose(alignment.transform(X), X + [1, -2], atol=1e-6))
    True
    """

    normalise: str = "none"

    def _fit(self, problem: Problem) -> Alignment:
        X, Y = problem.paired
        bias = X.mean(axis=0, dtype=np.float64) - Y.mean(axis=0, dtype=np.float64)
        return LinearAlignment.learned(b_src=(-bias).astype(np.float32))
