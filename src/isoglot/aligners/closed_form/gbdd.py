"""Project out the direction in which two languages differ most, learned from pairs.

GBDD, Zhao et al. 2020, "On the limitations of cross-lingual encoders as exposed by reference-free machine translation
evaluation": the global language bias of a pair of languages is the top right singular vector of the differences between
aligned vectors, and both languages are freed of it.
"""

from __future__ import annotations

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method


@method(
    "gbdd",
    "project out the direction of the language bias; for encoders that already share a space",
    supervision="supervised",
    linear=True,
    cost="one product of the pairs: O(n d^2)",
    paper="Zhao et al. 2020; Zhao & Eger 2022",
)
class GBDD(Aligner):
    """Take from both sides what lies along the top right singular vector of X - Y, over the pairs.

    Differs from the paper:
        - Zhao & Eger 2022 say "subtracting" the vector; earlier code of the authors projects it out, as here.
          `mean-shift` subtracts the difference of the means.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(10, 3))
    >>> alignment = GBDD().fit(X, X + [0, 0, 5], [[i, i] for i in range(10)])
    >>> bool(np.allclose(alignment.transform(X + [0, 0, 5], "tgt"), X * [1, 1, 0], atol=1e-6))
    True
    """

    normalise: str = "none"

    def _fit(self, problem: Problem) -> Alignment:
        X, Y = problem.paired
        # By way of the small matrix, whose last eigenvector it is.
        differences = X.astype(np.float64) - Y
        bias = np.linalg.eigh(differences.T @ differences)[1][:, -1]
        projection = (np.eye(len(bias)) - np.outer(bias, bias)).astype(np.float32)
        return LinearAlignment.learned(W_src=projection, W_tgt=projection)
