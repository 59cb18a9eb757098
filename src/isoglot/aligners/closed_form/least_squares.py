"""A free linear map by (ridge) regression from source to target vectors.

Mikolov et al. 2013, "Exploiting similarities among languages for machine translation" (arXiv:1309.4168); with a ridge
Dinu et al. 2015 (arXiv:1412.6568).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.spaces import FloatMatrix


@method(
    "least-squares",
    "free linear map by ridge regression; takes different dimensions",
    supervision="supervised",
    linear=True,
    cost="one product of the pairs and one eigenproblem: O(n d² + d³)",
    paper="Mikolov et al. 2013; Dinu et al. 2015",
    any_dimensions=True,
)
class LeastSquares(Aligner):
    """Map the source onto the target by regression.

    Differs from the paper:
        - Solved in closed form; Mikolov et al. use stochastic gradient descent.
        - The ridge is chosen by leave-one-out error unless it is given.
        - Rows are normalised and centred first (`normalise`).

    Args:
        ridge: penalty on the squared norm of W; 0 is Mikolov's plain least squares (the smallest solution where
            there are fewer pairs than dimensions). None chooses it by leave-one-out error, in closed form.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    >>> W = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)
    >>> bool(np.allclose(least_squares(X, X @ W, ridge=0), W, atol=1e-4))
    True
    """

    ridge: float | None = None

    def _fit(self, problem: Problem) -> Alignment:
        X, Y = problem.paired
        ridge = choose_ridge(X, Y) if self.ridge is None else self.ridge
        return LinearAlignment.learned(W_src=least_squares(X, Y, ridge), info={"ridge": ridge})


def least_squares(X: FloatMatrix, Y: FloatMatrix, ridge: float) -> FloatMatrix:
    """The W (d_src, d_tgt) that minimises ||X W - Y||² + ridge ||W||², for matched rows."""
    U, s, Vt = np.linalg.svd(X.astype(np.float64), full_matrices=False)
    # s / (s² + ridge); directions that the pairs do not reach get no weight (the smallest solution).
    reached = s > s[0] * max(X.shape) * np.finfo(np.float32).eps
    weight = np.where(reached, s, 0) / np.where(reached, s**2 + ridge, 1)
    W: npt.NDArray[np.float64] = (Vt.T * weight) @ (U.T @ Y.astype(np.float64))
    return W.astype(np.float32)


def choose_ridge(X: FloatMatrix, Y: FloatMatrix) -> float:
    """The ridge with the smallest leave-one-out error, from a grid relative to the mean eigenvalue of X'X.

    Leaving row i out changes its residual by 1 / (1 - h_i), with h the diagonal of the hat matrix, so that no refit is
    needed.
    """
    U, s, _ = np.linalg.svd(X.astype(np.float64), full_matrices=False)
    projected = U.T @ Y.astype(np.float64)
    scale = float(np.mean(s**2))
    best, smallest = 0.0, np.inf
    for ridge in scale * np.logspace(-4, 2, 25):
        shrink = s**2 / (s**2 + ridge)
        residual = Y - (U * shrink) @ projected
        left_out = residual / np.maximum(1 - (U**2) @ shrink, 1e-9)[:, None]
        error = float(np.square(left_out).sum())
        if error < smallest:
            best, smallest = float(ridge), error
    return best
