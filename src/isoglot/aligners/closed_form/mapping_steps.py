"""Linear mapping in steps: whiten, rotate, re-weight, de-whiten, reduce.

Artetxe, Labaka & Agirre 2018, "Generalizing and improving bilingual word embedding mappings with a multi-step framework
of linear transformations". Each step is a matrix, so that all of them together are one matrix a side.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix

Floats = npt.NDArray[np.float64]
Dewhiten = Literal["none", "src", "tgt"]


@dataclasses.dataclass(frozen=True)
class MappingSteps:
    """Which steps to take; the defaults are those that the paper recommends.

    Args:
        whiten: give both sides of the pairs unit covariance before rotating.
        src_reweight, tgt_reweight: singular values of the rotation to this power scale the directions of each side.
        src_dewhiten, tgt_dewhiten: undo the whitening of each side by the "src" or "tgt" covariance.
        dimensions: keep only this many directions, those that agree best; 0 keeps all.
    """

    whiten: bool = True
    src_reweight: float = 0.5
    tgt_reweight: float = 0.5
    src_dewhiten: Dewhiten = "src"
    tgt_dewhiten: Dewhiten = "tgt"
    dimensions: int = 0

    limits: ClassVar[Limits] = {"src_dewhiten": get_args(Dewhiten), "tgt_dewhiten": get_args(Dewhiten)}


def map_in_steps(
    X: FloatMatrix, Y: FloatMatrix, steps: MappingSteps, weights: npt.NDArray[np.float32] | None = None
) -> tuple[FloatMatrix, FloatMatrix]:
    """W_src and W_tgt (d, d) for matched rows X and Y (n, d), each pair counted by its weight.

    >>> X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0].astype(np.float32)
    >>> W_src, W_tgt = map_in_steps(X, X @ turn, MappingSteps())
    >>> bool(np.allclose(X @ W_src, X @ turn @ W_tgt, atol=1e-4))
    True
    """
    if steps.dimensions < 0 or steps.dimensions > min(X.shape[1], Y.shape[1]):
        raise ConfigError(f"cannot keep {steps.dimensions} of {min(X.shape[1], Y.shape[1])} dimensions")
    for side in (steps.src_dewhiten, steps.tgt_dewhiten):
        if side not in ("none", "src", "tgt"):
            raise ConfigError(f"de-whitening is by 'src', 'tgt' or 'none', not {side!r}")
    root = np.ones((len(X), 1)) if weights is None else np.sqrt(weights.astype(np.float64))[:, None]
    A, B = X.astype(np.float64) * root, Y.astype(np.float64) * root
    white_src, white_tgt = (whitening(M) if steps.whiten else np.eye(M.shape[1]) for M in (A, B))
    U, s, Vt = np.linalg.svd((A @ white_src).T @ (B @ white_tgt))
    # Relative to the largest, so that the scale of the pairs does not matter.
    s = s / s[0] if len(s) and s[0] > 0 else s
    W_src, W_tgt = white_src @ U * s**steps.src_reweight, white_tgt @ Vt.T * s**steps.tgt_reweight
    undo = {
        "none": np.eye(len(s)),
        "src": U.T @ np.linalg.inv(white_src) @ U,
        "tgt": Vt @ np.linalg.inv(white_tgt) @ Vt.T,
    }
    if steps.whiten:
        W_src, W_tgt = W_src @ undo[steps.src_dewhiten], W_tgt @ undo[steps.tgt_dewhiten]
    if steps.dimensions:
        W_src, W_tgt = W_src[:, : steps.dimensions], W_tgt[:, : steps.dimensions]
    return W_src.astype(np.float32), W_tgt.astype(np.float32)


def whitening(M: Floats) -> Floats:
    """(M'M)^(-1/2), with a floor under the smallest eigenvalues so that few pairs do not blow up noise."""
    values, vectors = np.linalg.eigh(M.T.astype(np.float64) @ M)
    floor = max(float(values[-1]), np.finfo(np.float64).tiny) * 1e-6
    root: Floats = (vectors / np.sqrt(np.maximum(values, floor))) @ vectors.T
    return root
