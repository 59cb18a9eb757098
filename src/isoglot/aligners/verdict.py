"""Did it work? For methods that have no pairs to check themselves against.

Self-learning makes any map look better, as it looks for pairs that are close and brings them closer. So a result is
compared with what becomes of random rotations, in two ways. Is its dictionary clearly closer than theirs? And does it
tell of words that it has not seen? For that, maps are learned from half of the source words, and asked for the
dictionary's translations of the other half: right maps agree with each other, those of chance only as far as one
geometry goes.

Both gains over chance give the answer and the P@1 to expect, by coefficients that come from cases with known
truth: benchmarks/verdict.py makes them, docs/results.md has the table.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from isoglot.aligners.base import Problem
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.refinement import PATIENCE, refine
from isoglot.aligners.self_learning.rounds import annealed
from isoglot.progress import Progress, silent
from isoglot.retrieval import EUCLIDEAN_SCORES, Retriever
from isoglot.spaces import FloatMatrix, IntVector

#: Random rotations that learn, to see what chance looks like.
CHANCE_RUNS = 2
#: At most so many rounds of refinement after that, and of the result itself; half of them for maps of half the words.
ROUNDS = 15
#: How far above chance a criterion must lie, as a share of the way from there to the criterion's largest value, 1.
MARGIN = 0.05
#: The same for the Euclidean scores. In a plane nothing is far from anything, so criteria crowd below 1 and random
#: rotations differ much in what is left. On simulated planes that it was not chosen on, 3 of 40 unrelated pairs passed
#: this margin and 37 the other; 40 of 40 turned copies with noise passed it.
EUCLIDEAN_MARGIN = 0.5
#: Maps that translate this share of words alike are taken for the same.
SAME = 0.5
#: The evidence of a map that random rotations find too: the most that both gains can add up to.
CERTAIN = 2.0
#: Most frequent words of each side that are looked at.
WORDS = 3_000
#: Of `judged_given`: parts that pairs are cut into, each unseen once, and the standard errors that count as clear.
FOLDS, ERRORS = 5, 4.0
#: What the gains of both signs must add up to. In `benchmarks/verdict.py` the most that maps of chance and wrong ones
#: came to was .195 (noise of 50 dimensions; .085 beyond), the least of a good one .238; fewer words are more a matter
#: of luck.
NEEDED = 0.22
#: From `benchmarks/verdict.py --fit`. P@1 as a share of `Signs.found`, half of the real cases above and half below (of
#: simulated ones more are above); the ends of an interval that holds 90% of all cases; and what that interval is wider
#: by on both sides, for maps that find nothing.
EXPECTED, EXPECTED_ENDS, EXPECTED_SLACK = 0.77, (0.71, 1.73), 0.026


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether a result is clearly above chance, and a sentence about it.

    chance: the criterion of chance. expected: the P@1 to expect, and the ends of its 90% interval; none where that is
    not known. evidence: what both gains over chance add up to.
    """

    aligned: bool
    reason: str
    chance: float
    expected: tuple[float, float, float] | None = None
    evidence: float = 0.0

    @property
    def info(self) -> dict[str, Any]:
        told: dict[str, Any] = {"aligned": self.aligned, "verdict": self.reason, "chance": self.chance}
        if self.expected is not None:
            told["expected_p1"] = dict(zip(("value", "low", "high"), self.expected, strict=True))
        return told if self.aligned else {**told, "warning": f"not aligned: {self.reason}"}


@dataclasses.dataclass(frozen=True)
class Signs:
    """What can be seen of a map without pairs, and the most that chance has of the first two.

    criterion: mean cosine of the dictionary of the refined map. unseen: share of that dictionary which maps find that
    were learned from other source words. kept: share of it that the map itself has before it is refined.
    """

    criterion: float
    unseen: float
    kept: float
    chance_criterion: float
    chance_unseen: float

    @property
    def gains(self) -> tuple[float, float]:
        """How far above chance each is, as a share of the way from there to 1."""
        return (
            (self.criterion - self.chance_criterion) / max(1 - self.chance_criterion, 1e-6),
            (self.unseen - self.chance_unseen) / max(1 - self.chance_unseen, 1e-6),
        )

    @property
    def found(self) -> float:
        """Share of a dictionary that holds for unseen words which the map itself has: on known cases near its P@1."""
        return max(0.0, self.gains[1]) * self.kept


