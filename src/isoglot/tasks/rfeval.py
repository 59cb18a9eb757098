"""Reference-free evaluation of translations: how well does a distance to the source go with human judgement?

`word_mover_scores` is XMover (Zhao et al. 2020, "On the limitations of cross-lingual encoders") without its language
model, as Zhao & Eger 2022 use it: the least work of moving the source's word vectors onto the translation's, with
equal weight on every word. `rfeval` correlates such scores with human ones, segment by segment.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.progress import Progress, silent
from isoglot.strings import check_list
from isoglot.suggest import unknown
from isoglot.tasks._correlations import METRICS, correlate
from isoglot.tasks.registry import task
from isoglot.tasks.resampling import checked_repeats, percentile_interval
from isoglot.tasks.result import Result, Results

GROUND_COSTS = ("sqeuclidean", "euclidean")

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


def content_words(words: Sequence[str], *, tails: Sequence[bool] | None = None) -> npt.NDArray[np.int64]:
    """Places of the words that carry content: no punctuation, no word-piece tails.

    Args:
        words: of one sentence.
        tails: marks the pieces that continue a word, where `words` are word pieces.

    Never drops everything: a sentence of punctuation only keeps it.

    >>> content_words(["Well", ",", "$", "5", "..."]).tolist()
    [0, 3]
    >>> content_words(["trans", "##lation", "!"], tails=[False, True, False]).tolist()
    [0]
    >>> content_words(["?", "!"]).tolist()
    [0, 1]
    """
    check_list(words, "a sentence is a list of words")
    if tails is not None and len(tails) != len(words):
        raise ShapeError(f"{len(tails)} marks for {len(words)} words", where="tails")
    heads = [i for i in range(len(words)) if tails is None or not tails[i]]
    content = [i for i in heads if not _punctuation(words[i])]
    return np.array(content or heads or list(range(len(words))), dtype=np.int64)


def _punctuation(word: str) -> bool:
    return all(c in string.punctuation or unicodedata.category(c).startswith("P") for c in word)


def word_mover_scores(
    src: Sequence[npt.ArrayLike],
    hyp: Sequence[npt.ArrayLike],
    *,
    ngram: int = 1,
    cost: str = "sqeuclidean",
    progress: Progress = silent,
) -> Vector:
    """Minus the transport distance between each source and its translation, (n,): higher is better.

    Args:
        src, hyp: word vectors (words, d) of each segment, in one space; see `content_words` for what to leave out.
        ngram: 1 for words, 2 for pairs of neighbours, and so on. The vector of an n-gram is the mean of its words'; a
            shorter segment is one n-gram.
        cost: "sqeuclidean" (XMover) or "euclidean", between vectors scaled to length 1.

    Returns:
        Scores between 0 and -4 (-2 for "euclidean"); NaN where a side has no words, which `rfeval` takes as worst.

    >>> import numpy as np
    >>> word_mover_scores([np.eye(2)], [np.eye(2)[::-1]]).tolist()
    [0.0]
    >>> word_mover_scores([[[1.0, 0.0]]], [[[0.0, 3.0], [2.0, 0.0]]]).tolist()
    [-1.0]
    """
    if cost not in GROUND_COSTS:
        raise unknown("ground cost", cost, GROUND_COSTS, where="cost")
    if ngram < 1:
        raise ConfigError(f"must be at least 1, not {ngram}", where="ngram")
    if len(src) != len(hyp):
        raise ShapeError(f"{len(src):,} sources, but {len(hyp):,} translations")
    from isoglot.aligners import load_pot

    solve = load_pot().emd2
    scores = np.full(len(src), np.nan)
    for i, sides in enumerate(zip(src, hyp, strict=True)):
        U, V = (_units(side, ngram, f"{name}, segment {i}") for side, name in zip(sides, ("src", "hyp"), strict=True))
        if not len(U) or not len(V):
            continue
        if U.shape[1] != V.shape[1]:
            raise ShapeError(f"{U.shape[1]} dimensions against {V.shape[1]}", where=f"segment {i}")
        work = np.maximum(2 - 2 * (U @ V.T), 0)  # |u - v|^2 of unit vectors
        if cost == "euclidean":
            np.sqrt(work, out=work)
        # An empty list of weights means equal ones. The limit on steps is there for no sentence to reach.
        scores[i] = 0.0 - float(solve([], [], work, numItermax=10_000_000))
        if i % 100 == 99 or i + 1 == len(src):
            progress("moving words (segments)", i + 1, len(src))
    return scores


def _units(vectors: npt.ArrayLike, ngram: int, where: str) -> Matrix:
    """The n-grams' vectors, scaled to length 1; a zero vector stays."""
    words = np.asarray(vectors, dtype=np.float64)
    if words.size == 0:
        return np.zeros((0, 0))
    if words.ndim != 2:
        raise ShapeError(f"word vectors must be a matrix (words, d), not of shape {words.shape}", where=where)
    if not np.isfinite(words).all():
        raise InputError("holds a value that is not a finite number", where=where)
    width = min(ngram, len(words))
    if width > 1:
        words = np.lib.stride_tricks.sliding_window_view(words, width, axis=0).mean(axis=-1)
    norms = np.linalg.norm(words, axis=1, keepdims=True)
    return np.asarray(words / np.where(norms > 0, norms, 1.0))


