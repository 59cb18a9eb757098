"""How good an alignment is, told without any dictionary: to choose a model, and to say "not aligned" when it is not.

Both criteria look at the most confident translations that the alignment itself induces (Zhao & Eger 2022, section 4.2):

- *semantic* (Lample et al. 2018): the mean cosine of these pairs. Higher is better.
- *structural* (Dubossarsky et al. 2020): the difference of the two ordered lists of singular values of their vectors.
  Lower is better.

Where translations are sought by distance, not by direction (`EUCLIDEAN_SCORES`), the criteria go by distance as well,
and over the best permutation of both sides in place of each row's nearest neighbour, which gives the earth mover's
distance. In a plane full of points every map has near neighbours: of 13 maps each of three simulated pairs, from the
true one to wrong rotations (P@1 1 to .01), the criterion over nearest neighbours lies between .980 and 1, over
permutations between .896 and 1; Spearman's correlation with P@1 is .923 and .946.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from isoglot.progress import Progress, silent
from isoglot.retrieval import EUCLIDEAN_SCORES, Retriever, best_permutation, check_score
from isoglot.spaces import FloatMatrix, IntVector, drawn_rows, unit_rows

#: How many induced translations the paper looks at.
PAIRS = 30_000
#: Rows that a permutation is sought over.
PERMUTED = 1000


@dataclasses.dataclass(frozen=True)
class Criteria:
    """Both criteria, over how many pairs, and which share of the words asked chose each other."""

    semantic: float
    structural: float
    pairs: int
    mutual: float


def measure(
    X: FloatMatrix,
    Y: FloatMatrix,
    *,
    pairs: int = PAIRS,
    score: str = "csls",
    backend: str = "exact",
    threads: int | None = None,
    progress: Progress = silent,
) -> Criteria:
    """Both criteria of mapped spaces X (n, d) and Y (m, d); `score` as in `isoglot.retrieval.Retriever`."""
    found, mutual = confident_pairs(X, Y, pairs, score=score, backend=backend, threads=threads, progress=progress)
    if score in EUCLIDEAN_SCORES:
        size = min(len(X), len(Y), PERMUTED)
        rows = [drawn_rows(M, size, 0) for M in (X, Y)]
        permutation = best_permutation(X[rows[0]], Y[rows[1]], score=score, threads=threads)
        found = np.stack([rows[side][permutation[:, side]] for side in (0, 1)], axis=1)
    A, B = X[found[:, 0]], Y[found[:, 1]]
    return Criteria(semantic_criterion(A, B, score), structural_criterion(A, B, score), len(found), mutual)


def confident_pairs(
    X: FloatMatrix,
    Y: FloatMatrix,
    pairs: int = PAIRS,
    *,
    score: str = "csls",
    backend: str = "exact",
    threads: int | None = None,
    progress: Progress = silent,
) -> tuple[IntVector, float]:
    """The rows (p, 2) of the most confident translations of X's rows, and the share of X's rows whose best
    translation chooses them back."""
    retriever = Retriever(X, Y, score=score, backend=backend, threads=threads, progress=progress)
    there, back = retriever.top_both(1)
    best, scores = there.indices[:, 0], there.scores[:, 0]
    mutual = float((back.indices[best, 0] == np.arange(len(best))).mean())
    order = np.argsort(-scores, kind="stable")[:pairs]
    return np.stack([order, best[order]], axis=1), mutual


def semantic_criterion(A: FloatMatrix, B: FloatMatrix, score: str = "csls") -> float:
    """Mean cosine of matched rows (p, d); for the Euclidean scores their concordance (Lin 1989), at most 1 as well.

    Concordance is 1 - sum |a - b|^2 / (sum |a - mean|^2 + sum |b - mean|^2), where the mean is that of all rows of both
    sides: for centred rows of length one that is the mean cosine. Rows that are all the same have none, which is 0.

    >>> semantic_criterion(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32) * 3)
    1.0
    >>> round(semantic_criterion(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32) * 3, "euclidean"), 3)
    0.333
    """
    check_score(score)
    if score in EUCLIDEAN_SCORES:
        both = np.concatenate([A, B], dtype=np.float64)
        spread = float(np.square(both - both.mean(axis=0)).sum())
        apart = float(np.square(both[: len(A)] - both[len(A) :]).sum())
        return 1.0 - apart / spread if spread else 0.0
    return float(np.einsum("ij,ij->i", unit_rows(A), unit_rows(B)).mean(dtype=np.float64))


def structural_criterion(A: FloatMatrix, B: FloatMatrix, score: str = "csls") -> float:
    """Mean absolute difference of the ordered singular values of matched rows, as a share of their mean.

    As a share, so that the figure depends neither on how many pairs there are nor on the vectors' scale. Rows are taken
    at unit length; for the Euclidean scores as they are, but centred.

    >>> structural_criterion(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32) * 3)
    0.0
    """
    check_score(score)
    plain = score in EUCLIDEAN_SCORES
    values = [singular_values(M - M.mean(axis=0, dtype=np.float64) if plain else unit_rows(M)) for M in (A, B)]
    d = min(len(values[0]), len(values[1]))
    scale = np.mean(np.concatenate(values))
    return float(np.abs(values[0][:d] - values[1][:d]).mean() / scale) if scale else 0.0


def singular_values(M: FloatMatrix) -> npt.NDArray[np.float64]:
    """Largest first."""
    # By way of M'M, which is small however many rows there are.
    values: npt.NDArray[np.float64] = np.sqrt(np.clip(np.linalg.eigvalsh(M.T.astype(np.float64) @ M), 0, None))[::-1]
    return values
