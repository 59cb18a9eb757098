"""What an audit measures of one layer: retrieval before and after a rotation, a probe, anisotropy, word matching.

Each takes arrays and gives a figure for every item, so that intervals can be drawn over items.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isoglot.aligners import Procrustes
from isoglot.encoders import WordVectors
from isoglot.spaces import FloatMatrix, IntVector, unit_rows
from isoglot.tasks import tatoeba

#: Share of the squared length in three dimensions from which on they rule every cosine.
DOMINANT = 0.3
#: Neighbours of CSLS and of hubness.
NEIGHBOURS = 10
SCORES = ("cosine", "csls")
#: Strength of the probe's ridge, in shares of the variance of a standardised feature.
_RIDGE = 0.1

Doubles = npt.NDArray[np.float64]


def halved_retrieval(X: FloatMatrix, Y: FloatMatrix, halves: Sequence[IntVector]) -> dict[tuple[str, str], Doubles]:
    """Hits (n, 2) of each sentence in both directions among those of its half, "halved" and "aligned", for each score.

    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(80, 8)).astype(np.float32)
    >>> Y = X @ np.linalg.qr(random.normal(size=(8, 8)))[0].astype(np.float32)
    >>> found = halved_retrieval(X, Y, np.array_split(np.arange(80), 2))
    >>> bool(found["halved", "csls"].mean() < 0.1), float(found["aligned", "csls"].mean())
    (True, 1.0)
    """
    found = {(kind, score): np.zeros((len(X), 2)) for kind in ("halved", "aligned") for score in SCORES}
    for test, train in zip(halves, reversed(halves), strict=True):
        alignment = Procrustes().fit(X[train], Y[train], np.repeat(np.arange(len(train))[:, None], 2, axis=1))
        mapped = alignment.transform(X[test]), alignment.transform(Y[test], side="tgt")
        for kind, (A, B) in (("halved", (X[test], Y[test])), ("aligned", mapped)):
            for score in SCORES:
                found[kind, score][test] = retrieval_hits(A, B, score)
    return found


def language_probe(X: FloatMatrix, Y: FloatMatrix, halves: Sequence[IntVector]) -> Doubles:
    """Of each pair (n,), the share of its two sentences whose language a ridge classifier of the other half tells.

    >>> X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    >>> halves = np.array_split(np.arange(40), 2)
    >>> float(language_probe(X, X, halves).mean()), float(language_probe(X, X + 9, halves).mean())
    (0.5, 1.0)
    """
    right = np.zeros(len(X))
    for test, train in zip(halves, reversed(halves), strict=True):
        seen = np.concatenate([X[train], Y[train]]).astype(np.float64)
        labels = np.repeat([1.0, -1.0], len(train))
        mean, spread = seen.mean(axis=0), seen.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        Z = (seen - mean) / scale
        # Both languages have as many sentences, so the middle between them needs no term of its own.
        w = np.linalg.solve(Z.T @ Z + _RIDGE * len(Z) * np.eye(Z.shape[1]), Z.T @ labels) / scale
        src, tgt = (np.sign((side[test] - mean) @ w) for side in (X, Y))
        right[test] = (2 + src - tgt) / 4  # a sign of 0 is half right
    return right


def anisotropy(X: FloatMatrix, Y: FloatMatrix) -> tuple[float, float, float]:
    """Mean cosine of any two different rows of X, of any two of Y, and of any row of X with any of Y.

    >>> [round(value, 3) for value in anisotropy(np.eye(3, dtype=np.float32), np.ones((2, 3), np.float32))]
    [0.0, 1.0, 0.577]
    """
    sides = [unit_rows(np.ascontiguousarray(M)).astype(np.float64) for M in (X, Y)]
    sums = [U.sum(axis=0) for U in sides]
    # All pairs at once: the square of the sum holds every pair twice, and each row with itself.
    within = [
        float((total @ total - np.square(U).sum()) / (len(U) * (len(U) - 1)))
        for U, total in zip(sides, sums, strict=True)
    ]
    return within[0], within[1], float(sums[0] @ sums[1]) / (len(X) * len(Y))


def dominance(X: FloatMatrix) -> float:
    """The share of the rows' squared length that the three largest dimensions hold.

    >>> round(dominance(np.array([[3, 0, 0, 1, 0], [3, 1, 1, 0, 0]], dtype=np.float32)), 3)
    0.952
    """
    squares = np.sort(np.square(X, dtype=np.float64).sum(axis=0))
    return float(squares[-3:].sum() / max(squares.sum(), np.finfo(np.float64).tiny))


def word_matching(
    src: WordVectors, tgt: WordVectors, groups: IntVector, asked: Sequence[npt.NDArray[np.bool_]]
) -> Doubles:
    """Word matching from `src` to `tgt`: of each sentence (n, 3) hits, words asked, and hits expected by chance.

    `groups` (n, g) are the sentences whose words compete, a sentence's own translation first; `asked` says of each
    sentence which words are asked. Where several words are equally similar, the hit is shared.

    >>> vectors = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> side = WordVectors([["a"], ["b"]], vectors, np.array([0, 1, 2]))
    >>> word_matching(side, side, np.array([[0, 1], [1, 0]]), [np.array([True])] * 2).tolist()
    [[1.0, 1.0, 0.5], [1.0, 1.0, 0.5]]
    """
    A, B = (side.with_vectors(unit_rows(np.ascontiguousarray(side.vectors))) for side in (src, tgt))
    found = np.zeros((len(groups), 3))
    for number, group in enumerate(groups.tolist()):
        candidates = np.concatenate([B[other] for other in group])
        cosines = A[number][asked[number]] @ candidates.T
        if not cosines.size:
            continue
        best = cosines >= cosines.max(axis=1, keepdims=True) - 1e-6
        own = len(B[group[0]])
        hits = float((best[:, :own].sum(axis=1) / best.sum(axis=1)).sum())
        found[number] = hits, len(cosines), len(cosines) * own / len(candidates)
    return found


def retrieval_hits(X: FloatMatrix, Y: FloatMatrix, score: str) -> Doubles:
    """(n, 2): 1 where the translation comes first, there and back."""
    _, there, back = tatoeba(X, Y, score=score, neighbourhood=NEIGHBOURS, bootstrap=0)
    return np.column_stack([[item["value"] for item in result.per_item] for result in (there, back)])
