"""Word alignment against gold links: precision, recall, F1 and alignment error rate (Och & Ney 2003).

Annotators mark links as sure (S) or possible; P holds both. With the links A that were found, precision asks for
possible links, recall for sure ones:

    precision = |A & P| / |A|,  recall = |A & S| / |S|,  AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)

Counts are summed over all sentences before they are divided, and so they are in each resample of the bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError, ShapeError
from isoglot.tasks.registry import task
from isoglot.tasks.resampling import checked_repeats, percentile_interval, resampled_counts
from isoglot.tasks.result import Result, Results
from isoglot.wordalign import WordLinks

#: What is counted in a sentence: |A|, |S|, |P|, |A & S|, |A & P|.
_COUNTS = ("found", "sure", "possible", "found_sure", "found_possible")
_METRICS = ("F1", "precision", "recall", "AER")

Matrix = npt.NDArray[np.float64]


@task("word_alignment", "links between words against gold links")
def word_alignment(
    predicted: Sequence[WordLinks], gold: Sequence[WordLinks], *, bootstrap: int = 1000, seed: int = 0
) -> Results:
    """F1 (the primary figure), precision, recall and AER of the links found in each sentence pair.

    Args:
        predicted: links of each sentence; an aligner's own "possible" links count as found.
        gold: links of the same sentences, sure and possible.
        bootstrap: resamples of sentences for the 95% intervals; 0 for none.

    Returns:
        One result per figure. One record per sentence: `index`; `found`, `sure`, `possible` (with the sure ones),
        `found_sure` and `found_possible` links; `value`, the figure of that sentence alone. Nothing out of nothing
        counts as 1: who links nothing makes no wrong link.

    >>> found = WordLinks(sure=frozenset({(0, 0), (1, 2)}))
    >>> gold = WordLinks(sure=frozenset({(0, 0), (1, 1)}), possible=frozenset({(1, 2)}))
    >>> for result in word_alignment([found], [gold], bootstrap=0):
    ...     print(result.metric, round(result.value, 3))
    F1 0.667
    precision 1.0
    recall 0.5
    AER 0.25
    """
    repeats = checked_repeats(bootstrap)
    if len(predicted) != len(gold):
        raise ShapeError(
            f"links of {len(predicted):,} sentences were found, but there is gold for {len(gold):,}",
            remedy="give one entry a sentence, an empty one where nothing is linked",
        )
    counts = np.array([_counts(a, g) for a, g in zip(predicted, gold, strict=True)], dtype=np.float64)
    if not len(gold) or not counts[:, 1].any():
        raise InputError("there are no sure links to find", where="gold", remedy="check how the gold file is read")
    figures = _figures(counts.sum(axis=0))
    by_sentence = _figures(counts)
    drawn = [_figures(times @ counts) for times in resampled_counts(len(gold), repeats, seed)]
    protocol = {
        "denominator": "links summed over sentences",
        "gold_sure": int(counts[:, 1].sum()),
        "gold_possible": int(counts[:, 2].sum()),
        "bootstrap": repeats,
        "seed": seed,
    }
    records: list[dict[str, Any]] = [
        {"index": i, **dict(zip(_COUNTS, row, strict=True))} for i, row in enumerate(counts.astype(int).tolist())
    ]
    return Results(
        Result(
            task="word_alignment",
            metric=metric,
            value=float(figures[column]),
            n=len(gold),
            coverage=1.0,
            protocol=protocol,
            interval=percentile_interval(np.concatenate([block[:, column] for block in drawn])) if drawn else None,
            per_item=[
                {**record, "value": float(value)} for record, value in zip(records, by_sentence[:, column], strict=True)
            ],
        )
        for column, metric in enumerate(_METRICS)
    )


def _counts(predicted: WordLinks, gold: WordLinks) -> tuple[int, ...]:
    found, sure, possible = predicted.all, gold.sure, gold.all
    return len(found), len(sure), len(possible), len(found & sure), len(found & possible)


def _figures(counts: Matrix) -> Matrix:
    """The four figures (..., 4) of counts (..., 5)."""
    found, sure, _, found_sure, found_possible = np.moveaxis(counts, -1, 0)
    precision = _share(found_possible, found)
    recall = _share(found_sure, sure)
    total = precision + recall
    f1 = 2 * precision * recall / np.where(total > 0, total, 1.0)
    error = 1 - _share(found_sure + found_possible, found + sure)
    return np.stack([f1, precision, recall, error], axis=-1)


def _share(part: Matrix, whole: Matrix) -> Matrix:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 1.0)
