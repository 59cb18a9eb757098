"""Search below the cost of one float32 product: int8 candidates, re-ranked exactly.

Rows are centred, turned by a random rotation that evens out their components, and rounded to bytes. The
cosine is the inner product of the centred rows plus a bias per row and per column; biases are never coded as
bytes but enter the comparison as integers on the scale of the full product. A microkernel multiplies, adds
and compares without leaving the registers (`_int8_micro`). What it keeps is scored exactly; a
query whose candidates leave a doubt whether a better target was left out is searched again in float32.

The rounding error of a cosine has a standard deviation of about .002, whatever the dimension.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.progress import Progress, silent
from isoglot.retrieval._int8_micro import Microkernel, fastest
from isoglot.retrieval._rows import Bias, Candidates, Found, UnitRows
from isoglot.retrieval.exact import ExactBackend, merge_columns
from isoglot.threads import run_blocks

#: Queries in a block: their codes (some 150 KB for 300 dimensions) stay in the second level cache.
_ROWS = 240
#: Candidates kept beyond k, to be re-ranked exactly: this many, and k more, because what decides whether rounding
#: can push the k-th neighbour out is the ratio of candidates to k. Measured on real vectors, .9999 are found.
_SPARE = 10
#: Query codes are 7-bit (a pair of products must fit 16 bits), target codes 8-bit.
_QUERY_LIMIT, _TARGET_LIMIT = 63, 127
#: Codes become unsigned by adding this to every query byte; `start` takes it off again.
_OFFSET = 64
#: A query is searched again, exactly, unless its k-th neighbour lies this many standard deviations of the rounding
#: error above the last candidate.
_DEVIATIONS = 2.0
_SEED = 20180427

Lanes = npt.NDArray[np.signedinteger]


@dataclasses.dataclass(frozen=True, eq=False)
class _Listed:
    """Candidates of each query, and the most that `cosine + bias` of a target that is not listed can be."""

    candidates: Candidates
    ceiling: npt.NDArray[np.float64]


class Int8Backend:
    """Top candidates by `cosine + bias` from an int8 product. See `Backend` in `backends.py` for the contract."""

    name = "int8"

    def __init__(self, X: UnitRows, Y: UnitRows, *, threads: int, kernel: Microkernel | None = None) -> None:
        self.X, self.Y, self.threads = X, Y, threads
        kernel = kernel or fastest()
        if kernel is None:
            raise RuntimeError("no int8 kernel for this CPU: see available_backends()")
        self.kernel = kernel
        #: Queries whose candidates left a doubt and which were searched exactly, over all calls.
        self.searched_again = 0
        self._exact = ExactBackend(X, Y, threads=threads)
        self._code_targets()

    def forward(self, queries: UnitRows, column_bias: Bias, k: int, *, progress: Progress = silent) -> Found:
        """The best rows of Y for each query."""
        none = np.zeros(queries.n, dtype=np.float32)
        there, _ = self._search(queries, none, column_bias, k, both=False, progress=progress)
        return self._certified(self._exact, queries, column_bias, there, k, progress)

    def both(self, row_bias: Bias, column_bias: Bias, k: int, *, progress: Progress = silent) -> tuple[Found, Found]:
        """The best rows of Y for each row of X, and of X for each row of Y."""
        there, back = self._search(self.X, row_bias, column_bias, k, both=True, progress=progress)
        reverse = ExactBackend(self.Y, self.X, threads=self.threads)
        return (
            self._certified(self._exact, self.X, column_bias, there, k, progress),
            self._certified(reverse, self.Y, row_bias, back, k, progress),
        )

    def _certified(
        self, exact: ExactBackend, queries: UnitRows, bias: Bias, listed: _Listed, k: int, progress: Progress
    ) -> Found:
        """Score the candidates; where a better target may have been left out, search again, exactly."""
        from isoglot.retrieval._rescore import best_of_candidates

        found = best_of_candidates(
            queries, exact.Y, listed.candidates, bias, k, threads=self.threads, progress=progress
        )
        if not found[1].shape[1]:
            return found
        doubtful = np.flatnonzero(found[1][:, -1] < listed.ceiling)
        self.searched_again += len(doubtful)
        if len(doubtful):
            again = exact.forward(queries.take(doubtful), bias, k, progress=progress)
            found[0][doubtful], found[1][doubtful] = again
        return found

    def _code_targets(self) -> None:
        """Rotate, round and pack Y; all that does not depend on the queries."""
        Y, kernel, dim = self.Y, self.kernel, self.Y.dim
        generator = np.random.default_rng(_SEED)
        rotation = np.linalg.qr(generator.standard_normal((dim, dim)))[0].astype(np.float32)
        self._query_mean = _mean(self.X)
        self._target_mean = _mean(Y)
        self._rotation = rotation
        self._steps = -(-dim // kernel.group)
        norm = _largest_norm(Y, self._target_mean)
        scale = _TARGET_LIMIT / (_spread(dim) * norm)
        if kernel.lane_bits == 16:
            # Half of the 15 bits that the inner product may have; the other half is left to the queries.
            scale = min(scale, np.sqrt(2.0**15) / norm)
        self._target_scale = scale
        panels = -(-Y.n // kernel.columns)
        self._packed = np.empty((panels, self._steps, kernel.columns, kernel.group), dtype=np.int8)
        sums = np.zeros(panels * kernel.columns, dtype=np.int64)
        largest = np.zeros(panels, dtype=np.float64)
        chunk = max(1, 4096 // kernel.columns)

        def work(worker: int, begin: int, end: int) -> None:
            rows = slice(begin * kernel.columns, min(Y.n, end * kernel.columns))
            codes = np.zeros(((end - begin) * kernel.columns, self._steps * kernel.group), dtype=np.int8)
            turned = (Y.padded[rows] - self._target_mean) @ rotation * np.float32(scale)
            codes[: len(turned), :dim] = np.clip(np.rint(turned), -_TARGET_LIMIT, _TARGET_LIMIT)
            shape = (end - begin, kernel.columns, self._steps, kernel.group)
            self._packed[begin:end] = codes.reshape(shape).transpose(0, 2, 1, 3)
            wide = codes.astype(np.float32)
            sums[begin * kernel.columns : end * kernel.columns] = wide.sum(axis=1)
            largest[begin:end] = np.sqrt(np.einsum("ij,ij->i", wide, wide)).max(initial=0.0)

        run_blocks(panels, chunk, work, threads=self.threads, step="coding", progress=silent)
        self._largest_code = float(largest.max(initial=1.0))
        # Wraps in 16 bits on purpose: so do the sums it is added to.
        self._start = (-_OFFSET * sums).astype(self._lane)
        # cosine = (x - a)(y - b) + x b + (y a - a b)
        self._column_shift = Y.matrix @ self._query_mean - float(self._query_mean @ self._target_mean)

    @property
    def _lane(self) -> type[np.signedinteger]:
        return np.int16 if self.kernel.lane_bits == 16 else np.int32

    def _query_scale(self, queries: UnitRows) -> float:
        dim = queries.dim
        norm = _largest_norm(queries, self._query_mean)
        scale = _QUERY_LIMIT / (_spread(dim) * norm)
        if self.kernel.lane_bits == 16:
            # |x||y| of the codes must fit 15 bits; rounding lengthens x by at most sqrt(dim) / 2.
            room = (2.0**15 - 1) / self._largest_code - np.sqrt(dim) / 2
            scale = min(scale, room / norm)
        return float(scale)

    def _code_queries(self, block: npt.NDArray[np.float32], scale: float) -> npt.NDArray[np.uint8]:
        kernel, steps = self.kernel, self._steps
        panels = -(-len(block) // kernel.rows)
        codes = np.zeros((panels * kernel.rows, steps * kernel.group), dtype=np.uint8)
        turned = (block - self._query_mean) @ self._rotation * np.float32(scale)
        codes[: len(block), : block.shape[1]] = np.clip(np.rint(turned), -_QUERY_LIMIT, _QUERY_LIMIT) + _OFFSET
        packed = codes.reshape(panels, kernel.rows, steps, kernel.group).transpose(0, 2, 1, 3)
        # The microkernel broadcasts 4 bytes: with groups of 2 each group stands twice.
        return np.ascontiguousarray(np.concatenate([packed] * (4 // kernel.group), axis=3))

    def _search(
        self, queries: UnitRows, row_bias: Bias, column_bias: Bias, k: int, *, both: bool, progress: Progress
    ) -> tuple[_Listed, _Listed]:
        from isoglot.retrieval._int8_scan import scan_panels

        kernel, lane, n, m = self.kernel, self._lane, queries.n, self.Y.n
        low = -(2**15) if kernel.lane_bits == 16 else -(2**30)
        high = np.iinfo(lane).max
        depth, column_depth = min(2 * k + _SPARE, m), min(2 * k + _SPARE, n)
        scale = self._query_scale(queries)
        unit = scale * self._target_scale
        padded = self._packed.shape[0] * kernel.columns
        of_columns = self._column_shift + column_bias
        column_scores_bias = _integer_bias(of_columns, unit, low, lane)
        column_scores_bias = np.pad(column_scores_bias, (0, padded - m), constant_values=low)
        row_shift = queries.matrix @ self._target_mean
        row_scores_bias = _integer_bias(row_shift + row_bias, unit, low, lane)
        last = np.full(n, low, dtype=np.float64)
        found = np.full((n, depth), -1, dtype=np.int32)
        workers = min(self.threads, max(1, -(-n // _ROWS)))
        columns = m if both else 0
        column_scores = [np.full((columns, column_depth), low, dtype=lane) for _ in range(workers)]
        column_indices = [np.full((columns, column_depth), -1, dtype=np.int32) for _ in range(workers)]
        thresholds = [
            np.pad(np.full(columns, low, lane), (0, padded - columns), constant_values=high) for _ in range(workers)
        ]

        def work(worker: int, begin: int, end: int) -> None:
            codes = self._code_queries(queries.padded[begin:end], scale)
            rows = len(codes) * kernel.rows
            bias = np.full(rows, low, dtype=lane)
            bias[: end - begin] = row_scores_bias[begin:end]
            # Padding rows can never win: nothing beats this threshold, and their bias leaves no column score.
            threshold = np.full(rows, high, dtype=lane)
            threshold[: end - begin] = low
            scores = np.full((rows, depth), low, dtype=lane)
            indices = np.full((rows, depth), -1, dtype=np.int32)
            scan_panels(
                codes,
                self._packed,
                self._start,
                bias,
                column_scores_bias,
                threshold,
                thresholds[worker],
                scores,
                indices,
                column_scores[worker],
                column_indices[worker],
                begin,
                low,
            )
            found[begin:end] = indices[: end - begin]
            last[begin:end] = scores[: end - begin, -1]

        step = "searching both ways" if both else "searching"
        run_blocks(n, _ROWS, work, threads=self.threads, step=step, progress=progress)
        back, back_scores = merge_columns(column_scores, column_indices)
        margin = self._margin(queries, scale)
        # A list that holds every target leaves none out.
        there = _Listed(found, _ceiling(last, unit, of_columns, row_shift, margin, whole=depth == m))
        column_last = back_scores[:, -1] if back_scores.size else np.zeros(columns)
        of_rows, column_shift = row_shift + row_bias, self._column_shift[:columns]
        return there, _Listed(back, _ceiling(column_last, unit, of_rows, column_shift, margin, whole=column_depth == n))

    def _margin(self, queries: UnitRows, scale: float) -> float:
        """How far a cosine from codes may be off: several standard deviations of its rounding error."""
        rounding = 1 / np.sqrt(12)
        of_queries = rounding / scale * _largest_norm(self.Y, self._target_mean)
        of_targets = rounding / self._target_scale * _largest_norm(queries, self._query_mean)
        return _DEVIATIONS * float(np.hypot(of_queries, of_targets))


def _ceiling(
    last: npt.NDArray[Any],
    unit: float,
    other_biases: npt.NDArray[np.float32],
    own_shift: npt.NDArray[np.float32],
    margin: float,
    *,
    whole: bool,
) -> npt.NDArray[np.float64]:
    """From the last listed integer score back to `cosine + bias`; minus infinity where nothing was left out."""
    if whole:
        return np.full(len(last), -np.inf)
    highest = float(other_biases.max(initial=-np.inf))
    return last.astype(np.float64) / unit + highest + own_shift + margin


def _mean(rows: UnitRows) -> npt.NDArray[np.float32]:
    mean: npt.NDArray[np.float32] = rows.padded.sum(axis=0, dtype=np.float64).astype(np.float32)
    return mean / np.float32(max(1, rows.n))


def _largest_norm(rows: UnitRows, mean: npt.NDArray[np.float32]) -> float:
    """The largest |row - mean|, never zero."""
    lengths = np.einsum("ij,ij->i", rows.matrix, rows.matrix)
    squares = lengths - 2 * (rows.matrix @ mean) + float(mean @ mean)
    return float(np.sqrt(max(float(squares.max(initial=0.0)), 1e-6)))


def _spread(dim: int) -> float:
    """How large a component of a randomly rotated unit vector gets, save for a few in a million that are clipped."""
    return min(1.0, 4.5 / float(np.sqrt(dim)))


def _integer_bias(bias: npt.NDArray[np.float32], unit: float, low: int, lane: type[np.signedinteger]) -> Lanes:
    """Biases as integers on the scale of the product. The highest becomes 0, which alters no ranking: adding the
    others can then saturate only downwards, where scores are hopeless anyway."""
    if not len(bias):
        return np.zeros(0, dtype=lane)
    lowered = np.rint((bias.astype(np.float64) - float(bias.max())) * unit)
    return np.maximum(lowered, low).astype(lane)
