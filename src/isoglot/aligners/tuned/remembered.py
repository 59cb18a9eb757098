"""Maps that depend on no pairs, computed once for the same data.

Choosing a method, fitting the choice and re-ranking ask a dozen times for the same start, which takes a minute each.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import numpy as np

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.base import Aligner, Problem

#: An alignment is a matrix or two: a few megabytes.
_KEPT = 4
_alignments: OrderedDict[tuple[str, str], Alignment] = OrderedDict()


def once_for_data(aligner: Aligner, problem: Problem) -> Alignment:
    """What the aligner makes of the problem. One that learns from no pairs is asked once for the same vectors."""
    if aligner.method.supervision != "unsupervised":
        return aligner._fit(problem)
    key = (repr(aligner), _digest(problem))
    if key not in _alignments:
        _alignments[key] = aligner._fit(problem)
        while len(_alignments) > _KEPT:
            _alignments.popitem(last=False)
    _alignments.move_to_end(key)
    return _alignments[key]


def _digest(problem: Problem) -> str:
    """Tells vectors, and words where they count, apart."""
    found = hashlib.blake2b(digest_size=16)
    for matrix in (problem.X, problem.Y):
        found.update(np.ascontiguousarray(matrix).data)
    for words in problem.words or ():
        found.update("\n".join(words).encode())
    return found.hexdigest()
