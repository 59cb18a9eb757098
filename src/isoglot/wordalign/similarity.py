"""Word alignment from similarities: which words of a sentence pair translate each other, without any training.

`word_align` takes the similarities of all source words with all target words and a method's name; each method is also
a function of its own. `word_scores` tells what a method looks at, for a picture. Main sources: Jalili Sabet et al. 2020
(SimAlign), Dou & Neubig 2021 (awesome-align).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.assignments import check_known
from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.suggest import choose
from isoglot.wordalign.links import WordLinks
from isoglot.wordalign.symmetrise import symmetrise
from isoglot.wordalign.transport import (
    similarity_plan,
    transport,
    unbalanced_similarity_plan,
    unbalanced_transport,
    word_ot,
    word_ot_plan,
)

Matrix = npt.NDArray[np.floating[Any]]
IntVector = npt.NDArray[np.int64]

# Cells worked on at once: 4 MB of float32, so that a pair of very long lines needs no second matrix.
_BLOCK = 1 << 20


def word_align(
    S: npt.ArrayLike, method: str = "itermax", *, null: float | None = None, distortion: float = 0.0, **settings: Any
) -> WordLinks:
    """Link words by their similarities `S` (n source words, m target words); all links are sure, with scores.

    Args:
        S: cosines, or for a `raw` method dot products.
        method: a name of `METHODS`.
        null: words are not linked at a similarity below this, so one without any better partner stays unlinked.
        distortion: kappa of SimAlign, 0 to 1: how much pairs far from the diagonal lose,
            (1 + cosine) (1 - kappa (i/n - j/m)^2) - 1. It helps rare words and hurts where word order differs.
        settings: the method's own.

    >>> links = word_align([[0.9, 0.1, 0.3], [0.2, 0.8, 0.7]], null=0.5)
    >>> sorted(links.sure), links.scores[1, 2]
    ([(0, 0), (1, 1), (1, 2)], 0.7)
    """
    chosen = _chosen(method, settings)
    if null is not None and not np.isfinite(null):
        raise ConfigError(f"must be a similarity or None, not {null}", where="null")
    matrix = _bent(_similarities(S), distortion)
    if not matrix.size:
        return WordLinks()
    # The assignment must know beforehand that a bad link is worth no more than none.
    links = chosen.align(np.maximum(matrix, null) if chosen.align is match and null is not None else matrix, **settings)
    if null is None:
        return links
    good = {link: score for link, score in links.scores.items() if matrix[link] >= null}
    return WordLinks(frozenset(good), scores=good)


def word_scores(
    S: npt.ArrayLike, method: str = "itermax", *, null: float | None = None, distortion: float = 0.0, **settings: Any
) -> Matrix:
    """What the method looks at (n, m): its plan, in shares of the lighter word's weight, or else the similarities.

    Arguments are those of `word_align`; `null` changes nothing here.

    >>> word_scores([[0.9, 0.1], [0.2, 0.8]], "match").tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    >>> word_scores([[9.0, 1.0], [2.0, 8.0]], "ot").round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    chosen = _chosen(method, settings)
    matrix = _bent(_similarities(S), distortion)
    if chosen.plan is None or not matrix.size:
        return matrix
    wanted = inspect.signature(chosen.plan).parameters
    values = {name: value for name, value in {**chosen.settings, **settings}.items() if name in wanted}
    return np.asarray(chosen.plan(matrix, **values) * max(matrix.shape))


def intersection(S: Matrix) -> WordLinks:
    """Words that are each other's most similar; few links, most of them right.

    >>> sorted(intersection(np.array([[0.9, 0.1], [0.8, 0.2]])).sure)
    [(0, 0)]
    """
    return _at(S, *_mutual(S.argmax(axis=1), _best_rows(S)))


def argmax_union(S: Matrix) -> WordLinks:
    """Each word with its most similar one, in both directions.

    >>> sorted(argmax_union(np.array([[0.9, 0.1], [0.8, 0.2]])).sure)
    [(0, 0), (1, 0), (1, 1)]
    """
    return _symmetrised(S, "union")


def grow_diag_final_and(S: Matrix) -> WordLinks:
    """The two directions' most similar words, symmetrised: see `isoglot.wordalign.symmetrise`.

    >>> sorted(grow_diag_final_and(np.array([[0.9, 0.1], [0.8, 0.2]])).sure)
    [(0, 0), (1, 0), (1, 1)]
    """
    return _symmetrised(S, "grow-diag-final-and")


