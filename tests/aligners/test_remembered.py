"""Fits that are not done twice."""

from __future__ import annotations

from typing import Any

import numpy as np

from isoglot.aligners import Procrustes, remembering
from isoglot.testing import planted_rotation


def counted(monkeypatch: Any) -> list[int]:
    """The pairs of every real fit, noted as they happen."""
    fits: list[int] = []
    fit = Procrustes._fit

    def watch(self: Procrustes, problem: Any) -> Any:
        fits.append(len(problem.pairs))
        return fit(self, problem)

    monkeypatch.setattr(Procrustes, "_fit", watch)
    return fits


def test_the_same_fit_is_done_once_within_a_job_and_again_outside(monkeypatch):
    src, tgt, pairs = planted_rotation(120)
    fits = counted(monkeypatch)
    with remembering():
        first = Procrustes().fit(src, tgt, pairs)
        second = Procrustes().fit(src, tgt, pairs)
    assert len(fits) == 1
    np.testing.assert_array_equal(first.transform(src.vectors), second.transform(src.vectors))
    Procrustes().fit(src, tgt, pairs)
    with remembering():
        Procrustes().fit(src, tgt, pairs)
    assert len(fits) == 3


def test_other_pairs_settings_vectors_or_normalisation_are_another_fit(monkeypatch):
    src, tgt, pairs = planted_rotation(120)
    fits = counted(monkeypatch)
    with remembering():
        Procrustes().fit(src, tgt, pairs)
        Procrustes().fit(src, tgt, pairs[:-1])
        Procrustes().fit(src, tgt, pairs[::-1])
        Procrustes(seed=1).fit(src, tgt, pairs)
        Procrustes(normalise="unit").fit(src, tgt, pairs)
        Procrustes().fit(src, tgt.with_vectors(tgt.vectors + np.float32(0.5) * src.vectors), pairs)
    assert len(fits) == 6
