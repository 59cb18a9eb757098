"""How long `auto` will take, told before it starts: counted in products of the vocabularies, timed on this machine."""

from __future__ import annotations

import time

import numpy as np

from isoglot.aligners.auto.candidates import Candidate
from isoglot.aligners.auto.trials import CROWD, SEARCHED
from isoglot.aligners.tuned.contrastive import Contrastive

#: What one fit of `contrastive` costs in products of the two vocabularies up to its cutoff, and the same for the start
#: by spelling, both measured at 20,000 words of 300 dimensions, with many pairs.
_TUNING, _COGNATES = 13.0, 15.0
#: On all pairs; a quick look also takes most of them to calibrate confidences; the best effort also what re-ranking is
#: sure of, once to try it.
_FINAL_FITS = {"quick": 2, "normal": 1, "best": 3}
#: What a re-ranker costs: searches of the first rows, counted like a fit, and seconds for each seed word's candidates.
_SEARCHES, _NEAR, _SECONDS_A_WORD = 6.0, 30_000, 0.0008


def estimate_seconds(
    candidates: list[Candidate], sizes: tuple[int, int], dim: int, *, parts: int, effort: str, sources: int
) -> float:
    """Seconds for comparing candidates, fitting one, learning to re-rank, and a look at all words by CSLS."""
    one = _seconds_of_a_product(dim)
    seconds, dearest = 0.0, 0.0
    for candidate in candidates:
        seconds += 2 * parts * one * min(CROWD, sizes[0]) * min(SEARCHED, sizes[1])  # to translate the words held out
        if isinstance(candidate.aligner, Contrastive):
            cutoff = candidate.aligner.cutoff
            product = one * min(cutoff, sizes[0]) * min(cutoff, sizes[1])
            dearest = max(dearest, _TUNING * product)
            seconds += parts * _TUNING * product
            seconds += _COGNATES * product if candidate.aligner.start == "cognates" else 0.0
    if effort != "quick":
        seconds += _SEARCHES * one * min(_NEAR, sizes[0]) * min(_NEAR, sizes[1]) + _SECONDS_A_WORD * min(
            sources, sizes[0]
        )
    return seconds + dearest * _FINAL_FITS[effort] + one * sizes[0] * sizes[1]


def _seconds_of_a_product(dim: int) -> float:
    """For one source and one target word, from a small product timed now: a busy machine takes longer."""
    rows, columns = 1000, 4000
    A, B = np.ones((rows, dim), dtype=np.float32), np.ones((dim, columns), dtype=np.float32)
    timings = []
    for _ in range(3):
        started = time.perf_counter()
        A @ B
        timings.append(time.perf_counter() - started)
    return float(np.median(timings)) / (rows * columns)
