"""The mean of a word's contextual vectors over its occurrences: the baseline (Bommasani et al. 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.distill.settings import DistillSettings
from isoglot.distill.shards import Shard
from isoglot.spaces import FloatMatrix, IntVector


class Aggregate:
    """Adds up vectors shard by shard. All its state is in `tensors` and `facts`."""

    def __init__(self, counts: IntVector, dim: int, settings: DistillSettings, threads: int | None = None) -> None:
        self._most = settings.occurrences
        # In double precision: a float32 sum of a million small numbers loses digits.
        self._sums = np.zeros((len(counts), dim), dtype=np.float64)
        self._taken = np.zeros(len(counts), dtype=np.int64)

    def needs(self, shard: Shard) -> Shard:
        """Only units with a word that still needs occurrences."""
        units = np.zeros(int(shard.of_unit[-1]) + 1, dtype=bool)
        units[shard.of_unit[self._needed(shard.rows)]] = True
        return shard if units.all() else shard.take(units)

    def learn(self, shard: Shard, vectors: FloatMatrix, random: np.random.Generator) -> None:
        """Add the vectors (words, d) of a shard's running words."""
        places = self._needed(shard.rows)
        if not len(places):
            return
        order = places[np.argsort(shard.rows[places], kind="stable")]
        rows, starts, times = np.unique(shard.rows[order], return_index=True, return_counts=True)
        self._sums[rows] += np.add.reduceat(vectors[order], starts, axis=0, dtype=np.float64)
        self._taken[rows] += times

    def vectors(self) -> FloatMatrix:
        """The means, (V, d)."""
        means: FloatMatrix = (self._sums / np.maximum(self._taken, 1)[:, None]).astype(np.float32)
        return means

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        return {"sums": self._sums, "taken": self._taken}

    @property
    def facts(self) -> dict[str, Any]:
        """Number of occurrences added so far."""
        return {"occurrences": int(self._taken.sum())}

    def restore(self, tensors: Any, facts: Any) -> None:
        """Restore the state from `tensors`."""
        self._sums, self._taken = tensors["sums"], tensors["taken"]

    def _needed(self, rows: npt.NDArray[np.int32]) -> IntVector:
        """Positions of the occurrences that still count, in order."""
        known = np.flatnonzero(rows >= 0)
        if self._most is None:
            return known
        order = known[np.argsort(rows[known], kind="stable")]
        _, starts, times = np.unique(rows[order], return_index=True, return_counts=True)
        before = np.arange(len(order)) - np.repeat(starts, times)  # within the shard
        needed: IntVector = np.sort(order[self._taken[rows[order]] + before < self._most])
        return needed
