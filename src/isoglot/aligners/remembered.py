"""Fits that are not done twice.

Choosing a method, fitting the choice, re-ranking and calibrating ask a dozen times for maps of the same data: for the
same start without pairs, which takes a minute each, and for maps of the same parts of the pairs.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

from isoglot.aligners.alignment import Alignment

if TYPE_CHECKING:
    from isoglot.aligners.base import Aligner, Problem

#: An alignment is a matrix or two: a few megabytes.
_KEPT = 4
_alignments: OrderedDict[tuple[str, str], Alignment] = OrderedDict()
_memory: ContextVar[dict[tuple[str, str, bytes], Alignment] | None] = ContextVar("fits of this job", default=None)
#: Rows that tell the vectors of one job apart, which are the same but for their normalisation.
_SAMPLE = 2_000


@contextmanager
def remembering() -> Iterator[None]:
    """Within this block a method that is fitted again on the same vectors and pairs returns what it found before."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def remembered(aligner: Aligner, problem: Problem) -> Alignment:
    """What the aligner makes of the problem; asked once for the same data within a block of `remembering`."""
    memory = _memory.get()
    if memory is None:
        return aligner._fit(problem)
    rows = [matrix[:: 1 + len(matrix) // _SAMPLE] for matrix in (problem.X, problem.Y)]
    sizes = f"{problem.X.shape} {problem.Y.shape}"
    key = (f"{aligner!r} {sizes}", _digest(*rows), problem.pairs.tobytes())
    if key not in memory:
        memory[key] = aligner._fit(problem)
    return memory[key]


def once_for_data(aligner: Aligner, problem: Problem) -> Alignment:
    """What the aligner makes of the problem. One that learns from no pairs is asked once for the same vectors."""
    if aligner.method.supervision != "unsupervised":
        return aligner._fit(problem)
    words = ["\n".join(side) for side in problem.words or ()]
    key = (repr(aligner), _digest(problem.X, problem.Y, *words))
    if key not in _alignments:
        _alignments[key] = aligner._fit(problem)
        while len(_alignments) > _KEPT:
            _alignments.popitem(last=False)
    _alignments.move_to_end(key)
    return _alignments[key]


def _digest(*parts: np.ndarray | str) -> str:
    """Tells vectors, and words where they count, apart."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return found.hexdigest()
