"""No map at all: the baseline that tells what an alignment brings."""

from __future__ import annotations

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method


@method(
    "identity",
    "leave both sides as they are: the baseline",
    supervision="unsupervised",
    linear=True,
    cost="none",
    paper="-",
)
class Identity(Aligner):
    """Both sides as they are, after normalisation (none by default).

    Differs from the paper:
        - There is no paper: this is the baseline.

    >>> import numpy as np
    >>> Identity().fit(np.eye(2), np.eye(2)).transform([[1, 2]]).tolist()
    [[1.0, 2.0]]
    """

    normalise: str = "none"

    def _fit(self, problem: Problem) -> Alignment:
        return LinearAlignment.learned()