def itermax(S: Matrix, *, alpha: float = 0.9, n_iter: int = 2) -> WordLinks:
    """Mutual maxima, again and again: words with a link may get another one, at a discount (Jalili Sabet et al. 2020).

    Args:
        alpha: factor on (1 + cosine) / 2 of pairs in which one word has a link; pairs in which both have one are out.
        n_iter: rounds; one is `intersection`.

    >>> sorted(itermax(np.array([[0.9, 0.1], [0.8, 0.2]])).sure)
    [(0, 0), (1, 0)]
    """
    if not 0 <= alpha <= 1:
        raise ConfigError(f"must lie between 0 and 1, not {alpha}", where="alpha")
    if n_iter < 1:
        raise ConfigError(f"must be 1 or more, not {n_iter}", where="n_iter")
    _check_cosines(S)
    n, m = S.shape
    row_linked, column_linked = np.zeros(n, dtype=bool), np.zeros(m, dtype=bool)
    rows, columns = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for _ in range(n_iter):
        if row_linked.all() and column_linked.all():
            break
        new_rows, new_columns = _discounted_mutual(S, row_linked, column_linked, alpha)
        if not len(new_rows):
            break
        rows, columns = np.concatenate([rows, new_rows]), np.concatenate([columns, new_columns])
        row_linked[new_rows] = True
        column_linked[new_columns] = True
    return _at(S, rows, columns)


def match(S: Matrix) -> WordLinks:
    """The one-to-one links of largest total similarity; every word of the shorter sentence gets one. O(n^3).

    >>> sorted(match(np.array([[0.9, 0.8], [0.8, 0.2]])).sure)
    [(0, 1), (1, 0)]
    """
    from scipy.optimize import linear_sum_assignment

    return _at(S, *linear_sum_assignment(S, maximize=True))


def softmax(S: Matrix, *, threshold: float = 0.001, temperature: float = 0.005) -> WordLinks:
    """Pairs that are probable in both directions, many to many (Dou & Neubig 2021); scores are the smaller probability.

    Args:
        threshold: probability that both directions must exceed; the paper's.
        temperature: similarities are divided by it. The paper takes the softmax of dot products of hidden states,
            which spread some hundred times wider than cosines; for dot products, set it to 1.

    >>> sorted(softmax(np.array([[0.9, 0.1], [0.8, 0.2]])).sure)
    [(0, 0)]
    """
    if not 0 <= threshold < 1:
        raise ConfigError(f"must lie between 0 and 1, not {threshold}", where="threshold")
    if not temperature > 0:
        raise ConfigError(f"must be above 0, not {temperature}", where="temperature")
    probability = _softmax(S, temperature, axis=1)
    np.minimum(probability, _softmax(S, temperature, axis=0), out=probability)
    rows, columns = np.nonzero(probability > threshold)
    return _at(probability, rows, columns)


@dataclasses.dataclass(frozen=True)
class WordAlignMethod:
    """A row of the table: what the method does, where it comes from, and its function.

    plan: gives the plan whose large cells are the links, for methods by transport.
    raw: the method takes dot products of vectors as they come, not cosines.
    """

    name: str
    summary: str
    paper: str
    align: Callable[..., WordLinks]
    plan: Callable[..., Matrix] | None = None
    raw: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The method's own settings and their defaults."""
        parameters = inspect.signature(self.align).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


_SIMALIGN, _ARASE = "Jalili Sabet et al. 2020", "Arase, Bao & Yokoi 2023"
_TABLE = (
    WordAlignMethod("intersection", "most similar words in both directions", _SIMALIGN, intersection),
    WordAlignMethod("union", "most similar words in either direction", "Och & Ney 2003", argmax_union),
    WordAlignMethod("grow-diag-final-and", "the two, symmetrised", "Koehn, Och & Marcu 2003", grow_diag_final_and),
    WordAlignMethod("itermax", "mutual maxima, repeated at a discount for linked words", _SIMALIGN, itermax),
    WordAlignMethod("match", "one-to-one links of largest total similarity", _SIMALIGN, match),
    WordAlignMethod("softmax", "pairs that are probable in both directions", "Dou & Neubig 2021", softmax),
    WordAlignMethod("transport", "large cells of the entropic transport plan", _ARASE, transport, similarity_plan),
    WordAlignMethod(
        "unbalanced-transport",
        "the same if words may be left behind",
        _ARASE,
        unbalanced_transport,
        unbalanced_similarity_plan,
    ),
    WordAlignMethod("ot", "the plan that WordOT trains with", "Alqahtani et al. 2021", word_ot, word_ot_plan, raw=True),
)
#: All methods by name.
METHODS: Mapping[str, WordAlignMethod] = MappingProxyType({row.name: row for row in _TABLE})


def _chosen(method: str, settings: Iterable[str]) -> WordAlignMethod:
    chosen = choose("method", method, METHODS, where="method")
    check_known(settings, [*chosen.settings, "null", "distortion"], method, where="settings")
    return chosen