@dataclasses.dataclass(frozen=True, eq=False)
class Chance:
    """What becomes of random rotations between X (n, d) and Y (m, d): the same for all maps that are to be judged."""

    X: FloatMatrix
    Y: FloatMatrix
    seed: int
    score: str
    maps: tuple[FloatMatrix, ...]
    criteria: tuple[float, ...]
    unseen: tuple[float, ...]

    @classmethod
    def of(
        cls, X: FloatMatrix, Y: FloatMatrix, *, seed: int = 0, score: str = "csls", progress: Progress = silent
    ) -> Self:
        """Random rotations after self-learning and refinement."""
        states = []
        for run in range(CHANCE_RUNS):
            progress("comparing with chance", run, CHANCE_RUNS)
            turn = annealed(X, Y, _random_rotation(X.shape[1], seed, run), seed=seed, score=score)
            states.append(refine(X, Y, turn, rounds=ROUNDS, patience=PATIENCE, score=score))
        maps = tuple(state.best for state in states)
        unseen = tuple(_unseen_found(X, Y, _mutual(X @ W, Y, score), seed, score) for W in maps)
        progress("comparing with chance", CHANCE_RUNS, CHANCE_RUNS)
        return cls(X, Y, seed, score, maps, tuple(state.criterion for state in states), unseen)

    def signs(self, pairs: IntVector) -> Signs | None:
        """Those of the map that has these mutual translations (p, 2); none if random rotations find it too."""
        X, Y = self.X, self.Y
        own = refine(
            X,
            Y,
            procrustes(X[pairs[:, 0]], Y[pairs[:, 1]]),
            rounds=ROUNDS,
            patience=PATIENCE,
            score=self.score,
        )
        others = [i for i, W in enumerate(self.maps) if _agreement(X, Y, own.best, W, self.score) < SAME]
        if not others:
            return None
        refined = _mutual(X @ own.best, Y, self.score)
        places = [first * len(Y) + second for first, second in (pairs.T, refined.T)]
        return Signs(
            own.criterion,
            _unseen_found(X, Y, refined, self.seed, self.score),
            float(np.isin(places[1], places[0]).mean()) if len(refined) else 0.0,
            max(self.criteria[i] for i in others),
            max(self.unseen[i] for i in others),
        )

    def judged(self, there: FloatMatrix, back: FloatMatrix) -> Verdict:
        """The verdict on X and Y as they are after mapping, (n, k) and (m, k)."""
        return self.judged_pairs(_mutual(there, back, self.score))

    def judged_pairs(self, pairs: IntVector) -> Verdict:
        """The verdict on the map that has these mutual translations (p, 2)."""
        if not len(pairs):
            return Verdict(False, "no two frequent words choose each other", 0.0)
        signs = self.signs(pairs)
        if signs is None:
            return Verdict(
                True, "self-learning from random rotations finds the same dictionary", max(self.criteria), None, 2.0
            )
        if self.score in EUCLIDEAN_SCORES:
            return judge(signs.criterion, np.array([signs.chance_criterion]), EUCLIDEAN_MARGIN, score=self.score)
        return decide(signs, min(len(self.X), len(self.Y)))


def decide(signs: Signs, words: int = WORDS) -> Verdict:
    """Yes or no, and the P@1 to expect, by the coefficients that known cases gave; `words`: of the smaller side.

    >>> decide(Signs(0.6, 0.9, 0.8, 0.4, 0.45)).aligned, decide(Signs(0.41, 0.46, 0.8, 0.4, 0.45)).aligned
    (True, False)
    """
    criterion, unseen = signs.gains
    evidence = criterion + unseen
    aligned = evidence >= NEEDED * max(1.0, (WORDS / words) ** 0.5)
    value = min(1.0, EXPECTED * signs.found)
    low = max(0.0, EXPECTED_ENDS[0] * value - EXPECTED_SLACK)
    high = min(1.0, EXPECTED_ENDS[1] * value + EXPECTED_SLACK)
    reason = (
        f"the induced dictionary's mean cosine is {signs.criterion:.3f} where chance has {signs.chance_criterion:.3f}, "
        f"and maps of half the words find {signs.unseen:.0%} of the other half's translations again where chance finds "
        f"{signs.chance_unseen:.0%}; together that is {'clearly' if aligned else 'not clearly'} above chance "
        f"(expected P@1 {value:.2f}, {low:.2f} to {high:.2f})"
    )
    return Verdict(aligned, reason, signs.chance_criterion, (value, low, high), evidence)


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
    return Chance.of(X, Y, seed=seed, score=score, progress=problem.progress).judged(there[:WORDS], back[:WORDS])


