"""Exact scores of candidates, added up in double precision, and the final order.

Every backend ends here. A pair of words therefore gets the same score whichever backend, tile, thread or
direction found it, and equal scores are ordered by index.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from isoglot.progress import Progress, silent
from isoglot.retrieval._exact_scan import insert
from isoglot.retrieval._rows import Bias, Candidates, Found, UnitRows
from isoglot.threads import run_blocks

_BLOCK = 4096


def best_of_candidates(
    queries: UnitRows,
    targets: UnitRows,
    candidates: Candidates,
    bias: Bias,
    k: int,
    *,
    threads: int,
    progress: Progress = silent,
) -> Found:
    """The k best of (n, c) candidates by cosine + bias of the target; -1 marks a candidate that is none.

    Returns indices and `cosine + bias`, both (n, k), with k cut to the number of targets.
    """
    n, k = queries.n, min(k, targets.n)
    indices = np.full((n, k), -1, dtype=np.int64)
    scores = np.full((n, k), -np.inf, dtype=np.float32)

    def work(worker: int, begin: int, end: int) -> None:
        _rescore(
            queries.padded[begin:end],
            targets.padded,
            # In rising order, so that the first of equal scores to arrive is the one with the lowest index.
            np.sort(candidates[begin:end], axis=1),
            bias,
            indices[begin:end],
            scores[begin:end],
        )

    run_blocks(n, _BLOCK, work, threads=threads, step="scoring candidates", progress=progress)
    return indices, scores


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _rescore(queries: Any, targets: Any, candidates: Any, bias: Any, indices: Any, scores: Any) -> None:
    dim = queries.shape[1]
    for row in range(queries.shape[0]):
        last = -1
        for j in candidates[row]:
            if j == last or j < 0:
                continue
            last = j
            total = 0.0
            for at in range(dim):
                total += np.float64(queries[row, at]) * np.float64(targets[j, at])
            score = np.float32(total + bias[j])
            if score > scores[row, -1]:
                insert(scores[row], indices[row], score, j)
