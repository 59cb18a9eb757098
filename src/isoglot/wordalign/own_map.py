"""A map between the two sides' vectors, learned from the links found so far: for languages an encoder barely knows.

The encoder already has a common space, if a bad one, so the map is pulled to the identity as in `Anchored`, with
centred rows of length one: directions that no link speaks of stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isoglot.aligners import anchored_map
from isoglot.encoders import WordVectors
from isoglot.spaces import unit_rows
from isoglot.wordalign.links import WordLinks

Matrix = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True, eq=False)
class OwnMap:
    """Means of the two sides, and the map of the centred source side."""

    means: tuple[Matrix, Matrix]
    W: Matrix

    def __call__(self, src: WordVectors, tgt: WordVectors) -> tuple[WordVectors, WordVectors]:
        """Both sides, in one space."""
        X, Y = (_unit(side) - mean for side, mean in zip((src, tgt), self.means, strict=True))
        X = np.asarray(X @ self.W, dtype=np.float32)
        return dataclasses.replace(src, vectors=X), dataclasses.replace(tgt, vectors=Y.astype(np.float32))


def learn_own_map(src: WordVectors, tgt: WordVectors, links: Sequence[WordLinks], pull: float) -> OwnMap | None:
    """The map of linked words, or None if there are fewer links than dimensions, too few to learn from."""
    rows = [
        (src.offsets[k] + i, tgt.offsets[k] + j) for k, one in enumerate(links) for i, j in one
    ]  # counted over the whole text
    if len(rows) < src.vectors.shape[1]:
        return None
    X, Y = _unit(src), _unit(tgt)
    means = X.mean(axis=0), Y.mean(axis=0)
    numbers = np.array(rows)
    A, B = (X[numbers[:, 0]] - means[0]).astype(np.float64), (Y[numbers[:, 1]] - means[1]).astype(np.float64)
    return OwnMap(means, anchored_map(A.T @ A, A.T @ B, pull).astype(X.dtype))


def _unit(side: WordVectors) -> Matrix:
    return unit_rows(np.ascontiguousarray(side.vectors))
