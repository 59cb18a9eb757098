"""What a search of both vocabularies yields to learn from: mutual translations, and rivals for each word.

Seeds and rows are places in the part of the vocabularies that is searched.
"""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
import numpy.typing as npt

from isoglot.aligners.base import Problem
from isoglot.aligners.held_out import Ranks, rank_in_lists
from isoglot.retrieval import Retriever
from isoglot.spaces import FloatMatrix, IntVector

Vector = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True, eq=False)
class Mined:
    """What one search found: lists of nearest translations both ways, mutual pairs, half of CSLS's means."""

    there: IntVector  # (n, k)
    back: IntVector  # (m, k)
    mutual: IntVector  # (q, 2)
    source_bias: Vector  # (n,)
    target_bias: Vector  # (m,)


@dataclasses.dataclass(frozen=True, eq=False)
class Vocabulary:
    """The rows that are searched, and the seeds as places among them."""

    X: FloatMatrix
    Y: FloatMatrix
    learn: IntVector
    kept: IntVector

    @classmethod
    def of(cls, problem: Problem, learn: IntVector, kept: IntVector, cutoff: int) -> Self:
        rows = [
            np.union1d(np.arange(min(cutoff, len(M))), problem.pairs[:, side])
            for side, M in enumerate((problem.X, problem.Y))
        ]
        places = [
            np.stack([np.searchsorted(rows[side], pairs[:, side]) for side in (0, 1)], axis=1)
            for pairs in (learn, kept)
        ]
        return cls(problem.X[rows[0]], problem.Y[rows[1]], *places)

    def mine(self, maps: list[FloatMatrix], k: int, mutual: bool) -> Mined:
        # "auto" may miss one neighbour in a thousand, which mining does not mind.
        retriever = Retriever(self.X @ maps[0], self.Y @ maps[1], backend="auto")
        # Ten at least, so that the held-out seeds' ranks can be told.
        there, back = retriever.top_both(max(k, 10))
        best = there.indices[:, 0]
        chosen_back = back.indices[best, 0] == np.arange(len(best))
        # By score, not by row, so that the order of rows does not matter.
        found = np.nonzero(chosen_back)[0] if mutual else np.zeros(0, dtype=np.int64)
        found = found[np.argsort(-there.scores[found, 0], kind="stable")]
        source_means, target_means = retriever.neighbourhood_means()
        half = np.float32(0.5)
        pairs = np.stack([found, best[found]], axis=1)
        return Mined(there.indices, back.indices, pairs, half * source_means, half * target_means)

    def rank(self, mined: Mined) -> Ranks:
        """How well the held-out seeds rank."""
        asked = np.unique(self.kept[:, 0])
        return rank_in_lists(asked, mined.there[asked], self.kept)


@dataclasses.dataclass(frozen=True, eq=False)
class Translations:
    """Words in order of first appearance; the right answers of word i are targets[starts[i] : starts[i + 1]]."""

    words: IntVector
    starts: IntVector
    targets: IntVector
    weights: Vector

    @classmethod
    def of(cls, pairs: IntVector, seeds: int, induced_weight: float) -> Self:
        words, first, word_of = np.unique(pairs[:, 0], return_index=True, return_inverse=True)
        by_appearance = np.argsort(first)
        place = np.argsort(by_appearance)[word_of]
        order = np.argsort(place, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(place))])
        weights = np.where(first[by_appearance] < seeds, 1.0, induced_weight).astype(np.float32)
        return cls(words[by_appearance], starts, pairs[order, 1], weights)

    def batch(self, chosen: IntVector, lists: IntVector) -> tuple[IntVector, IntVector, npt.NDArray[np.bool_], Vector]:
        """The chosen words, all candidates (right and mined), which are right for which word, weights of sum 1."""
        words = self.words[chosen]
        counts = self.starts[chosen + 1] - self.starts[chosen]
        answers = np.concatenate([self.targets[self.starts[i] : self.starts[i + 1]] for i in chosen])
        candidates = np.unique(np.concatenate([answers, lists[words].ravel()]))
        right = np.zeros((len(words), len(candidates)), dtype=np.bool_)
        right[np.repeat(np.arange(len(words)), counts), np.searchsorted(candidates, answers)] = True
        weights = self.weights[chosen]
        return words, candidates, right, weights / max(float(weights.sum()), 1e-9)