def judged_pairs(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, *, seed: int = 0, score: str = "csls") -> Verdict:
    """The verdict on induced pairs (p, 2) of rows of X (n, d) and Y (m, d), most frequent words first.

    >>> X = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    >>> pairs = np.stack([np.arange(200)] * 2, axis=1)
    >>> judged_pairs(X, X, pairs).aligned, judged_pairs(X, X[::-1] ** 2, pairs).aligned
    (True, False)
    """
    X, Y = X[:WORDS], Y[:WORDS]
    pairs = pairs[(pairs[:, 0] < len(X)) & (pairs[:, 1] < len(Y))]
    return Chance.of(X, Y, seed=seed, score=score).judged_pairs(pairs)


def judged_given(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, *, seed: int = 0) -> Verdict:
    """The verdict on pairs (p, 2) that were found elsewhere, on other vectors: do X (n, d) and Y (m, d) confirm them?

    What X and Y would find by themselves does not matter here. A rotation learned from four fifths of the pairs must
    find more of the last fifth than one learned from the same words in other pairs, by `ERRORS` standard errors.

    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2, 300, 20)).astype(np.float32)
    >>> pairs = np.stack([np.arange(300)] * 2, axis=1)
    >>> judged_given(X, X + 0.5 * Y, pairs).aligned, judged_given(X, Y, pairs).aligned
    (True, False)
    """
    rng = np.random.default_rng(seed)
    mixed = np.stack([pairs[:, 0], rng.permutation(pairs[:, 1])], axis=1)
    parts = np.array_split(rng.permutation(len(pairs)), min(FOLDS, len(pairs)))
    shares = []
    for known in (pairs, mixed):
        found = 0
        for part in parts if len(parts) > 1 else []:
            others = np.delete(known, part, axis=0)
            mapped = X @ procrustes(X[others[:, 0]], Y[others[:, 1]])
            nearest = Retriever(mapped, Y).top(1, rows=known[part, 0]).indices[:, 0]
            found += int((nearest == known[part, 1]).sum())
        shares.append(found / max(len(pairs), 1))
    share, chance = shares
    error = float(np.sqrt(sum(one * (1 - one) for one in shares) / max(len(pairs), 1)))
    aligned = share > chance + ERRORS * error
    reason = (
        f"a rotation learned from four fifths of the pairs finds {share:.1%} of the others, "
        f"{'clearly' if aligned else 'not clearly'} more than where words were paired at random ({chance:.1%})"
    )
    return Verdict(aligned, reason, chance)


def _mutual(there: FloatMatrix, back: FloatMatrix, score: str) -> IntVector:
    """Rows (p, 2) that choose each other."""
    forward, backward = (found.indices[:, 0] for found in Retriever(there, back, score=score).top_both(1))
    rows = np.flatnonzero(backward[forward] == np.arange(len(forward)))
    return np.stack([rows, forward[rows]], axis=1)


def _unseen_found(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, seed: int, score: str) -> float:
    """The share of pairs (p, 2) that maps find which were learned from the other half of X's rows."""
    half = np.random.default_rng(seed).permutation(len(X)) < len(X) / 2
    found = 0
    for seen in (half, ~half):
        known = seen[pairs[:, 0]]
        if not known.any() or known.all():
            continue
        W = procrustes(X[pairs[known, 0]], Y[pairs[known, 1]])
        W = refine(X[seen], Y, W, rounds=ROUNDS // 2, patience=PATIENCE, score=score).best
        nearest = Retriever(X @ W, Y, score=score).top(1, rows=pairs[~known, 0]).indices[:, 0]
        found += int((nearest == pairs[~known, 1]).sum())
    return found / max(len(pairs), 1)


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
