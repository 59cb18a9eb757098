"""The normaliser of the inverted softmax (Smith, Turban, Hamblin and Hammerla 2017, "Offline bilingual word vectors").

    score(x, y) = beta cos(x, y) - log sum over x' of exp(beta cos(x', y))

A hub is near everything, so its sum is large and its scores are small. Both directions' sums come from one
blocked pass over the product, which keeps no more than a tile of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from isoglot.progress import Progress, silent
from isoglot.retrieval._rows import UnitRows, padded_length
from isoglot.threads import run_blocks

#: Up to here exp(-2 beta) does not vanish in single precision, where the exponential is many times faster.
_SINGLE_PRECISION = 40.0
_ROWS, _COLUMNS = 512, 1024


def log_normalisers(
    X: UnitRows, Y: UnitRows, beta: float, *, threads: int, progress: Progress = silent
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """log sum over y of exp(beta cos(x, y)) for each row x of X, and the same over x for each row y of Y."""
    workers = min(threads, max(1, -(-X.n // _ROWS)))
    row_sums = np.zeros(X.n)
    # A worker's share of a column's sum depends on which blocks it took; one array per block would not, but
    # takes O(n m / 512). Groups of blocks, added in order, are a fixed middle way.
    blocks = max(1, -(-X.n // _ROWS))
    groups = min(32, blocks)
    per_group = -(-blocks // groups)
    column_sums = np.zeros((groups, padded_length(Y.n)))
    tiles = [np.empty(_ROWS * _COLUMNS, dtype=np.float32) for _ in range(workers)]
    add = _add_exponentials if beta <= _SINGLE_PRECISION else _add_exponentials_in_double

    def work(worker: int, begin: int, end: int) -> None:
        mine = column_sums[begin // (per_group * _ROWS)]
        for first in range(begin, end, _ROWS):
            last = min(end, first + _ROWS)
            block = X.padded[first : padded_length(last)]
            for column in range(0, Y.n, _COLUMNS):
                against = Y.padded[column : column + _COLUMNS]
                tile = tiles[worker][: len(block) * len(against)].reshape(len(block), len(against))
                np.matmul(block, against.T, out=tile)
                width = min(Y.n - column, len(against))
                add(tile, last - first, width, beta, row_sums[first:last], mine[column : column + len(against)])

    run_blocks(X.n, per_group * _ROWS, work, threads=workers, step="summing exponentials", progress=progress)
    return np.log(row_sums) + beta, np.log(column_sums.sum(axis=0)[: Y.n]) + beta


@njit(inline="always")
def _exp(x: Any) -> Any:
    """e**x for -87 < x < 1 to about 2e-7, without a branch so that it is vectorised."""
    scaled = x * np.float32(1.4426950408889634)
    whole = np.floor(scaled)
    f = scaled - whole
    power = np.float32(2.1498763701e-5)
    power = power * f + np.float32(1.4352314037e-4)
    power = power * f + np.float32(1.3422634797e-3)
    power = power * f + np.float32(9.6140150150e-3)
    power = power * f + np.float32(5.5505126860e-2)
    power = power * f + np.float32(2.4022638462e-1)
    power = power * f + np.float32(6.9314718588e-1)
    power = power * f + np.float32(1.0)
    return power * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _add_exponentials(tile: Any, rows: int, width: int, beta: float, row_sums: Any, column_sums: Any) -> None:
    factor = np.float32(beta)
    columns = np.zeros(width, np.float32)
    for r in range(rows):
        for c in range(width):
            value = _exp(factor * (tile[r, c] - np.float32(1.0)))
            tile[r, c] = value
            columns[c] += value
        total = np.float32(0.0)
        for c in range(width):
            total += tile[r, c]
        row_sums[r] += total
    for c in range(width):
        column_sums[c] += columns[c]


@njit(nogil=True, cache=True)
def _add_exponentials_in_double(tile: Any, rows: int, width: int, beta: float, row_sums: Any, column_sums: Any) -> None:
    for r in range(rows):
        for c in range(width):
            value = math.exp(beta * (np.float64(tile[r, c]) - 1.0))
            row_sums[r] += value
            column_sums[c] += value
