"""A first dictionary from how words are written, in whatever scripts, checked against the vectors.

Words that are written or sound alike are often translations (computer - コンピュータ, product - продукт) and often not
(ending - Энди). Each alone is a weak sign, but the right pairs agree on one rotation and the wrong ones on none: rounds
of fitting a rotation to the best pairs and choosing pairs anew, by spelling and vectors together, sort them out.

Riley & Gildea 2018, "Orthographic features for bilingual lexicon induction", bring spelling into self-learning within
one script; Artetxe, Labaka & Agirre 2018 learn from scratch without it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.spelling import grams, latin, sound
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, IntVector

#: Lengths of the letter sequences that are compared.
_LENGTHS = (2, 3, 4)
#: Rows compared at once: what bounds memory.
_BLOCK = 500


@dataclasses.dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of rows (c, 2) that are written alike, and how much, (c,): 1 for identical, 0 for nothing in common."""

    pairs: IntVector
    likeness: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.pairs)


def spelling_candidates(
    src_words: Sequence[str],
    tgt_words: Sequence[str],
    *,
    neighbours: int = 10,
    least: float = 0.2,
    shortest: int = 3,
    progress: Progress = silent,
) -> Candidates:
    """For each word of either side the `neighbours` of the other side that are written most alike.

    Words are compared by their letter sequences of length 2 to 4, once as transliterated and once by sound, rare
    sequences counting more. Pairs below the likeness `least` or with a word under `shortest` letters are left out.

    >>> found = spelling_candidates(["telephone", "house"], ["телефон", "дом", "шум"])
    >>> found.pairs.tolist(), found.likeness.round(2).tolist()
    ([[0, 0]], [0.39])
    """
    src_latin, tgt_latin = [latin(word) for word in src_words], [latin(word) for word in tgt_words]
    spelled = _grams_of(src_latin, tgt_latin)
    heard = _grams_of([sound(word) for word in src_words], [sound(word) for word in tgt_words])
    A, B = (_side_by_side(spelled[side], heard[side]) for side in (0, 1))
    total = len(src_words) + len(tgt_words)
    there = _nearest(A, B, neighbours, lambda done: progress("comparing spellings", done, total))
    back = _nearest(B, A, neighbours, lambda done: progress("comparing spellings", len(src_words) + done, total))
    rows = np.concatenate([there[0], back[1]])
    columns = np.concatenate([there[1], back[0]])
    likeness = np.concatenate([there[2], back[2]])
    src_length, tgt_length = (np.array([len(word) for word in words]) for words in (src_latin, tgt_latin))
    kept = (likeness >= least) & (np.minimum(src_length[rows], tgt_length[columns]) >= shortest)
    rows, columns, likeness = rows[kept], columns[kept], likeness[kept]
    _, first = np.unique(rows * len(tgt_words) + columns, return_index=True)
    return Candidates(np.stack([rows[first], columns[first]], axis=1), likeness[first].astype(np.float64))


def agreeing_pairs(
    X: FloatMatrix,
    Y: FloatMatrix,
    candidates: Candidates,
    rng: np.random.Generator,
    *,
    keep: int = 2000,
    weight: float = 2.0,
    rounds: int = 12,
    progress: Progress = silent,
) -> IntVector:
    """The `keep` best pairs (k, 2) of the candidates, after rounds in which spelling and vectors choose together.

    `weight`: what one standard deviation of the cosines counts, in standard deviations of the likeness. A pair's own
    cosine comes from the map of the half that it was not part of: no pair vouches for itself.
    """
    src, tgt = candidates.pairs[:, 0], candidates.pairs[:, 1]
    chosen = best_pairs(candidates.pairs, candidates.likeness)[:keep]
    for step in range(rounds):
        progress("checking spellings against vectors", step, rounds)
        half = rng.random(len(chosen)) < 0.5
        cosines = []
        for part in (chosen[half], chosen[~half]):
            mapped = X @ procrustes(X[src[part]], Y[tgt[part]])
            cosines.append(_row_products(mapped, Y, candidates.pairs))
        cosine = (cosines[0] + cosines[1]) / 2
        cosine[chosen[half]], cosine[chosen[~half]] = cosines[1][chosen[half]], cosines[0][chosen[~half]]
        agreement = (cosine - cosine.mean()) / max(float(cosine.std()), 1e-12) * candidates.likeness.std()
        chosen = best_pairs(candidates.pairs, candidates.likeness + weight * agreement)[:keep]
    progress("checking spellings against vectors", rounds, rounds)
    return candidates.pairs[chosen]


