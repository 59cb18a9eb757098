"""The rotation that brings translation pairs closest together, in closed form.

Schönemann 1966, "A generalized solution of the orthogonal Procrustes problem"; for word vectors Xing et al. 2015
and Artetxe et al. 2016. This is also the "Rotation" of Zhao & Eger 2022.
"""

from __future__ import annotations

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.spaces import FloatMatrix


@method(
    "procrustes",
    "best rotation from translation pairs; quick and hard to beat",
    supervision="supervised",
    linear=True,
    cost="one product of the pairs and one SVD: O(n d² + d³)",
    paper="Schönemann 1966; Xing et al. 2015",
)
class Procrustes(Aligner):
    """Rotate the source so that its side of the pairs falls on the target side.

    Differs from the paper:
        - Rows are normalised and centred first (`normalise`); Xing et al. only bring them to unit length.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> alignment = Procrustes(normalise="none").fit(X, X @ turn, [[i, i] for i in range(50)])
    >>> bool(np.allclose(alignment.transform(X), X @ turn, atol=1e-5))
    True
    """

    def _fit(self, problem: Problem) -> Alignment:
        return LinearAlignment.learned(W_src=procrustes(*problem.paired))


def procrustes(X: FloatMatrix, Y: FloatMatrix) -> FloatMatrix:
    """The orthogonal W (d, d) that minimises ||X W - Y||, for matched rows X and Y (n, d)."""
    U, _, Vt = np.linalg.svd(X.T.astype(np.float64) @ Y.astype(np.float64))
    W: FloatMatrix = (U @ Vt).astype(np.float32)
    return W
