"""Exact search: blocked float32 products, of which each serves both directions.

A tile of the product is written by BLAS into a scratch buffer that stays in the cache and is looked at once,
by a fused kernel that updates the best candidates of its rows and of its columns. Memory is
O((n + m) k) and never grows with n * m.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.progress import Progress, silent
from isoglot.retrieval._rows import Bias, Candidates, Found, UnitRows, padded_length
from isoglot.threads import run_blocks

#: Measured best: 2 MB of scores stay in the second and third level caches, and 512 rows pay for packing the columns.
_ROWS, _COLUMNS = 512, 1024
#: Neighbours kept beyond k, so that the final scoring in double precision settles what float32 rounding left open.
_SPARE = 4


class ExactBackend:
    """Top candidates by `cosine + bias`, in float32. See `Backend` in `backends.py` for the contract."""

    name = "exact"

    def __init__(self, X: UnitRows, Y: UnitRows, *, threads: int) -> None:
        self.X, self.Y, self.threads = X, Y, threads

    def forward(self, queries: UnitRows, column_bias: Bias, k: int, *, progress: Progress = silent) -> Found:
        """The best rows of Y for each query."""
        from isoglot.retrieval._rescore import best_of_candidates

        none = np.zeros(queries.n, dtype=np.float32)
        candidates, _ = self._search(queries, none, column_bias, k, both=False, progress=progress)
        return best_of_candidates(queries, self.Y, candidates, column_bias, k, threads=self.threads)

    def both(self, row_bias: Bias, column_bias: Bias, k: int, *, progress: Progress = silent) -> tuple[Found, Found]:
        """The best rows of Y for each row of X, and of X for each row of Y."""
        from isoglot.retrieval._rescore import best_of_candidates

        X, Y, threads = self.X, self.Y, self.threads
        there, back = self._search(X, row_bias, column_bias, k, both=True, progress=progress)
        return (
            best_of_candidates(X, Y, there, column_bias, k, threads=threads, progress=progress),
            best_of_candidates(Y, X, back, row_bias, k, threads=threads, progress=progress),
        )

    def _search(
        self, queries: UnitRows, row_bias: Bias, column_bias: Bias, k: int, *, both: bool, progress: Progress
    ) -> tuple[Candidates, Candidates]:
        from isoglot.retrieval._exact_scan import scan_tile

        targets = self.Y
        n, m = queries.n, targets.n
        depth, column_depth = min(k + _SPARE, m), min(k + _SPARE, n)
        row_scores = np.full((n, depth), -np.inf, dtype=np.float32)
        row_indices = np.full((n, depth), -1, dtype=np.int32)
        # Padding columns can never win: their score is -inf and their threshold +inf.
        padding = padded_length(m) - m
        column_bias = np.pad(column_bias, (0, padding), constant_values=-np.inf)
        workers = min(self.threads, max(1, -(-n // _ROWS)))
        tiles = [np.empty(_ROWS * _COLUMNS, dtype=np.float32) for _ in range(workers)]
        columns = m if both else 0
        column_scores = [np.full((columns, column_depth), -np.inf, dtype=np.float32) for _ in range(workers)]
        column_indices = [np.full((columns, column_depth), -1, dtype=np.int32) for _ in range(workers)]
        thresholds = [
            np.pad(np.full(columns, -np.inf, np.float32), (0, m - columns + padding), constant_values=np.inf)
            for _ in range(workers)
        ]

        def work(worker: int, begin: int, end: int) -> None:
            block = queries.padded[begin : padded_length(end)]
            for column in range(0, m, _COLUMNS):
                against = targets.padded[column : column + _COLUMNS]
                tile = tiles[worker][: len(block) * len(against)].reshape(len(block), len(against))
                np.matmul(block, against.T, out=tile)
                scan_tile(
                    tile,
                    end - begin,
                    begin,
                    column,
                    row_bias,
                    column_bias,
                    row_scores[begin:end],
                    row_indices[begin:end],
                    column_scores[worker],
                    column_indices[worker],
                    thresholds[worker],
                )

        step = "searching both ways" if both else "searching"
        run_blocks(n, _ROWS, work, threads=self.threads, step=step, progress=progress)
        return row_indices, merge_columns(column_scores, column_indices)[0]


def merge_columns(
    scores: Sequence[npt.NDArray[Any]], indices: Sequence[Candidates]
) -> tuple[Candidates, npt.NDArray[Any]]:
    """Merge the workers' lists of each column: best first, equal scores by index, as one worker would have it.

    Returns the merged indices and the scores that belong to them.
    """
    if len(scores) == 1:
        return indices[0], scores[0]
    depth = scores[0].shape[1]
    merged, merged_scores = np.empty_like(indices[0]), np.empty_like(scores[0])
    for begin in range(0, len(merged), 4096):
        at = slice(begin, begin + 4096)
        score = np.concatenate([part[at] for part in scores], axis=1)
        index = np.concatenate([part[at] for part in indices], axis=1)
        order = np.lexsort((index, -score.astype(np.float64)), axis=1)[:, :depth]
        merged[at] = np.take_along_axis(index, order, axis=1)
        merged_scores[at] = np.take_along_axis(score, order, axis=1)
    return merged, merged_scores
