"""Fits that are not done twice.

Choosing a method, fitting the choice, re-ranking and calibrating ask a dozen times for maps of the same data: for the
same start without pairs, which takes a minute each, and for maps of the same parts of the pairs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

from isoglot.aligners.alignment import Alignment
from isoglot.spaces import FloatMatrix

if TYPE_CHECKING:
    from isoglot.aligners.base import Aligner, Problem

_memory: ContextVar[dict[tuple[str, str, bytes], Alignment] | None] = ContextVar("fits of this job", default=None)
#: Rows that tell the vectors of one job apart, which are the same but for their normalisation.
_SAMPLE = 2_000


@contextmanager
def remembering() -> Iterator[None]:
    """Within this block a method that is fitted again on the same vectors and pairs returns what it found before.

    A block within another shares what that remembers.
    """
    token = _memory.set({} if (outer := _memory.get()) is None else outer)
    try:
        yield
    finally:
        _memory.reset(token)


def remembered(aligner: Aligner, problem: Problem) -> Alignment:
    """What the aligner makes of the problem; asked once for the same data within a block of `remembering`.

    Pairs are no part of the data for a method that learns from none.
    """
    memory = _memory.get()
    if memory is None:
        return aligner._fit(problem)
    rows = [matrix[:: 1 + len(matrix) // _SAMPLE] for matrix in (problem.X, problem.Y)]
    sizes = f"{problem.X.shape} {problem.Y.shape}"
    pairs = b"" if aligner.method.supervision == "unsupervised" else problem.pairs.tobytes()
    key = (f"{aligner!r} {sizes}", _digest(*rows), pairs)
    if key not in memory:
        memory[key] = aligner._fit(problem)
    return memory[key]


def _digest(*parts: FloatMatrix) -> str:
    """Tells vectors apart."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(np.ascontiguousarray(part).data)
    return found.hexdigest()
