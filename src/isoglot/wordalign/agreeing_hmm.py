"""A hidden Markov model of word alignment in each direction; the two learn to agree, and may hear other evidence.

Each target word is said by one source word, or by none: which one depends on the words, and on where the word before
it came from (Vogel, Ney & Tillmann 1996). The opposite direction is learned at the same time, from the same counts of
links that both believe in (Liang, Taskar & Klein 2006), with a Dirichlet prior on the translations, by variational
Bayes (Riley & Gildea 2012). Evidence about single pairs of words, such as the similarity of their vectors in this very
sentence, multiplies the probability that one says the other.

Differs from the papers: agreement is the geometric mean of the two posteriors, not their product; the prior of a pair
may be raised, for what a dictionary knows.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import digamma

from isoglot.progress import Progress, silent

FloatVector = npt.NDArray[np.float64]
IntVector = npt.NDArray[np.int64]

#: Longer jumps are as probable as this one.
LONGEST_JUMP = 40
#: Probability that a word comes from no word.
UNLINKED = 0.1
ITERATIONS = 6


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """All pairs of words of all sentence pairs: cell `offsets[k] + i * m + j` is word i with word j of pair k.

    words: of the two sides, numbers of words, sentence after sentence; begins: where each sentence starts in them.
    pair: of each cell, the number of its pair of different words; pairs: (2, number of pairs), the words of each.
    """

    words: tuple[IntVector, IntVector]
    begins: tuple[IntVector, IntVector]
    offsets: IntVector
    pair: npt.NDArray[np.int32]
    pairs: IntVector
    vocabularies: tuple[tuple[str, ...], tuple[str, ...]]

    @classmethod
    def of(cls, src: Sequence[Sequence[str]], tgt: Sequence[Sequence[str]]) -> Cells:
        """Those of two sides as lists of words.

        >>> cells = Cells.of([["a", "b"], ["a"]], [["x"], ["x", "y"]])
        >>> cells.pair.tolist(), cells.pairs.tolist()
        ([0, 2, 0, 1], [[0, 0, 1], [0, 1, 0]])
        """
        numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        sides = [
            [np.array([known.setdefault(word, len(known)) for word in sentence], dtype=np.int64) for sentence in side]
            for known, side in zip(numbers, (src, tgt), strict=True)
        ]
        size = max(len(numbers[1]), 1)
        empty = np.zeros(0, dtype=np.int64)
        keys = np.concatenate([empty, *((a[:, None] * size + b).ravel() for a, b in zip(*sides, strict=True))])
        distinct, pair = np.unique(keys, return_inverse=True)
        lengths = [np.array([len(sentence) for sentence in side], dtype=np.int64) for side in sides]
        return cls(
            (np.concatenate([empty, *sides[0]]), np.concatenate([empty, *sides[1]])),
            (_starts(lengths[0]), _starts(lengths[1])),
            _starts(lengths[0] * lengths[1]),
            pair.astype(np.int32),
            np.stack([distinct // size, distinct % size]),
            (tuple(numbers[0]), tuple(numbers[1])),
        )

    def matrix(self, values: npt.NDArray[Any], number: int) -> npt.NDArray[Any]:
        """Of values of all cells, those of one sentence pair (n, m)."""
        n, m = (int(begins[number + 1] - begins[number]) for begins in self.begins)
        return values[self.offsets[number] : self.offsets[number + 1]].reshape(n, m)


def agreeing_hmm(
    cells: Cells,
    evidence: npt.NDArray[np.float32],
    null: float,
    *,
    smoothing: float = 0.1,
    known: FloatVector | None = None,
    iterations: int = ITERATIONS,
    progress: Progress = silent,
) -> npt.NDArray[np.float32]:
    """Probability of each cell to be a link: the geometric mean of the two directions' posteriors.

    Args:
        evidence: of each cell, a logarithm; 0 everywhere if there is none.
        null: evidence for no link.
        smoothing: pseudo-count of every pair of words. The fewer the sentences and the better the evidence, the larger.
        known: pseudo-counts of pairs that a dictionary has, added to it.
    """
    pseudo = smoothing + (np.zeros(cells.pairs.shape[1]) if known is None else known)
    shares = [np.bincount(side, minlength=1) / max(len(side), 1) for side in cells.words]
    steps = np.arange(-LONGEST_JUMP, LONGEST_JUMP + 1)
    forward_jumps = np.exp(-np.abs(steps - 1) / 2) + 0.02
    backward_jumps = forward_jumps.copy()
    counts: npt.NDArray[Any] = _dice(cells)
    agreed = np.zeros(len(cells.pair), dtype=np.float32)
    for iteration in range(iterations):
        forward, backward = (_translations(counts + pseudo, given) for given in cells.pairs)
        seen = np.full((2, len(steps)), 0.5)
        _sweep(
            cells.words[0], cells.words[1], cells.begins[0], cells.begins[1], cells.offsets, cells.pair, evidence,
            math.exp(null), forward, backward, shares[0], shares[1], forward_jumps, backward_jumps, seen, agreed,
        )  # fmt: skip
        forward_jumps, backward_jumps = seen / seen.sum(axis=1, keepdims=True)
        counts = np.bincount(cells.pair, agreed, minlength=len(pseudo))
        progress("learning to agree", iteration + 1, iterations)
    return agreed


def _starts(lengths: IntVector) -> IntVector:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])


def _dice(cells: Cells) -> FloatVector:
    """How much the words of a pair keep to each other: what learning starts from."""
    together = np.bincount(cells.pair, minlength=cells.pairs.shape[1]).astype(np.float64)
    src, tgt = (np.bincount(side, minlength=1)[words] for side, words in zip(cells.words, cells.pairs, strict=True))
    return np.asarray(np.minimum(together, np.minimum(src, tgt)) ** 2 / (src * tgt))


def _translations(counts: FloatVector, given: IntVector) -> FloatVector:
    """Probability of a pair's one word given the other, of the middle of the posterior: digamma instead of log."""
    totals = np.bincount(given, counts)
    return np.asarray(np.exp(digamma(counts) - digamma(totals)[given]))


