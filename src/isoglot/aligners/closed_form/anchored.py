"""A linear map that is pulled to the identity: for encoders whose languages share a space already.

Ridge regression (Hoerl & Kennard 1970) shrinks a map to zero, which forgets what the encoder knows. Shrunk to the
identity instead, the map changes only those directions that the pairs speak of, and text of another kind keeps what
it had. How strong the pull is, cross-validation says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.closed_form.pull import CHOICES, FEW, choose_pull
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector

Floats = npt.NDArray[np.float64]

#: Pulls to choose from, in units of the spectral norm of X'Y; the last is the identity but for rounding.
GRID = (*(float(pull) for pull in np.round(10 ** np.arange(-3, 1.01, 0.25), 5)), 10_000.0)
#: With too few pairs to choose.
_FEW_PULL = 0.1


@method(
    "anchored",
    "linear map pulled to the identity: gains on the pairs' kind of text, and no harm elsewhere; for encoders",
    supervision="supervised",
    linear=True,
    cost="two products of the pairs and a hundred linear systems to choose the pull: O(n d² + d³)",
    paper="Hoerl & Kennard 1970, with another centre",
)
class Anchored(Aligner):
    """Map the source by W = (X'X + l I)^-1 (X'Y + l I), centred rows of length one; l is the pull.

    Differs from the paper:
        - The map is shrunk to the identity, not to zero.
        - The pull is chosen by retrieval of pairs held out, with preference for much pull.

    Args:
        pull: strength l in units of the spectral norm of X'Y; 0 is least squares, much leaves the source as it is. None
            chooses it by cross-validation over the pairs; of fewer than 25 nothing can be held out, and it is 0.1.
        choice: "safe" takes the largest pull that finds hardly fewer of the pairs held out than the best, "best" the
            best one.
        tolerance: what is hardly fewer: this share of what the best pull gains on the largest, or one standard error
            if that is more.
        orthogonal: a rotation instead, by the singular vectors of X'Y + l I.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, pairs = rng.normal(size=(60, 4)), [[i, i] for i in range(60)]
    >>> alignment = Anchored(pull=1000.0).fit(X, -X, pairs)
    >>> bool(np.allclose(alignment.transform(X), alignment.normalise(X), atol=0.01))
    True
    """

    pull: float | None = None
    choice: str = "safe"
    tolerance: float = 0.03
    orthogonal: bool = False

    limits: ClassVar[Limits] = {"choice": CHOICES, "tolerance": "[0, 1)"}

    def _fit(self, problem: Problem) -> Alignment:
        X, Y = problem.paired
        gram, cross = _moments(X, Y)
        solve = anchored_rotation if self.orthogonal else anchored_map

        def fold(kept: IntVector) -> Callable[[float], Callable[[IntVector], FloatMatrix]]:
            # What is left of both moments without the pairs that are held out.
            held_gram, held_cross = _moments(problem.X[kept[:, 0]], problem.Y[kept[:, 1]])
            left = gram - held_gram, cross - held_cross

            def mapped(pull: float) -> Callable[[IntVector], FloatMatrix]:
                W = solve(*left, pull).astype(np.float32)
                return lambda rows: problem.X[rows] @ W

            return mapped

        pull, info = self.pull, {}
        if pull is None and len(problem.pairs) < FEW:
            pull, info = _FEW_PULL, {"choice": "too few pairs"}
        elif pull is None:
            pull, info = choose_pull(
                problem.Y,
                problem.pairs,
                GRID,
                fold,
                choice=self.choice,
                tolerance=self.tolerance,
                seed=self.seed,
                progress=problem.progress,
            )
        W = solve(gram, cross, pull)
        return LinearAlignment.learned(W_src=W.astype(np.float32), info={"pull": pull, "pull_choice": info})


def anchored_map(gram: Floats, cross: Floats, pull: float) -> Floats:
    """The W that minimises ||X W - Y||² + l ||W - I||², of X'X and X'Y (d, d).

    `pull` is l in units of the spectral norm of X'Y. At 0 the smallest solution is taken.

    >>> anchored_map(np.eye(2), -np.eye(2), 1.0).round(3).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    identity = np.eye(len(gram))
    weight = pull * np.linalg.norm(cross, 2)
    if weight == 0:
        return np.asarray(np.linalg.lstsq(gram, cross)[0], dtype=np.float64)
    # The change that the pairs ask for, damped: with much pull no digits are lost in this form.
    change = np.linalg.solve(gram + weight * identity, cross - gram)
    return np.asarray(identity + change, dtype=np.float64)


def anchored_rotation(gram: Floats, cross: Floats, pull: float) -> Floats:
    """The orthogonal W that minimises ||X W - Y||² + l ||W - I||², of X'Y (d, d); see `anchored_map`.

    >>> anchored_rotation(np.eye(2), -np.eye(2), 2.0).round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    U, _, Vt = np.linalg.svd(cross + pull * np.linalg.norm(cross, 2) * np.eye(len(gram)))
    W: Floats = U @ Vt
    return W


def _moments(X: FloatMatrix, Y: FloatMatrix) -> tuple[Floats, Floats]:
    X64 = X.astype(np.float64)
    return X64.T @ X64, X64.T @ Y.astype(np.float64)
