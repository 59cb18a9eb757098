"""Hubness: do a few targets turn up as neighbours of nearly everything? (Radovanovic, Nanopoulos and Ivanovic 2010)"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError
from isoglot.retrieval.neighbours import Neighbours


@dataclasses.dataclass(frozen=True, eq=False)
class Hubness:
    """How unevenly targets are chosen as neighbours.

    Args:
        skewness: of the k-occurrence N_k (how many queries have a target among their k nearest); 0 for a symmetric
            distribution, well above 1 where there are hubs.
        antihubs: share of targets that no query finds.
        robin_hood: share of all occurrences that would have to move for every target to be found equally
            often (Feldbauer et al. 2018); 0 is even, near 1 means that few targets take everything.
        occurrences: int64 (n_targets,), N_k itself.
        hubs: int64 (up to 20,), the most found targets, most found first.
    """

    skewness: float
    antihubs: float
    robin_hood: float
    occurrences: npt.NDArray[np.int64] = dataclasses.field(repr=False)
    hubs: npt.NDArray[np.int64] = dataclasses.field(repr=False)


def hubness(neighbours: Neighbours, n_targets: int, *, k: int | None = None) -> Hubness:
    """Measure hubness of search results.

    Args:
        neighbours: results for all queries.
        n_targets: how many targets were searched.
        k: look at the first k neighbours of each query only.

    >>> import numpy as np
    >>> found = Neighbours(np.array([[0], [0], [0], [1]]), np.zeros((4, 1), np.float32))
    >>> measured = hubness(found, 4)
    >>> measured.occurrences.tolist(), measured.antihubs, measured.robin_hood
    ([3, 1, 0, 0], 0.5, 0.5)
    """
    indices = neighbours.indices if k is None else neighbours.indices[:, :k]
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= n_targets):
        raise InputError(f"neighbours point outside the {n_targets} targets", where="n_targets")
    occurrences = np.bincount(indices.ravel(), minlength=n_targets).astype(np.int64)
    if not n_targets or not indices.size:
        return Hubness(0.0, 0.0, 0.0, occurrences, np.zeros(0, dtype=np.int64))
    mean = occurrences.mean()
    deviation = occurrences - mean
    spread = float(np.sqrt((deviation**2).mean()))
    skewness = float((deviation**3).mean() / spread**3) if spread > 0 else 0.0
    order = np.argsort(-occurrences, kind="stable")[:20]
    return Hubness(
        skewness=skewness,
        antihubs=float((occurrences == 0).mean()),
        robin_hood=float(np.abs(deviation).sum() / (2 * occurrences.sum())),
        occurrences=occurrences,
        hubs=order[occurrences[order] > 0],
    )