def best_pairs(pairs: IntVector, scores: npt.NDArray[np.float64]) -> IntVector:
    """Which of the pairs (c, 2) are the best of both their words, best first; ties go to the earlier pair.

    >>> best_pairs(np.array([[0, 0], [0, 1], [1, 1]]), np.array([0.5, 0.9, 0.7])).tolist()
    [1]
    """
    worst_first = np.argsort(-scores, kind="stable")[::-1]
    best = []
    for side in (0, 1):
        own = np.full(int(pairs[:, side].max(initial=-1)) + 1, -1)
        own[pairs[worst_first, side]] = worst_first  # of several writes the last one stays
        best.append(own)
    mutual = (best[0][pairs[:, 0]] == np.arange(len(pairs))) & (best[1][pairs[:, 1]] == np.arange(len(pairs)))
    found: IntVector = np.flatnonzero(mutual)
    return found[np.argsort(-scores[found], kind="stable")]


def _grams_of(src: Sequence[str], tgt: Sequence[str]) -> tuple[Any, Any]:
    """Sparse rows of unit length (n, grams) and (m, grams): the words' letter sequences, weighted by rarity."""
    from scipy.sparse import csr_matrix, diags

    columns: dict[str, int] = {}
    found = []
    for words in (src, tgt):
        indices: list[int] = []
        starts = [0]
        for word in words:
            # Sorted: the order of a set of strings differs from process to process, and sums with it.
            own = sorted(gram for n in _LENGTHS for gram in grams(word, n))
            indices += [columns.setdefault(gram, len(columns)) for gram in own]
            starts.append(len(indices))
        found.append((indices, starts))
    matrices = [
        csr_matrix((np.ones(len(indices), dtype=np.float32), indices, starts), shape=(len(starts) - 1, len(columns)))
        for indices, starts in found
    ]
    share = sum(np.asarray(matrix.sum(axis=0)).ravel() / max(1, matrix.shape[0]) for matrix in matrices) / 2
    rarity = diags(np.maximum(-np.log(share), 0.0).astype(np.float32))
    weighted = [matrix @ rarity for matrix in matrices]
    lengths = [np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()) for matrix in weighted]
    src_rows, tgt_rows = (
        (diags((1 / np.maximum(length, 1e-9)).astype(np.float32)) @ matrix).tocsr()
        for matrix, length in zip(weighted, lengths, strict=True)
    )
    return src_rows, tgt_rows


def _side_by_side(spelled: Any, heard: Any) -> Any:
    from scipy.sparse import hstack

    return (hstack([spelled, heard]) * np.float32(0.5**0.5)).tocsr()


def _nearest(A: Any, B: Any, k: int, done: Any) -> tuple[IntVector, IntVector, npt.NDArray[np.float32]]:
    """Rows, columns and products of the k largest products of each row of A with the rows of B."""
    k = min(k, B.shape[0])
    columns, products = [], []
    transposed = B.T.tocsr()
    for start in range(0, A.shape[0], _BLOCK):
        done(start)
        block = (A[start : start + _BLOCK] @ transposed).toarray()
        best = np.argpartition(-block, k - 1, axis=1)[:, :k]
        columns.append(best.ravel())
        products.append(np.take_along_axis(block, best, axis=1).ravel())
    rows = np.repeat(np.arange(A.shape[0]), k)
    return rows, np.concatenate(columns).astype(np.int64), np.concatenate(products)


def _row_products(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector) -> npt.NDArray[np.float64]:
    """Products of X's and Y's rows, pair by pair, in pieces that fit into the cache."""
    products = np.empty(len(pairs))
    for start in range(0, len(pairs), 4096):
        part = pairs[start : start + 4096]
        products[start : start + 4096] = np.einsum("ij,ij->i", X[part[:, 0]], Y[part[:, 1]])
    return products