@njit(cache=True)
def _sweep(
    src: Any, tgt: Any, src_begins: Any, tgt_begins: Any, offsets: Any, pair: Any, evidence: Any, null: float,
    forward: Any, backward: Any, src_shares: Any, tgt_shares: Any, forward_jumps: Any, backward_jumps: Any,
    seen: Any, agreed: Any,
) -> None:  # fmt: skip
    """Posteriors of all sentences, in both directions, into `agreed`; expected jumps are added to `seen`."""
    for k in range(len(offsets) - 1):
        n, m = src_begins[k + 1] - src_begins[k], tgt_begins[k + 1] - tgt_begins[k]
        if n == 0 or m == 0:
            continue
        ahead, back = np.empty((m, n)), np.empty((n, m))
        for i in range(n):
            for j in range(m):
                cell = offsets[k] + i * m + j
                weight = math.exp(evidence[cell])
                ahead[j, i] = forward[pair[cell]] * weight
                back[i, j] = backward[pair[cell]] * weight
        ahead_null, back_null = np.empty(m), np.empty(n)
        for j in range(m):
            ahead_null[j] = tgt_shares[tgt[tgt_begins[k] + j]] * null
        for i in range(n):
            back_null[i] = src_shares[src[src_begins[k] + i]] * null
        P = posteriors(ahead, ahead_null, forward_jumps, seen[0])
        Q = posteriors(back, back_null, backward_jumps, seen[1])
        for i in range(n):
            for j in range(m):
                agreed[offsets[k] + i * m + j] = math.sqrt(P[j, i] * Q[i, j])


@njit(cache=True)
def posteriors(emissions: Any, unlinked: Any, jumps: Any, seen: Any) -> Any:
    """Probabilities (m, n) that word j came from word i, by forward and backward sums; expected jumps go to `seen`.

    A word from nowhere (`unlinked`) leaves the place where the last one came from as it was.
    """
    m, n = emissions.shape
    moves = np.empty((n, n))
    for a in range(n):
        total = 0.0
        for i in range(n):
            moves[a, i] = jumps[_step(i - a)]
            total += moves[a, i]
        for i in range(n):
            moves[a, i] *= (1 - UNLINKED) / total
    start = np.empty(n)  # as if the word before the first one came from before the first one
    for i in range(n):
        start[i] = jumps[_step(i + 1)]
    start /= start.sum()
    linked, loose, scale = np.zeros((m, n)), np.empty((m, n)), np.empty(m)
    for j in range(m):
        for i in range(n):
            if j == 0:
                linked[0, i] = start[i] * (1 - UNLINKED)
                loose[0, i] = start[i] * UNLINKED * unlinked[0]
            else:
                loose[j, i] = (linked[j - 1, i] + loose[j - 1, i]) * UNLINKED * unlinked[j]
        if j > 0:
            for a in range(n):
                mass = linked[j - 1, a] + loose[j - 1, a]
                for i in range(n):
                    linked[j, i] += mass * moves[a, i]
        total = 0.0
        for i in range(n):
            linked[j, i] *= emissions[j, i]
            total += linked[j, i] + loose[j, i]
        scale[j] = total
        for i in range(n):
            linked[j, i] /= total
            loose[j, i] /= total
    found = np.empty((m, n))
    later, earlier = np.ones(n), np.empty(n)
    for j in range(m - 1, -1, -1):
        for i in range(n):
            found[j, i] = min(1.0, linked[j, i] * later[i])
        if j == 0:
            break
        for a in range(n):
            mass = (linked[j - 1, a] + loose[j - 1, a]) / scale[j]
            total = UNLINKED * unlinked[j] * later[a]
            for i in range(n):
                path = moves[a, i] * emissions[j, i] * later[i]
                total += path
                seen[_step(i - a)] += mass * path
            earlier[a] = total / scale[j]
        later[:] = earlier
    return found


@njit(cache=True)
def _step(jump: int) -> int:
    return min(max(jump, -LONGEST_JUMP), LONGEST_JUMP) + LONGEST_JUMP
