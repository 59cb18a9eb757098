"""The rotation that stands before a flow or a matrix: none, that of pairs, or one that was searched for without any."""

from __future__ import annotations

import dataclasses

import numpy as np

from isoglot.aligners.adversarial.muse import Muse
from isoglot.aligners.alignment import LinearAlignment
from isoglot.aligners.base import Problem
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.refinement import PATIENCE, refine
from isoglot.checkpoints import Checkpoint
from isoglot.spaces import FloatMatrix, IntVector

#: "identity": nothing. "procrustes": the rotation of the pairs; without pairs, of those that the identity induces,
#: round after round. "searched": a rotation found without pairs, by the starts of `muse` that take seconds.
STARTS = ("identity", "procrustes", "searched")


def starting_rotation(
    start: str, problem: Problem, pairs: IntVector | None = None, *, score: str, seed: int
) -> FloatMatrix | None:
    """The rotation (d, d) of the source to start from, None for none."""
    X, Y = problem.X, problem.Y
    if start == "identity":
        return None
    if start == "procrustes":
        if pairs is None:
            return refine(X, Y, np.eye(X.shape[1], dtype=np.float32), rounds=50, patience=PATIENCE, score=score).best
        # Around the means, so that a shift between the languages does not bend the rotation.
        A, B = (M - M.mean(axis=0) for M in (X[pairs[:, 0]], Y[pairs[:, 1]]))
        return procrustes(A.astype(np.float32), B.astype(np.float32))
    quick = "distribution,principal,grid" if X.shape[1] == 2 else "distribution,principal"
    alone = dataclasses.replace(problem, pairs=problem.pairs[:0], checkpoint=Checkpoint(None, ""))
    found = Muse(starts=quick, score=score, seed=seed)._fit(alone)
    if not isinstance(found, LinearAlignment) or found.W_src is None:
        raise TypeError("muse gives a rotation of the source")
    return found.W_src
