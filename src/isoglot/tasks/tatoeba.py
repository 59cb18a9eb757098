"""Sentence retrieval as in Tatoeba: is the nearest sentence of the other language the translation?

The task is from Artetxe & Schwenk 2019 ("Massively multilingual sentence embeddings", and "Margin-based parallel corpus
mining", which has the margin), in XTREME and in Zhao & Eger 2022 with the cosine. Papers report one direction or the
mean of both; here are both and their mean.

The margin of a pair is its cosine over the mean of two means: of the k nearest cosines of the one sentence and of the
other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError, ShapeError
from isoglot.progress import Progress, silent
from isoglot.spaces import Normaliser
from isoglot.suggest import unknown
from isoglot.tasks.registry import task
from isoglot.tasks.resampling import checked_repeats
from isoglot.tasks.result import Results
from isoglot.tasks.significance import ItemFigure, means_of_items

TATOEBA_SCORES = ("cosine", "margin", "csls")
#: Scores held at once; 4 million float64 are 32 MB.
_BLOCK = 1 << 22
#: Scores closer than this are equal on paper; the first row is then taken, as everywhere in `isoglot.retrieval`.
_SLACK = 1e-9

Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Texts = Sequence[str]


@task("tatoeba", "retrieval of translated sentences")
def tatoeba(
    X: npt.ArrayLike,
    Y: npt.ArrayLike,
    *,
    score: str = "cosine",
    neighbourhood: int = 4,
    normalise: str = "",
    sentences: tuple[Texts, Texts] | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
) -> Results:
    """P@1 of sentence retrieval in both directions, over all sentences of the other side.

    Args:
        X, Y: sentence vectors (n, d) in one space; row i of X translates row i of Y.
        score: "cosine", "margin" (the ratio of Artetxe & Schwenk) or "csls".
        neighbourhood: k of margin and CSLS; 4 as in the paper on margins.
        normalise: steps that each side goes through first, learned on its own sentences, so that they need no
            translations: "unit,centre" takes its mean away, as what all sentences of a language share tells nothing of
            their meaning; "standardise" also makes huge dimensions as small as others. See `isoglot.spaces`.
        sentences: the texts of X and of Y. Another row with the very text of the translation is then right too:
            test sets hold sentences twice, and no vector can tell them apart.
        bootstrap: resamples of sentence pairs for the 95% intervals; 0 for none.

    Returns:
        "P@1", the mean of both directions and the primary figure, then "P@1 src->tgt" and "P@1 tgt->src". Records of a
        direction: `index`, `retrieved` row, `hit`, `value`, `score` of that row, `gold_score` of the right one, and
        with texts `source`, `gold`, `prediction`. Records of the mean: `index`, `value`, `hit` (both ways).

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6]])
    >>> Y = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> for result in tatoeba(X, Y, bootstrap=0):
    ...     print(result.metric, result.value)
    P@1 0.75
    P@1 src->tgt 0.5
    P@1 tgt->src 1.0
    """
    if score not in TATOEBA_SCORES:
        raise unknown("score", score, TATOEBA_SCORES, where="score")
    repeats = checked_repeats(bootstrap)
    n = _checked_length(X, Y, sentences)
    if normalise:
        X, Y = (Normaliser.fit_transform(normalise, np.asarray(side, dtype=np.float32))[1] for side in (X, Y))
    there, back = _search(X, Y, score, neighbourhood, threads, progress)
    directions = ("src->tgt", there, sentences), ("tgt->src", back, sentences and (sentences[1], sentences[0]))
    hits = np.column_stack([_hits(found, texts) for _, found, texts in directions])
    protocol: dict[str, Any] = {"score": score}
    if score != "cosine":
        protocol["neighbourhood"] = neighbourhood
    if normalise:
        protocol["normalise"] = normalise
    protocol |= {
        "candidates": n,
        "identical_text": "another row with the right text is a hit" if sentences else "only the very row is a hit",
        "bootstrap": repeats,
        "seed": seed,
    }
    mean = hits.mean(axis=1)
    both = [{"index": i, "value": value, "hit": value == 1} for i, value in enumerate(mean.tolist())]
    figures = [ItemFigure("P@1", mean, both, {"direction": "mean of both", **protocol})]
    for column, (direction, found, texts) in enumerate(directions):
        items = _records(found, hits[:, column], texts)
        figures.append(ItemFigure(f"P@1 {direction}", hits[:, column], items, {"direction": direction, **protocol}))
    return means_of_items("tatoeba", figures, coverage=1.0, bootstrap=repeats, seed=seed)


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """What one direction retrieved for each sentence: the best row, its score, and the score of the right row."""

    best: Rows
    score: Vector
    gold: Vector


def _search(
    X: npt.ArrayLike, Y: npt.ArrayLike, score: str, neighbourhood: int, threads: int | None, progress: Progress
) -> tuple[_Found, _Found]:
    from isoglot.retrieval import Retriever

    retriever = Retriever(
        X,
        Y,
        score="cosine" if score == "margin" else score,
        neighbourhood=neighbourhood,
        threads=threads,
        progress=progress,
    )
    gold = np.einsum("ij,ij->i", _unit_rows(X), _unit_rows(Y))
    if score == "margin":
        row_means, column_means = (means.astype(np.float64) for means in retriever.neighbourhood_means())
        gold /= _denominator(row_means, column_means)
        (best, scores), (best_back, scores_back) = _margin_search(X, Y, row_means, column_means, progress)
        return _Found(best, scores, gold), _Found(best_back, scores_back, gold)
    if score == "csls":
        row_means, column_means = (means.astype(np.float64) for means in retriever.neighbourhood_means())
        gold = 2 * gold - row_means - column_means
    there, back = (
        _Found(found.indices[:, 0], found.scores[:, 0].astype(np.float64), gold) for found in retriever.top_both(1)
    )
    return there, back


def _margin_search(
    X: npt.ArrayLike, Y: npt.ArrayLike, row_means: Vector, column_means: Vector, progress: Progress
) -> tuple[tuple[Rows, Vector], tuple[Rows, Vector]]:
    """The best column of every row and the best row of every column by the ratio, from one product in blocks."""
    U, V = _unit_rows(X), _unit_rows(Y)
    _check_ratios(U, row_means, V, column_means)
    n = len(U)
    best, best_back = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    scores, scores_back = np.full(n, -np.inf), np.full(n, -np.inf)
    size = max(1, _BLOCK // n)
    for start in range(0, n, size):
        rows = slice(start, start + size)
        ratios = U[rows] @ V.T  # (block, n)
        ratios /= _denominator(row_means[rows, None], column_means)
        scores[rows] = ratios.max(axis=1)
        best[rows] = (ratios >= scores[rows, None] - _SLACK).argmax(axis=1)
        columns = ratios.max(axis=0)
        better = columns > scores_back + _SLACK
        best_back[better] = start + (ratios >= columns - _SLACK).argmax(axis=0)[better]
        scores_back[better] = columns[better]
        progress("sentence retrieval by margin (rows)", min(n, start + size), n)
    return (best, scores), (best_back, scores_back)


def _denominator(row_means: Vector, column_means: Vector) -> Vector:
    """The mean of both means; 1 where both sentences are zero rows, whose cosine is 0 in any case."""
    means = (row_means + column_means) / 2
    return np.where(means > 0, means, 1.0)


def _check_ratios(U: Vector, row_means: Vector, V: Vector, column_means: Vector) -> None:
    """A ratio to a mean below zero would turn the order of candidates around."""
    lowest = [means[matrix.any(axis=1)].min(initial=np.inf) for matrix, means in ((U, row_means), (V, column_means))]
    if sum(lowest) <= 0:
        raise InputError(
            "the ratio margin is not defined: some sentences have a mean cosine of 0 or less even with their nearest",
            where="score",
            remedy="use score='csls', the margin as a difference",
        )


def _unit_rows(vectors: npt.ArrayLike) -> Vector:
    matrix = np.array(vectors, dtype=np.float64)
    # Dividing by the largest component first keeps extremes in range when they are squared.
    matrix /= np.maximum(np.abs(matrix).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms > 0, norms, 1.0)
    return matrix


def _hits(found: _Found, texts: tuple[Texts, Texts] | None) -> npt.NDArray[np.bool_]:
    right: npt.NDArray[np.bool_] = found.best == np.arange(len(found.best))
    if texts is not None:
        targets = texts[1]
        right |= np.array([targets[row] == targets[i] for i, row in enumerate(found.best.tolist())], dtype=bool)
    return right


def _records(found: _Found, hits: npt.NDArray[np.bool_], texts: tuple[Texts, Texts] | None) -> list[dict[str, Any]]:
    records = []
    for i, row in enumerate(found.best.tolist()):
        record: dict[str, Any] = {
            "index": i,
            "retrieved": row,
            "hit": bool(hits[i]),
            "value": float(hits[i]),
            "score": round(float(found.score[i]), 6),
            "gold_score": round(float(found.gold[i]), 6),
        }
        if texts is not None:
            record |= {"source": texts[0][i], "gold": texts[1][i], "prediction": texts[1][row]}
        records.append(record)
    return records


def _checked_length(X: npt.ArrayLike, Y: npt.ArrayLike, sentences: tuple[Texts, Texts] | None) -> int:
    shapes = [np.shape(vectors) for vectors in (X, Y)]
    if any(len(shape) != 2 for shape in shapes) or shapes[0] != shapes[1]:
        raise ShapeError(
            f"sentence vectors have shapes {shapes[0]} and {shapes[1]}",
            remedy="give two matrices (n, d) of one shape: row i of the one translates row i of the other",
        )
    n = int(shapes[0][0])
    if not n:
        raise InputError("there are no sentences to retrieve", where="X")
    if sentences is not None and (len(sentences) != 2 or any(len(side) != n for side in sentences)):
        raise ShapeError(
            f"{n:,} vectors a side, but texts of {' and '.join(f'{len(side):,}' for side in sentences)} sentences",
            where="sentences",
            remedy="give a pair: the texts of X and the texts of Y",
        )
    return n
