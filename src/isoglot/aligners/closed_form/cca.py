"""Canonical correlation analysis: project both sides to where translation pairs correlate most.

Faruqui & Dyer 2014, "Improving vector space word representations using multilingual correlation".
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix

Floats = npt.NDArray[np.float64]


@method(
    "cca",
    "project both sides to their most correlated directions; takes different dimensions",
    supervision="supervised",
    linear=True,
    cost="three products of the pairs and three eigenproblems: O(n d² + d³)",
    paper="Faruqui & Dyer 2014",
    any_dimensions=True,
)
class CCA(Aligner):
    """Both sides are projected; the shared space has the leading canonical directions.

    Differs from the paper:
        - `ridge` and `weight` are ours; at their defaults of 0 they change nothing.
        - Directions in which the pairs do not vary are dropped instead of inverted.

    Args:
        keep: share of the smaller side's dimensions to keep, .8 as the paper recommends.
        ridge: added to both covariances, as a share of their mean variance; the paper has none, few pairs need some.
        weight: canonical correlations to this power scale the directions. The paper's plain projection is 0; with 1
            directions on which the languages agree count more.
    """

    keep: float = 0.8
    ridge: float = 0.0
    weight: float = 0.0

    limits: ClassVar[Limits] = {"keep": "(0, 1]", "weight": "(-inf, inf)"}

    def _fit(self, problem: Problem) -> Alignment:
        X, Y = problem.paired
        A, B, correlations = cca(X, Y, ridge=self.ridge)
        size = max(1, round(self.keep * min(X.shape[1], Y.shape[1])))
        scale = np.clip(correlations[:size], 0, None) ** self.weight
        mean_x, mean_y = X.mean(axis=0, dtype=np.float64), Y.mean(axis=0, dtype=np.float64)
        A, B = A[:, :size] * scale, B[:, :size] * scale
        return LinearAlignment.learned(
            W_src=A.astype(np.float32),
            W_tgt=B.astype(np.float32),
            b_src=(-mean_x @ A).astype(np.float32),
            b_tgt=(-mean_y @ B).astype(np.float32),
            info={"canonical_correlations": [round(float(c), 4) for c in correlations[:10]]},
        )


def cca(X: FloatMatrix, Y: FloatMatrix, ridge: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Projections A (d_src, r), B (d_tgt, r) and correlations (r,), largest first, for matched rows.

    With ridge 0 the projected, centred pairs have unit variance and are uncorrelated across directions.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    >>> cca(X, X @ np.diag([1, 2, 3]).astype(np.float32))[2].round(3).tolist()
    [1.0, 1.0, 1.0]
    """
    X64, Y64 = X - X.mean(axis=0, dtype=np.float64), Y - Y.mean(axis=0, dtype=np.float64)
    n = max(len(X64), 1)
    root_x, root_y = _inverse_root(X64.T @ X64 / n, ridge), _inverse_root(Y64.T @ Y64 / n, ridge)
    U, correlations, Vt = np.linalg.svd(root_x @ (X64.T @ Y64 / n) @ root_y, full_matrices=False)
    return root_x @ U, root_y @ Vt.T, correlations


def _inverse_root(C: Floats, ridge: float) -> Floats:
    """(C + ridge * mean variance)^(-1/2); directions without variance get none."""
    values, vectors = np.linalg.eigh(C)
    values = values + ridge * max(float(values.mean()), 0)
    floor = max(float(values[-1]), 0) * 1e-10
    inverse = np.where(values > floor, 1 / np.sqrt(np.where(values > floor, values, 1)), 0)
    root: Floats = (vectors * inverse) @ vectors.T
    return root
