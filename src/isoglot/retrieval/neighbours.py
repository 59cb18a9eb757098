"""`Neighbours`: the answer to a search."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from isoglot.errors import ShapeError


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbours:
    """The k best targets of each of n queries, best first; equal scores stand in order of index.

    Args:
        indices: int64 (n, k), rows of the searched matrix.
        scores: float32 (n, k), never rising along a row.

    >>> import numpy as np
    >>> found = Neighbours(np.array([[2, 0]]), np.array([[0.9, 0.5]], np.float32))
    >>> len(found), found.k, found.indices[0, 0]
    (1, 2, np.int64(2))
    """

    indices: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.indices.ndim != 2 or self.indices.shape != self.scores.shape:
            raise ShapeError(f"indices {self.indices.shape} and scores {self.scores.shape} must be one shape (n, k)")

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def k(self) -> int:
        """How many neighbours each query has."""
        return int(self.indices.shape[1])


@dataclasses.dataclass(frozen=True, eq=False)
class MutualPairs:
    """Pairs (row of X, row of Y) that find each other, in order of the row of X, then of the score.

    Args:
        pairs: int64 (p, 2).
        scores: float32 (p,), of the direction X to Y.
    """

    pairs: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.pairs)
