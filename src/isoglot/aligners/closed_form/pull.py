"""How strongly a map is pulled to where it starts from: chosen by cross-validation over the pairs.

More pull than the best is the safer choice for text of another kind than the pairs. How much more: by the
one-standard-error rule of regularisation paths (Breiman et al. 1984, "Classification and regression trees"), or as much
as costs a small share of the gain, whichever is more, as many pairs make the error very small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners.held_out import folds, ranked_by_csls
from isoglot.progress import Progress
from isoglot.spaces import FloatMatrix, IntVector

CHOICES = ("safe", "best")
FOLDS = 5
#: With fewer pairs, retrieval among those held out of a fold says nothing.
FEW = 25
#: Pairs of a fold that are searched for, at most: more tell pulls apart no better.
_MOST = 1000

#: For a fold: from the pairs (p, 2) held out and a pull to what maps rows of the source, by number.
Fold = Callable[[IntVector], Callable[[float], Callable[[IntVector], FloatMatrix]]]
Hits = npt.NDArray[np.float64]


def choose_pull(
    Y: FloatMatrix,
    pairs: IntVector,
    grid: Sequence[float],
    fold: Fold,
    *,
    choice: str,
    tolerance: float,
    seed: int,
    progress: Progress,
) -> tuple[float, dict[str, Any]]:
    """The pull of `grid` (in ascending order), and what was measured.

    Args:
        Y: target rows; `pairs` (p, 2) with at least `FEW` rows.
        choice: "best" for the pull that finds most translations of pairs held out, by CSLS; "safe" for the largest one
            that finds hardly fewer: by a standard error, or by `tolerance` as a share of what the best one gains on
            the largest pull, if that is more.
    """
    hits: list[list[Hits]] = [[] for _ in grid]
    parts = folds(pairs, FOLDS, seed)
    for number, (_, kept) in enumerate(parts):
        mapped = fold(kept)
        # Only among themselves: rows that a map was learned from attract others, and new text has none of them.
        sources, row = np.unique(kept[:_MOST, 0], return_inverse=True)
        targets, column = np.unique(kept[:_MOST, 1], return_inverse=True)
        places = np.stack([row, column], axis=1)
        for i, pull in enumerate(grid):
            hits[i].append(ranked_by_csls(mapped(pull)(sources), Y[targets], places, rows=(_MOST, _MOST)) == 1)
            progress("choosing the pull", number * len(grid) + i + 1, len(parts) * len(grid))
    found = np.stack([np.concatenate(one) for one in hits]).astype(np.float64)  # (grid, words held out)
    number = pick(found, choice, tolerance)
    shares = found.mean(axis=1)
    tried = [[float(pull), round(float(share), 4)] for pull, share in zip(grid, shares, strict=True)]
    return float(grid[number]), {"choice": choice, "held_out": found.shape[1], "P@1": tried[number][1], "tried": tried}


def pick(hits: Hits, choice: str = "safe", tolerance: float = 0.0) -> int:
    """Which row of `hits` (settings, items) to take: the best, or the last that is hardly worse.

    >>> hits = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 0.9], [0, 0, 0, 1]])
    >>> pick(hits, "best"), pick(hits, "safe"), pick(hits, "safe", tolerance=0.05)
    (1, 1, 2)
    """
    shares = hits.mean(axis=1)
    best = int(shares.argmax())
    if choice == "best":
        return best
    error = float(hits[best].std() / np.sqrt(hits.shape[1]))
    least = shares[best] - max(error, tolerance * float(shares[best] - shares[-1]))
    return int(np.flatnonzero(shares >= least - 1e-12)[-1])
