"""Did it work? For methods that have no pairs to check themselves against.

Self-learning makes any map look better, as it looks for pairs that are close and brings them closer. So a result is
compared with what comes out of random rotations after the same: if its dictionary is not clearly closer than theirs, it
is reported as not aligned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners.base import Problem
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.refinement import induce, refine
from isoglot.aligners.self_learning.rounds import annealed
from isoglot.retrieval import EUCLIDEAN_SCORES, Retriever
from isoglot.spaces import FloatMatrix, IntVector

#: Random rotations that learn, to see what chance looks like.
CHANCE_RUNS = 2
#: Rounds of refinement after that, and of the result itself.
ROUNDS = 10
#: How far above chance a criterion must lie, as a share of the way from there to the criterion's largest value, 1.
MARGIN = 0.05
#: The same for the Euclidean scores. In a plane nothing is far from anything, so criteria crowd below 1 and random
#: rotations differ much in what is left. On simulated planes that it was not chosen on, 3 of 40 unrelated pairs passed
#: this margin and 37 the other; 40 of 40 turned copies with noise passed it.
EUCLIDEAN_MARGIN = 0.5
#: How much better unseen pairs must be found than by chance: so many times as often, and by this share of all at least.
#: On simulated spaces, 600 to 3,000 words and 64 to 384 dimensions, related ones had .58 to .95 where chance had .01 to
#: .21; vectors hardly moved from where training began had up to .15, where chance had .10.
UNSEEN_TIMES, UNSEEN_MARGIN = 2.0, 0.1
#: Parts that the pairs are cut into, each unseen once.
FOLDS = 5
#: Maps that translate this share of words alike are taken for the same.
SAME = 0.5
#: Most frequent words of each side that are looked at.
WORDS = 5_000
#: The same, and rounds of refinement, where a few seconds have to do.
QUICK_WORDS, QUICK_ROUNDS = 3_000, 5


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether a criterion is clearly above chance, and a sentence about it."""

    aligned: bool
    reason: str
    chance: float

    @property
    def info(self) -> dict[str, Any]:
        told = {"aligned": self.aligned, "verdict": self.reason, "chance": self.chance}
        return told if self.aligned else {**told, "warning": f"not aligned: {self.reason}"}


def judge(criterion: float, chance: npt.NDArray[np.float64], margin: float = MARGIN, *, score: str = "csls") -> Verdict:
    """Compare the semantic criterion of a refined map with those of random rotations after self-learning, (runs,).

    >>> judge(0.6, np.array([0.38, 0.4])).aligned, judge(0.42, np.array([0.38, 0.4])).aligned
    (True, False)
    """
    what = "concordance" if score in EUCLIDEAN_SCORES else "mean cosine"
    level = float(chance.max())
    needed = level + margin * (1 - level)
    aligned = criterion >= needed
    how = "at least" if aligned else "below"
    reason = (
        f"the induced dictionary's {what} is {criterion:.3f}, {how} the {needed:.3f} that would be "
        f"clearly above chance ({level:.3f}, what self-learning makes of random rotations)"
    )
    return Verdict(aligned, reason, level)


def judged(
    problem: Problem,
    W_src: FloatMatrix | None,
    W_tgt: FloatMatrix | None = None,
    *,
    seed: int = 0,
    score: str = "csls",
) -> Verdict:
    """The verdict on maps W_src (d, k) and W_tgt (d, k), none for the identity, of frequent words of the problem."""
    X, Y = problem.X[:WORDS], problem.Y[:WORDS]
    there, back = (M if W is None else M @ W for M, W in ((X, W_src), (Y, W_tgt)))
    return judged_mapped(problem, there, back, seed=seed, score=score)


def judged_mapped(
    problem: Problem, there: FloatMatrix, back: FloatMatrix, *, seed: int = 0, score: str = "csls"
) -> Verdict:
    """The verdict on any maps, of which the first `WORDS` rows of X and Y after mapping are given: (n, k) and (m, k).

    Maps that stretch the space have cosines of their own, so what is compared is the rotation that the maps' dictionary
    gives, refined. Where even random rotations end in the very same dictionary, that is no chance but confirmation.
    """
    X, Y = problem.X[:WORDS], problem.Y[:WORDS]
    pairs = induce(there, back, np.eye(there.shape[1], dtype=np.float32), score=score).pairs
    if not len(pairs):
        return Verdict(False, "no two frequent words choose each other", 0.0)

    def learned(run: int) -> FloatMatrix:
        problem.progress("comparing with chance", run, CHANCE_RUNS)
        return annealed(X, Y, _random_rotation(X.shape[1], seed, run), seed=seed, score=score)

    verdict = _compared(X, Y, pairs, learned, ROUNDS, score)
    problem.progress("comparing with chance", CHANCE_RUNS, CHANCE_RUNS)
    return verdict