def _similarities(S: npt.ArrayLike) -> Matrix:
    try:
        matrix = np.asarray(S)
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("not a matrix of numbers", where="S") from error
    if matrix.ndim != 2:
        raise ShapeError(f"similarities of words must be a matrix, not of shape {matrix.shape}", where="S")
    # Sums of extremes, since both pass NaN on and neither needs a second matrix.
    if matrix.size and not np.isfinite(float(matrix.min()) + float(matrix.max())):
        raise InputError(
            "the similarities hold NaN or infinite values", where="S", remedy="are there empty word vectors?"
        )
    return matrix


def _check_cosines(S: Matrix) -> None:
    if S.min() < -1.001 or S.max() > 1.001:
        raise InputError(
            f"these similarities lie between {S.min():.3g} and {S.max():.3g}: not cosines",
            where="S",
            remedy="divide the vectors by their lengths first",
        )


def _bent(S: Matrix, kappa: float) -> Matrix:
    """Similarities after SimAlign's distortion; on 1 + cosine, as a factor would lift a negative cosine."""
    if not 0 <= kappa <= 1:
        raise ConfigError(f"must lie between 0 and 1, not {kappa}", where="distortion")
    if not kappa or not S.size:
        return S
    _check_cosines(S)
    n, m = S.shape
    gap = (np.arange(n, dtype=S.dtype) / n)[:, None] - np.arange(m, dtype=S.dtype) / m
    gap *= gap
    gap *= -kappa
    gap += 1
    gap *= 1 + S
    gap -= 1
    return np.asarray(gap)


def _at(values: Matrix, rows: IntVector, columns: IntVector) -> WordLinks:
    return WordLinks.from_arrays(rows, columns, values[rows, columns])


def _best_rows(S: Matrix) -> IntVector:
    """Each column's largest row: `S.argmax(axis=0)`, which copies the whole matrix, and so in blocks if it is large."""
    if S.size <= _BLOCK:
        return np.asarray(S.argmax(axis=0))
    best, value = np.zeros(S.shape[1], dtype=np.int64), S[0].copy()
    size = max(1, _BLOCK // S.shape[1])
    for start in range(0, len(S), size):
        rows = S[start : start + size].argmax(axis=0)
        values = S[start + rows, np.arange(S.shape[1])]
        better = values > value
        best[better] = rows[better] + start
        value[better] = values[better]
    return best


def _mutual(best_column: IntVector, best_row: IntVector) -> tuple[IntVector, IntVector]:
    """Rows and columns that choose each other."""
    rows = np.flatnonzero(best_row[best_column] == np.arange(len(best_column)))
    return rows, best_column[rows]


def _symmetrised(S: Matrix, how: str) -> WordLinks:
    n, m = S.shape
    forward = set(enumerate(S.argmax(axis=1).tolist()))
    backward = {(i, j) for j, i in enumerate(_best_rows(S).tolist())}
    links = np.array(sorted(symmetrise(forward, backward, how, n=n, m=m)), dtype=np.int64).reshape(-1, 2)
    return _at(S, links[:, 0], links[:, 1])


def _discounted_mutual(
    S: Matrix, row_linked: npt.NDArray[np.bool_], column_linked: npt.NDArray[np.bool_], alpha: float
) -> tuple[IntVector, IntVector]:
    """Mutual maxima of 1 + S after the discount, computed in blocks of rows: nothing of the matrix's size is made."""
    n, m = S.shape
    factor = np.array([[1, alpha], [alpha, 0]], dtype=S.dtype)  # by links of the row's and the column's word
    of_columns = factor[:, column_linked.astype(np.intp)]  # (2, m): for rows without and with a link
    best_column, row_value = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=S.dtype)
    best_row, column_value = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=S.dtype)
    size = max(1, _BLOCK // m)
    for start in range(0, n, size):
        block = 1 + S[start : start + size]
        block *= of_columns[row_linked[start : start + size].astype(np.intp)]
        best_column[start : start + size] = chosen = block.argmax(axis=1)
        row_value[start : start + size] = block[np.arange(len(block)), chosen]
        rows = block.argmax(axis=0)
        values = block[rows, np.arange(m)]
        better = values > column_value
        best_row[better] = rows[better] + start
        column_value[better] = values[better]
    found, columns = _mutual(best_column, best_row)
    # Where all that is left is out of the game, the "maximum" is a 0.
    real = row_value[found] > 0
    return found[real], columns[real]


def _softmax(S: Matrix, temperature: float, axis: int) -> Matrix:
    powers = S - S.max(axis=axis, keepdims=True)
    powers /= temperature
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=axis, keepdims=True)
    return np.asarray(powers)
