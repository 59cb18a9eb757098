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
#: On all pairs, and on most of them to calibrate confidences on the others.
_FINAL_FITS = 2
#: A re-ranker is learned from maps of five parts.
_RERANKING_FITS = 5


def estimate_seconds(
    candidates: list[Candidate], sizes: tuple[int, int], dim: int, *, parts: int, reranked: bool = False
) -> float:
    """Seconds for comparing the candidates, fitting one of them on all pairs and, if `reranked`, once more a part."""
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
    return seconds + dearest * (_FINAL_FITS + (_RERANKING_FITS if reranked else 0))


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
