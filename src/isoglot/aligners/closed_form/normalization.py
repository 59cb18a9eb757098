"""Remove each language's own mean and variance, so that only what is shared remains.

"Normalization" of Zhao et al. 2021 (arXiv:2008.09112) and Zhao & Eger 2022: needs no pairs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.spaces import FloatMatrix


@method(
    "normalization",
    "zero mean and unit variance in each language; for encoders that already share a space",
    supervision="unsupervised",
    linear=True,
    cost="one look at the vectors: O(n d)",
    paper="Zhao et al. 2021; Zhao & Eger 2022",
)
class Normalization(Aligner):
    """Standardise every dimension of each side on its own.

    Differs from the paper:
        - Mean and variance are taken over all vectors that are fitted, and a dimension without variance is only
          centred.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(3, 2, size=(1000, 2))
    >>> alignment = Normalization().fit(X, X)
    >>> mapped = alignment.transform(X)
    >>> bool(np.allclose(mapped.mean(axis=0), 0, atol=1e-5)), mapped.std(axis=0).round(3).tolist()
    (True, [1.0, 1.0])
    """

    normalise: str = "none"

    def _fit(self, problem: Problem) -> Alignment:
        (W_src, b_src), (W_tgt, b_tgt) = standardise(problem.X), standardise(problem.Y)
        return LinearAlignment.learned(W_src=W_src, b_src=b_src, W_tgt=W_tgt, b_tgt=b_tgt)


def standardise(X: FloatMatrix) -> tuple[FloatMatrix, npt.NDArray[np.float32]]:
    """(W, b) such that X @ W + b has mean 0 and variance 1; a dimension without variance is only centred."""
    mean = X.mean(axis=0, dtype=np.float64)
    deviation = X.std(axis=0, dtype=np.float64)
    scale = 1 / np.where(deviation > 1e-12, deviation, 1)
    return np.diag(scale).astype(np.float32), (-mean * scale).astype(np.float32)
