"""Which lines were there before: a set of 64-bit hashes that takes 8 bytes a line."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt


class SeenLines:
    """Remembers lines by their hashes, for 8 bytes each, and twice that while runs are merged.

    A new line that shares its hash with another is taken for a repetition: among 100 million lines, this happens to one
    of them with a chance of about 1 in 4,000.

    >>> seen = SeenLines()
    >>> seen.new(["a", "b", "a"]).tolist(), seen.new(["c", "b"]).tolist(), len(seen)
    ([True, True, False], [True, False], 3)
    """

    def __init__(self) -> None:
        # Sorted runs, each at least twice as long as the next: a look-up searches few of them.
        self._runs: list[npt.NDArray[np.uint64]] = []

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    def new(self, lines: Sequence[str]) -> npt.NDArray[np.bool_]:
        """For each line, whether it is met for the first time; all are remembered."""
        digests = b"".join(blake2b(line.encode(), digest_size=8).digest() for line in lines)
        # One byte order on all machines, so that results do not depend on it even where hashes meet.
        hashes = np.frombuffer(digests, "<u8").astype(np.uint64)
        run, first = np.unique(hashes, return_index=True)
        fresh = np.ones(len(run), bool)
        for older in self._runs:
            place = np.searchsorted(older, run)
            fresh &= older[np.minimum(place, len(older) - 1)] != run
        self._add(run[fresh])
        is_new = np.zeros(len(lines), bool)
        is_new[first[fresh]] = True
        return is_new

    def _add(self, run: npt.NDArray[np.uint64]) -> None:
        if not len(run):
            return
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort()
        self._runs.append(run)
