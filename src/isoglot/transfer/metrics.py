"""Scoring predictions: accuracy, F1 of names, exact match and F1 of answers, with intervals.

Every figure is a function of counts that are summed over examples. So one bootstrap and one paired test serve all
tasks: they resample or swap examples (sentences, for tags), and compute the figures from the new sums.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError, ShapeError
from isoglot.suggest import choose
from isoglot.tasks import Result, Results, percentile_interval, resampled_counts
from isoglot.tasks.resampling import checked_repeats
from isoglot.text import LabelledSentence
from isoglot.transfer.answers import answer_f1, exact_match
from isoglot.transfer.entities import entities
from isoglot.transfer.examples import Example, PairExample, Question

Matrix = npt.NDArray[np.float64]
#: A label, the labels of a sentence, or an answer.
Prediction = str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class Tally:
    """What each example adds to the sums that figures are made of.

    Args:
        metrics: names of the figures, the primary one first.
        counts: (n, c), one row per example.
        figures: figures (..., m) of sums (..., c).
        ratio: (n, 2), what an example adds to the numerator and to the denominator of the primary figure.
        items: `index`, `gold`, `predicted` and `value` of each example: the primary figure of it alone.
    """

    task: str
    metrics: tuple[str, ...]
    counts: Matrix
    figures: Callable[[Matrix], Matrix]
    ratio: Matrix
    items: Sequence[Mapping[str, Any]]

    @property
    def values(self) -> Matrix:
        """The primary figure of each example alone (n,)."""
        return np.array([item["value"] for item in self.items], dtype=np.float64)

    def total(self) -> Matrix:
        """All figures (m,)."""
        return self.figures(self.counts.sum(axis=0))

    def drawn(self, repeats: int, seed: int) -> Matrix:
        """All figures of resampled examples (repeats, m)."""
        blocks = [self.figures(times @ self.counts) for times in resampled_counts(len(self.counts), repeats, seed)]
        return np.concatenate([np.empty((0, len(self.metrics))), *blocks])


def score(
    task: str,
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    *,
    language: str = "",
    bootstrap: int = 1000,
    seed: int = 0,
) -> Results:
    """Figures of predictions, the primary one first.

    "nli" and "pos" have accuracy and macro F1 (of all labels that are right or predicted somewhere), "ner" has F1,
    precision and recall of whole names, "qa" F1 and EM.

    Args:
        predictions: for each example a label ("nli"), a label per word ("ner", "pos") or an answer ("qa").
        language: whose articles do not count in answers.
        bootstrap: resamples of examples for the 95% intervals; 0 for none.

    >>> pairs = [PairExample("A man sleeps.", "He sleeps.", "entailment"), PairExample("He sleeps.", "No.", "neutral")]
    >>> score("nli", pairs, ["entailment", "contradiction"], bootstrap=0)["accuracy"]
    0.5
    """
    tally = count_examples(task, examples, predictions, language=language)
    figures, drawn = tally.total(), tally.drawn(checked_repeats(bootstrap), seed)
    protocol = {"denominator": _DENOMINATORS[task], "language": language, "bootstrap": bootstrap, "seed": seed}
    return Results(
        Result(
            task,
            metric,
            value=float(figures[column]),
            n=len(examples),
            coverage=1.0,
            protocol=protocol,
            interval=percentile_interval(drawn[:, column]) if bootstrap else None,
            per_item=tally.items,
        )
        for column, metric in enumerate(tally.metrics)
    )


def count_examples(
    task: str, examples: Sequence[Example], predictions: Sequence[Prediction], *, language: str = ""
) -> Tally:
    """What each example adds to the figures of a task."""
    count = choose("task", task, _TALLIES)
    if len(examples) != len(predictions):
        raise ShapeError(f"{len(predictions):,} predictions for {len(examples):,} examples")
    if not examples:
        raise InputError("there are no examples to score")
    return count(task, examples, predictions, language)


def _labels(task: str, examples: Sequence[Example], predictions: Sequence[Prediction], _: str) -> Tally:
    """One label per pair or per word."""
    gold = [[one.label] if isinstance(one, PairExample) else list(_tagged(one).labels) for one in examples]
    given = [[one] if isinstance(one, str) else list(one) for one in predictions]
    _check_lengths(gold, given)
    names = sorted({label for labels in (*gold, *given) for label in labels})
    number = {name: place for place, name in enumerate(names)}
    counts = np.zeros((len(gold), 3, len(names)))  # right, predicted, gold
    for row, (right, found) in enumerate(zip(gold, given, strict=True)):
        for one, other in zip(right, found, strict=True):
            counts[row, 0, number[one]] += one == other
            counts[row, 1, number[other]] += 1
            counts[row, 2, number[one]] += 1
    ratio = np.stack([counts[:, 0].sum(axis=1), counts[:, 2].sum(axis=1)], axis=1)
    values = _ratio(ratio[:, 0], ratio[:, 1])
    whole = isinstance(examples[0], PairExample)
    items = [
        {"index": row, "gold": right[0] if whole else right, "predicted": found[0] if whole else found, "value": value}
        for row, (right, found, value) in enumerate(zip(gold, given, values.tolist(), strict=True))
    ]
    return Tally(task, ("accuracy", "macro F1"), counts.reshape(len(gold), -1), _accuracy_figures, ratio, items)


def _accuracy_figures(sums: Matrix) -> Matrix:
    right, predicted, gold = np.moveaxis(sums.reshape(*sums.shape[:-1], 3, -1), -2, 0)  # (..., labels)
    occurs = predicted + gold > 0
    f1 = _ratio(2 * right, predicted + gold)
    return np.stack([_ratio(right.sum(-1), gold.sum(-1)), _ratio(f1.sum(-1), occurs.sum(-1))], axis=-1)


def _names(task: str, examples: Sequence[Example], predictions: Sequence[Prediction], _: str) -> Tally:
    gold = [list(_tagged(one).labels) for one in examples]
    given = [list(one) for one in predictions]
    _check_lengths(gold, given)
    counts = np.zeros((len(gold), 3))  # right, predicted, gold
    for row, (right, found) in enumerate(zip(gold, given, strict=True)):
        expected, names = set(entities(right)), set(entities(found))
        counts[row] = len(expected & names), len(names), len(expected)
    if not counts[:, 2].any():
        raise InputError("there are no names to find", remedy="check how the labels are written")
    # A sentence without names in which none was found is all right, though it adds nothing to F1.
    alone = np.where(counts[:, 1:].any(axis=1), _name_figures(counts)[:, 0], 1.0)
    items = [
        {"index": row, "gold": right, "predicted": found, "value": value}
        for row, (right, found, value) in enumerate(zip(gold, given, alone.tolist(), strict=True))
    ]
    ratio = np.stack([2 * counts[:, 0], counts[:, 1] + counts[:, 2]], axis=1)
    return Tally(task, ("F1", "precision", "recall"), counts, _name_figures, ratio, items)


def _name_figures(sums: Matrix) -> Matrix:
    right, predicted, gold = np.moveaxis(sums, -1, 0)
    return np.stack([_ratio(2 * right, predicted + gold), _ratio(right, predicted), _ratio(right, gold)], axis=-1)


def _answers(task: str, examples: Sequence[Example], predictions: Sequence[Prediction], language: str) -> Tally:
    items, counts = [], np.ones((len(examples), 3))  # F1, EM, questions
    for row, (question, answer) in enumerate(zip(examples, predictions, strict=True)):
        if not isinstance(question, Question) or not isinstance(answer, str):
            raise InputError("an answer is one string for each question", where="predictions")
        f1 = answer_f1(answer, question.answers, language)
        counts[row, :2] = f1, exact_match(answer, question.answers, language)
        items.append({"index": row, "gold": list(question.answers), "predicted": answer, "value": f1})
    return Tally(task, ("F1", "EM"), counts, _mean_figures, counts[:, [0, 2]], items)


def _mean_figures(sums: Matrix) -> Matrix:
    return _ratio(sums[..., :2], sums[..., 2:])


def _tagged(example: Example) -> LabelledSentence:
    if not isinstance(example, LabelledSentence):
        raise InputError(f"a tagged sentence is needed, not a {type(example).__name__}", where="examples")
    return example


def _check_lengths(gold: Sequence[Sequence[str]], given: Sequence[Sequence[str]]) -> None:
    for row, (right, found) in enumerate(zip(gold, given, strict=True)):
        if len(right) != len(found):
            raise ShapeError(f"{len(found):,} labels predicted for {len(right):,} words", where=f"example {row:,}")


def _ratio(part: Matrix, whole: Matrix) -> Matrix:
    """0 where the whole is nothing."""
    return np.asarray(np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0))


_Count = Callable[[str, Sequence[Example], Sequence[Prediction], str], Tally]
_TALLIES: dict[str, _Count] = {"nli": _labels, "ner": _names, "pos": _labels, "qa": _answers}
_DENOMINATORS = {"nli": "pairs", "ner": "names", "pos": "words", "qa": "questions"}