def judged_pairs(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, *, seed: int = 0, score: str = "csls") -> Verdict:
    """A quick verdict on induced pairs (p, 2) of rows of X (n, d) and Y (m, d), most frequent words first.

    Their rotation and random ones are refined alike; nothing else is learned from chance. So it suits pairs that have
    not been through long self-learning, such as the mutual neighbours of vectors where they are.

    >>> X = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    >>> pairs = np.stack([np.arange(200)] * 2, axis=1)
    >>> judged_pairs(X, X, pairs).aligned, judged_pairs(X, X[::-1] ** 2, pairs).aligned
    (True, False)
    """
    X, Y = X[:QUICK_WORDS], Y[:QUICK_WORDS]
    pairs = pairs[(pairs[:, 0] < len(X)) & (pairs[:, 1] < len(Y))]
    if not len(pairs):
        return Verdict(False, "no two frequent words choose each other", 0.0)
    return _compared(X, Y, pairs, lambda run: _random_rotation(X.shape[1], seed, run), QUICK_ROUNDS, score)


def judged_unseen(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, *, seed: int = 0) -> Verdict:
    """Whether mutual neighbours (p, 2) of X (n, d) and Y (m, d) where they are tell more than that they are neighbours.

    Two spaces without any word in common still have mutual neighbours, and these lie closer than random rotations would
    have it if both have, say, one direction for frequency. But what some of them say of the others is then nothing: a
    rotation learned from four fifths does not find the last fifth, any more than where one side was turned at random.

    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2, 300, 40)).astype(np.float32)
    >>> near = X + 0.5 * Y
    >>> own, none = (induce(X, other, np.eye(40, dtype=np.float32)).pairs for other in (near, Y))
    >>> judged_unseen(X, near, own).aligned, judged_unseen(X, Y, none).aligned
    (True, False)
    """
    X, Y = X[:QUICK_WORDS], Y[:QUICK_WORDS]
    pairs = pairs[(pairs[:, 0] < len(X)) & (pairs[:, 1] < len(Y))]
    share = _unseen_found(X, Y, pairs, seed)
    levels = []
    for run in range(CHANCE_RUNS):
        turned = X @ _random_rotation(X.shape[1], seed, run)
        levels.append(_unseen_found(turned, Y, induce(turned, Y, np.eye(X.shape[1], dtype=np.float32)).pairs, seed))
    chance = max(levels)
    needed = max(UNSEEN_TIMES * chance, chance + UNSEEN_MARGIN)
    aligned = share >= min(needed, 0.9)
    reason = (
        f"a rotation learned from four fifths of the induced pairs finds {share:.1%} of the others, "
        f"{'at least' if aligned else 'below'} the {min(needed, 0.9):.1%} that would be clearly above chance "
        f"({chance:.1%}, what it finds after a random rotation)"
    )
    return Verdict(aligned, reason, chance)


def _unseen_found(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, seed: int) -> float:
    """The share of pairs that a rotation learned from the others finds by CSLS."""
    found = 0
    for part in np.array_split(np.random.default_rng(seed).permutation(len(pairs)), min(FOLDS, len(pairs))):
        others = np.delete(pairs, part, axis=0)
        if not len(others):
            return 0.0
        W = procrustes(X[others[:, 0]], Y[others[:, 1]])
        nearest = Retriever(X @ W, Y).top(1, rows=pairs[part, 0]).indices[:, 0]
        found += int((nearest == pairs[part, 1]).sum())
    return found / len(pairs) if len(pairs) else 0.0


def _compared(
    X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, by_chance: Callable[[int], FloatMatrix], rounds: int, score: str
) -> Verdict:
    """The rotation that the pairs give against those of chance, all refined for so many rounds."""
    own = refine(X, Y, procrustes(X[pairs[:, 0]], Y[pairs[:, 1]]), rounds=rounds, score=score)
    others = []
    for run in range(CHANCE_RUNS):
        other = refine(X, Y, by_chance(run), rounds=rounds, score=score)
        if _agreement(X, Y, own.best, other.best, score) < SAME:
            others.append(other.criterion)
    if not others:
        return Verdict(True, "self-learning from random rotations finds the same dictionary", own.criterion)
    margin = EUCLIDEAN_MARGIN if score in EUCLIDEAN_SCORES else MARGIN
    return judge(own.criterion, np.array(others), margin, score=score)


def chance_level(
    X: FloatMatrix,
    Y: FloatMatrix,
    *,
    seed: int = 0,
    runs: int = 3,
    rounds: int = ROUNDS,
    score: str = "csls",
    backend: str = "auto",
) -> npt.NDArray[np.float64]:
    """Semantic criteria (runs,) of random rotations refined for so many rounds: a quick idea of what chance gives.

    >>> X = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    >>> chance_level(X, X[::-1], runs=2, rounds=1).shape
    (2,)
    """
    turns = [_random_rotation(X.shape[1], seed, run) for run in range(runs)]
    return np.array([refine(X, Y, turn, rounds=rounds, score=score, backend=backend).criterion for turn in turns])


def _random_rotation(d: int, seed: int, run: int) -> FloatMatrix:
    rng = np.random.default_rng([seed, run])
    turn: FloatMatrix = np.linalg.qr(rng.normal(size=(d, d)))[0].astype(np.float32)
    return turn


def _agreement(X: FloatMatrix, Y: FloatMatrix, W: FloatMatrix, V: FloatMatrix, score: str) -> float:
    """The share of the words of X that both maps translate alike."""
    first, second = (Retriever(X @ M, Y, score=score).top(1).indices[:, 0] for M in (W, V))
    return float(np.mean(first == second))
