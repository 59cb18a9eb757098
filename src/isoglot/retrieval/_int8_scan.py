"""Walks the packed codes panel by panel, runs the microkernel and keeps the best candidates of both directions.

Every list is kept sorted, best first; equal scores stay in the order they came, which is ascending by index.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from isoglot.retrieval._exact_scan import insert, lowest_bit
from isoglot.retrieval._int8_micro import micro


@njit(inline="always")
def _add_saturating(total: Any, bias: Any, low: Any) -> Any:
    value = np.int64(total) + np.int64(bias)
    return low if value < low else value


@njit(nogil=True, cache=True)
def scan_panels(
    queries: Any,  # (query panels, steps, rows, 4) uint8
    targets: Any,  # (target panels, steps, columns, group) int8
    start: Any,  # (targets,) lane type, as all that follow
    row_bias: Any,
    column_bias: Any,
    row_threshold: Any,
    column_threshold: Any,
    row_scores: Any,  # (queries, depth)
    row_indices: Any,  # (queries, depth) int32
    column_scores: Any,
    column_indices: Any,
    row_number: int,
    low: int,
) -> None:
    """Scan a block of queries against all targets; `row_number` is the index of the block's first row."""
    steps, rows, columns = queries.shape[1], queries.shape[2], targets.shape[2]
    lane_bytes = start.itemsize
    lanes = columns // 2
    sums = np.empty((rows, columns), start.dtype)
    row_hits = np.empty((rows, 2), np.uint64)
    column_hits = np.empty((rows, 2), np.uint64)
    both = column_scores.shape[0] > 0
    query_bytes, target_bytes = steps * rows * 4, steps * columns * targets.shape[3]
    for panel in range(targets.shape[0]):
        column = panel * columns
        for query_panel in range(queries.shape[0]):
            row = query_panel * rows
            addresses = (
                queries.ctypes.data + query_panel * query_bytes,
                targets.ctypes.data + panel * target_bytes,
                start.ctypes.data + column * lane_bytes,
                row_bias.ctypes.data + row * lane_bytes,
                column_bias.ctypes.data + column * lane_bytes,
                row_threshold.ctypes.data + row * lane_bytes,
                column_threshold.ctypes.data + column * lane_bytes,
                sums.ctypes.data,
                row_hits.ctypes.data,
                column_hits.ctypes.data,
            )
            if micro(sums, addresses, steps) == 0:
                continue
            for r in range(rows):
                i = row + r
                for v in range(2):
                    hits = row_hits[r, v]
                    while hits != 0:
                        at = v * lanes + lowest_bit(hits)
                        hits &= hits - np.uint64(1)
                        score = _add_saturating(sums[r, at], column_bias[column + at], low)
                        if score > row_threshold[i]:
                            insert(row_scores[i], row_indices[i], score, column + at)
                            row_threshold[i] = row_scores[i, -1]
                    if not both:
                        continue
                    hits = column_hits[r, v]
                    while hits != 0:
                        at = v * lanes + lowest_bit(hits)
                        hits &= hits - np.uint64(1)
                        j = column + at
                        score = _add_saturating(sums[r, at], row_bias[i], low)
                        if score > column_threshold[j]:
                            insert(column_scores[j], column_indices[j], score, row_number + i)
                            column_threshold[j] = column_scores[j, -1]