@task("rfeval", "scores of translations against human judgement")
def rfeval(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    protocol: Mapping[str, Any] | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Results:
    """Pearson (the primary figure) and Kendall's tau-b of scores with human judgement, over segments.

    Args:
        scores: (n,), higher is better. NaN marks a segment that could not be scored: it gets the worst score of the
            others (of its group), and `coverage` tells the share of segments that are not so.
        human: (n,) human scores.
        groups: of each segment, e.g. its language pair. Figures are then taken within each group, and the primary
            ones are their means; those of each group follow, named "Pearson <group>".
        protocol: how the scores were made, e.g. {"cost": "sqeuclidean", "ngram": 1}; kept with the results.
        bootstrap: resamples of segments (within groups) for the 95% intervals; 0 for none. Kendall's tau has none
            beyond 5,000 segments a group.

    Returns:
        Records: `index`, `score`, `human`, `scored`, `group` if there are any, and `value`, what the segment adds to
        the figure, which is the mean of the values.

    >>> [(r.metric, round(r.value, 3)) for r in rfeval([1, 2, 3, 4], [1, 3, 2, 4], bootstrap=0)]
    [('Pearson', 0.8), ('Kendall', 0.667)]
    """
    repeats = checked_repeats(bootstrap)
    given, judged = _checked(scores, human, groups)
    labels = [""] * len(given) if groups is None else [str(group) for group in groups]
    parts = [
        _Group(label, np.flatnonzero(np.array(labels) == label), given, judged, repeats, [seed, number])
        for number, label in enumerate(dict.fromkeys(labels))
    ]
    settings: dict[str, Any] = {
        **(protocol or {}),
        "level": "segment",
        "figure": "over all segments" if groups is None else "mean over groups",
        "not_scored": "the worst score of the others",
        "bootstrap": repeats,
        "seed": seed,
    }
    results = Results()
    for column, metric in enumerate(METRICS):
        records = [record for part in parts for record in part.records(column, len(given) / len(parts))]
        records.sort(key=lambda record: int(record["index"]))
        drawn = [part.found.drawn[column] for part in parts]
        results.append(
            Result(
                task="rfeval",
                metric=metric,
                value=float(np.mean([part.found.figures[column] for part in parts])),
                n=len(given),
                coverage=float(np.isfinite(given).mean()),
                protocol=settings,
                interval=percentile_interval(np.mean(drawn, axis=0)) if all(len(d) for d in drawn) else None,
                per_item=records,
            )
        )
    if groups is not None:
        results += [result for part in parts for result in part.results(settings)]
    return results


class _Group:
    """Segments that are correlated by themselves: those at `rows`."""

    def __init__(
        self, label: str, rows: npt.NDArray[np.int64], scores: Vector, human: Vector, repeats: int, seed: list[int]
    ) -> None:
        self.label = label
        self.rows = rows
        self.human = human[rows]
        self.scored = np.isfinite(scores[rows])
        where = f"group {label}" if label else None
        if not self.scored.any():
            raise InputError(f"none of the {len(rows):,} segments has a score", where=where)
        self.scores = np.where(self.scored, scores[rows], scores[rows][self.scored].min())
        for what, values in (("scores", self.scores), ("human scores", self.human)):
            if not np.ptp(values) > 0:
                raise InputError(
                    f"nothing to correlate: the {what} of the {len(rows):,} segments are all the same", where=where
                )
        self.found = correlate(self.scores, self.human, repeats, seed)

    def records(self, column: int, weight: float) -> list[dict[str, Any]]:
        """One a segment. Groups weigh the same whatever their size, so their segments' values do not."""
        values = self.found.values[column] * (weight / len(self.rows))
        group = {"group": self.label} if self.label else {}
        return [
            {"index": i, **group, "score": score, "human": human, "scored": scored, "value": value}
            for i, score, human, scored, value in zip(
                *(column.tolist() for column in (self.rows, self.scores, self.human, self.scored, values)), strict=True
            )
        ]

    def results(self, protocol: dict[str, Any]) -> list[Result]:
        return [
            Result(
                task="rfeval",
                metric=f"{metric} {self.label}",
                value=self.found.figures[column],
                n=len(self.rows),
                coverage=float(self.scored.mean()),
                protocol={**protocol, "figure": "over the segments of the group", "group": self.label},
                interval=percentile_interval(self.found.drawn[column]),
                per_item=self.records(column, len(self.rows)),
            )
            for column, metric in enumerate(METRICS)
        ]


def _checked(scores: npt.ArrayLike, human: npt.ArrayLike, groups: Sequence[str] | None) -> tuple[Vector, Vector]:
    given, judged = (np.asarray(values, dtype=np.float64) for values in (scores, human))
    if given.ndim != 1 or given.shape != judged.shape:
        raise ShapeError(f"scores have shape {given.shape} and human scores {judged.shape}; give one of each a segment")
    if groups is not None and len(groups) != len(given):
        raise ShapeError(f"{len(groups):,} groups for {len(given):,} segments", where="groups")
    if groups is not None and not all(map(str, groups)):
        raise InputError("a group without a name", where=f"groups, item {[str(g) for g in groups].index('')}")
    if not len(given):
        raise InputError("there are no segments to correlate", where="scores")
    for name, values, wrong in (("human", judged, ~np.isfinite(judged)), ("scores", given, np.isinf(given))):
        if wrong.any():
            item = int(np.argmax(wrong))
            raise InputError(
                f"{values[item]} is no score", where=f"{name}, item {item}", remedy="leave such segments out"
            )
    return given, judged
