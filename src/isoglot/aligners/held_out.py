"""Seeds kept back from a supervised fit, to choose the step at which it stops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isoglot.retrieval import Retriever
from isoglot.spaces import FloatMatrix, IntVector

#: Reciprocal ranks of the held-out words, one a word; empty where nothing is held out.
Ranks = npt.NDArray[np.float64]

#: With fewer source words than this a part of them would tell nothing, so none is kept back.
_LEAST_WORDS = 100
#: With fewer held-out words the choice of a step is a matter of luck, and of which words the seed has drawn.
ENOUGH = 100


def hold_out(pairs: IntVector, share: float, seed: int) -> tuple[IntVector, IntVector]:
    """Pairs to learn from and pairs kept back, (p, 2) and (q, 2); all translations of a word stay together.

    Words are drawn by the order in which `pairs` names them, so that the order of a space's rows does not matter.
    Nothing is kept back from fewer than 100 source words.

    >>> import numpy as np
    >>> learn, kept = hold_out(np.stack([np.arange(200), np.arange(200)], axis=1), 0.1, seed=0)
    >>> len(learn), len(kept)
    (180, 20)
    """
    rows, first, word_of = np.unique(pairs[:, 0], return_index=True, return_inverse=True)
    if len(rows) < _LEAST_WORDS or share <= 0:
        return pairs, pairs[:0]
    by_appearance = np.argsort(first)
    drawn = np.random.default_rng([seed, len(rows)]).permutation(len(rows))[: max(1, round(share * len(rows)))]
    kept = np.isin(word_of, by_appearance[drawn])
    return pairs[~kept], pairs[kept]


def folds(pairs: IntVector, number: int, seed: int) -> list[tuple[IntVector, IntVector]]:
    """Pairs to learn from and pairs kept back, so that every source word is kept back once.

    >>> import numpy as np
    >>> parts = folds(np.stack([np.arange(200), np.arange(200)], axis=1), 5, seed=0)
    >>> [len(kept) for _, kept in parts], sorted(row for _, kept in parts for row in kept[:, 0]) == list(range(200))
    ([40, 40, 40, 40, 40], True)
    """
    rows, first, word_of = np.unique(pairs[:, 0], return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    drawn = np.random.default_rng([seed, len(rows)]).permutation(len(rows))
    parts = [np.isin(word_of, by_appearance[part]) for part in np.array_split(drawn, number)]
    return [(pairs[~part], pairs[part]) for part in parts]


def source_weights(pairs: IntVector) -> npt.NDArray[np.float64]:
    """A weight for each pair such that every source word counts the same: 1 / (its targets), (p,).

    >>> source_weights(np.array([[7, 0], [7, 1], [2, 5]])).tolist()
    [0.5, 0.5, 1.0]
    """
    _, word_of, targets = np.unique(pairs[:, 0], return_inverse=True, return_counts=True)
    weights: npt.NDArray[np.float64] = 1 / targets[word_of]
    return weights


def within_one_error(ranks: Ranks, top: Ranks) -> bool:
    """Whether `ranks` are as good as `top`, by no more than one standard error of their mean difference worse.

    A few dozen held-out words cannot tell steps apart that are nearly as good, and then the later step is the better
    guess; hundreds can. Without any words every step is as good as the other.

    >>> import numpy as np
    >>> within_one_error(np.array([1, 0.5, 1, 0.5]), np.array([0.5, 1, 1, 1]))
    True
    >>> within_one_error(np.array([0.5, 0.5, 0.5, 0.5]), np.array([0.5, 1, 1, 1]))
    False
    """
    worse = top - ranks
    return len(worse) == 0 or bool(worse.mean() <= worse.std() / np.sqrt(len(worse)))


def rank_in_lists(sources: IntVector, lists: IntVector, kept: IntVector) -> Ranks:
    """The reciprocal rank of the first right target of each source word, (s,); 0 for a word whose list has none.

    `lists` (s, k): targets in order, best first, of the rows `sources` (s,).

    >>> rank_in_lists(np.array([4, 8]), np.array([[1, 2], [3, 5]]), np.array([[4, 2], [8, 9]])).tolist()
    [0.5, 0.0]
    """
    gold: dict[int, set[int]] = {}
    for source, target in kept.tolist():
        gold.setdefault(source, set()).add(target)
    ranks = np.zeros(len(sources))
    for i, (source, found) in enumerate(zip(sources.tolist(), lists.tolist(), strict=True)):
        wanted = gold.get(source, set())
        ranks[i] = next((1 / rank for rank, target in enumerate(found, start=1) if target in wanted), 0.0)
    return ranks


def ranked_by_csls(
    X: FloatMatrix,
    Y: FloatMatrix,
    kept: IntVector,
    W: FloatMatrix | None = None,
    V: FloatMatrix | None = None,
    *,
    rows: tuple[int, int] = (5_000, 5_000),
    k: int = 10,
) -> Ranks:
    """`rank_in_lists` by CSLS of X (n, d) mapped by W and Y (m, d) mapped by V; None leaves a side as it is.

    Only the first `rows` of each side and those of `kept` are looked at: a part of the vocabularies is enough to tell
    two steps of one fit apart, and costs little at any size.

    >>> import numpy as np
    >>> ranked_by_csls(np.eye(3), np.eye(3)[::-1], np.array([[0, 2], [1, 1]])).tolist()
    [1.0, 1.0]
    """
    if not len(kept):
        return np.zeros(0)
    sources = np.union1d(np.arange(min(rows[0], len(X))), kept[:, 0])
    targets = np.union1d(np.arange(min(rows[1], len(Y))), kept[:, 1])
    A = X[sources] if W is None else X[sources] @ W
    B = Y[targets] if V is None else Y[targets] @ V
    asked = np.unique(kept[:, 0])
    found = Retriever(A, B).top(k, rows=np.searchsorted(sources, asked)).indices
    return rank_in_lists(asked, targets[found], kept)
