"""Linear translation between two embedding models without pairs, in the style of mini-vec2vec.

Dar 2025, "mini-vec2vec: scaling universal geometry alignment with linear transformations". For any two spaces of one
dimension: languages, or the same texts embedded by two models.

1. Both sides are clustered; the centres are anchors. Anchors are matched so that their similarities agree, a quadratic
   assignment. Several clusterings vote.
2. A vector's similarities to the matched anchors describe it the same way on both sides. Averaging the nearest
   descriptions of the other side gives each vector a rough counterpart, and Procrustes on these a first rotation.
3. The rotation is refined: on counterparts averaged over fewer and fewer neighbours; then on clusters of one side
   carried over to the other; then on mutual neighbours.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.refinement import refine_found
from isoglot.aligners.verdict import judged
from isoglot.retrieval import Retriever
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector, unit_rows


@method(
    "mini-vec2vec",
    "match cluster centres of two embedding models, then refine a rotation",
    supervision="unsupervised",
    linear=True,
    cost="runs of k-means and quadratic assignment of a few anchors, then products of `words` rows each round",
    paper="Dar 2025",
    iterative=True,
)
class MiniVec2Vec(Aligner):
    """Anchors, relative representations, averaged counterparts, Procrustes, three kinds of refinement.

    `info["anchor_agreement"]` is the correlation of matched anchors' similarities, mean over runs: near 1 where the two
    spaces have one shape, and the first thing to look at when the result is poor.

    Differs from the paper:
        - Clusterings start from dense places far from each other, so that a rotated copy of a space has the same
          clusters.
        - Runs whose anchors agree less count less.
        - A last refinement on mutual neighbours, and a comparison with chance, are added.

    Args:
        words: first rows of each side that take part until the last refinement.
        anchors: clusters a run; the quadratic assignment is solved well up to about 20.
        runs: clusterings, each from other seeds.
        restarts: of the quadratic assignment, of which the best counts.
        neighbours: that are averaged into a counterpart.
        neighbour_rounds: refinement on averaged counterparts.
        cluster_rounds: refinement on `clusters` carried over.
        clusters: how many of them.
        memory: share of the old map kept in each of these rounds.
        rounds: at most these of the last refinement, on mutual neighbours, until its criterion stalls; 0 leaves it out,
            as the paper does.
        frequent: words that the last refinement's dictionary may hold.

    >>> X = np.random.default_rng(0).normal(size=(150, 4)) * [4, 3, 2, 1]
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> alignment = MiniVec2Vec(normalise="unit").fit(X, (X @ turn)[::-1])
    >>> alignment.info["mutual"] > 0.9
    True
    """

    words: int = 10_000
    anchors: int = 20
    runs: int = 10
    restarts: int = 30
    neighbours: int = 20
    neighbour_rounds: int = 20
    cluster_rounds: int = 5
    clusters: int = 500
    memory: float = 0.5
    rounds: int = 50
    frequent: int = 15_000

    limits: ClassVar[Limits] = {
        "words": "[1, inf)",
        "anchors": "[1, inf)",
        "runs": "[1, inf)",
        "restarts": "[1, inf)",
        "neighbours": "[1, inf)",
        "clusters": "[1, inf)",
        "memory": "[0, 1)",
        "frequent": "[1, inf)",
    }

    def _fit(self, problem: Problem) -> Alignment:
        X, Y = problem.X[: self.words], problem.Y[: self.words]
        middle = self.neighbour_rounds + self.cluster_rounds
        saved = problem.checkpoint.load()
        facts: dict[str, Any] = dict(saved.facts) if saved else {"anchor_agreement": [], "middle": []}
        state = refine_found(
            problem,
            lambda: self._middle(problem, X, Y, facts),
            steps=self.runs + middle,
            facts=facts,
            rounds=self.rounds,
            frequent=self.frequent,
        )
        agreement = float(np.mean(facts["anchor_agreement"]))
        verdict = judged(problem, state.best, seed=self.seed)
        info = {**state.info, "anchor_agreement": agreement, "middle": facts["middle"], **verdict.info}
        return LinearAlignment.learned(W_src=state.best, info=info)

    def _described(
        self, problem: Problem, X: FloatMatrix, Y: FloatMatrix, facts: dict[str, Any]
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Relative representations (n, runs * anchors) of both sides; one checkpoint a run."""
        saved = problem.checkpoint.load()
        parts = [(saved.tensors["R"], saved.tensors["S"])] if saved else []
        k = min(self.anchors, len(X), len(Y))
        densities = [density_of(unit_rows(M)) for M in (X, Y)]
        for run in range(saved.step if saved else 0, self.runs):
            problem.progress("matching anchors", run, self.runs)
            centres = [
                cluster(M, M[spread_seeds(M, k, run, density)]) for M, density in zip((X, Y), densities, strict=True)
            ]
            order, agreement = match_anchors(
                *centres, restarts=self.restarts, rng=np.random.default_rng([self.seed, run])
            )
            parts.append((_standardised(X @ centres[0].T), _standardised(Y @ centres[1][order].T)))
            facts["anchor_agreement"].append(agreement)
            parts = [(np.hstack([r for r, _ in parts]), np.hstack([s for _, s in parts]))]
            problem.checkpoint.save(run + 1, {"R": parts[0][0], "S": parts[0][1]}, facts)
        problem.progress("matching anchors", self.runs, self.runs)
        # Descriptions from anchors that agree less are noisier, and weigh accordingly.
        weights = np.repeat(np.square(np.maximum(facts["anchor_agreement"], 0.0)), k).astype(np.float32)
        return parts[0][0] * weights, parts[0][1] * weights

    def _middle(self, problem: Problem, X: FloatMatrix, Y: FloatMatrix, facts: dict[str, Any]) -> FloatMatrix:
        """The first rotation, and its refinement on averaged counterparts and on clusters."""
        saved = problem.checkpoint.load()
        if saved and "W" in saved.tensors:
            W, first = saved.tensors["W"], saved.step - self.runs
        else:
            R, S = self._described(problem, X, Y, facts)
            there, back = counterparts(R, S, X, Y, self.neighbours)
            W, first = procrustes(np.vstack([X, back]), np.vstack([there, Y])), 0
        total = self.neighbour_rounds + self.cluster_rounds
        for step in range(first, total):
            problem.progress("refining on averages", step, total)
            if step < self.neighbour_rounds:
                # Neighbours get fewer as the map gets better: wide averages are safe, narrow ones exact.
                k = max(1, round(self.neighbours * (1 - step / self.neighbour_rounds)))
                there, back = counterparts(X @ W, Y, X, Y, k)
                A, B = np.vstack([X, back]), np.vstack([there, Y])
            else:
                mapped = X @ W
                seeds = cluster(mapped, mapped[spread_seeds(mapped, self.clusters, step)], steps=5)
                A, B = cluster(mapped, seeds, steps=1) @ W.T, cluster(Y, seeds, steps=1)
            before, W = W, _between(W, procrustes(A, B), self.memory)
            facts["middle"].append({"step": step, "change": float(np.abs(W - before).max())})
            problem.checkpoint.save(self.runs + step + 1, {"W": W}, facts)
        problem.progress("refining on averages", total, total)
        return W


def spread_seeds(X: FloatMatrix, k: int, run: int = 0, density: npt.NDArray[np.float32] | None = None) -> IntVector:
    """Rows that k-means starts from: dense places far from each other, the same ones in a turned copy of the space.

    Random seeds would lead the two sides to different clusters even where they have one shape. Runs begin at different
    rows, the next dense ones each. `density` saves its computation, see `density_of`.
    """
    unit = unit_rows(X)
    k = min(k, len(unit))
    density = density_of(unit) if density is None else density
    chosen = [int(np.argsort(-density, kind="stable")[run % len(unit)])]
    distance = 1 - unit @ unit[chosen[0]]
    while len(chosen) < k:
        score = distance * density
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
        distance = np.minimum(distance, 1 - unit @ unit[chosen[-1]])
    return np.array(chosen, dtype=np.int64)


def cluster(X: FloatMatrix, centres: FloatMatrix, *, steps: int = 20) -> FloatMatrix:
    """Spherical k-means from these centres (k, d): unit centres again; one that loses all its rows stays put."""
    unit, centres = unit_rows(X), unit_rows(centres)
    for _ in range(steps):
        nearest = np.argmax(unit @ centres.T, axis=1)
        sums = np.zeros(centres.shape, dtype=np.float64)
        np.add.at(sums, nearest, unit)
        lost = np.bincount(nearest, minlength=len(centres)) == 0
        updated = np.where(lost[:, None], centres, unit_rows(sums.astype(np.float32)))
        if np.array_equal(updated, centres):
            break
        centres = updated
    return centres


def match_anchors(
    A: FloatMatrix, B: FloatMatrix, *, restarts: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], float]:
    """Which row of B (k, d) each row of A (k, d) is, so that their similarities agree; and how well they do.

    The best of several quadratic assignments from random starts, at last improved by exchanging two anchors at a time.
    """
    from scipy.optimize import quadratic_assignment

    k = len(A)
    C, D = ((M @ M.T).astype(np.float64) for M in (A, B))
    best, most = np.arange(k), -np.inf
    for attempt in range(restarts):
        options: dict[str, Any] = {"maximize": True, "rng": rng}
        if attempt:
            options["P0"] = "randomized"
        found = quadratic_assignment(C, D, method="faq", options=options)
        if found.fun > most + 1e-9:
            best, most = found.col_ind.astype(np.int64), float(found.fun)
            if _agreement(C, D[np.ix_(best, best)]) > 0.99:
                break
    guess = np.stack([np.arange(k), best], axis=1)
    last = quadratic_assignment(C, D, method="2opt", options={"maximize": True, "rng": rng, "partial_guess": guess})
    best = last.col_ind.astype(np.int64)
    return best, _agreement(C, D[np.ix_(best, best)])


def counterparts(
    A: FloatMatrix, B: FloatMatrix, X: FloatMatrix, Y: FloatMatrix, k: int
) -> tuple[FloatMatrix, FloatMatrix]:
    """For each row of A (n, e) the mean of Y over the k rows of B (m, e) nearest to it by CSLS, and for each row of B
    that of X over the nearest rows of A; A and B describe X (n, d) and Y (m, d)."""
    there, back = Retriever(A, B, backend="auto").top_both(k)
    return _mean_rows(Y, there.indices), _mean_rows(X, back.indices)


def _mean_rows(values: FloatMatrix, rows: IntVector) -> FloatMatrix:
    """The mean (n, d) of each k rows (n, k) of `values`."""
    mean = np.zeros((len(rows), values.shape[1]), dtype=np.float32)
    for column in rows.T:
        mean += values[column]
    return mean / np.float32(rows.shape[1])


def _agreement(C: npt.NDArray[np.float64], D: npt.NDArray[np.float64]) -> float:
    """Correlation of the entries above the diagonal."""
    above = np.triu_indices(len(C), 1)
    first, second = (M[above] - M[above].mean() if len(C) > 1 else np.zeros(1) for M in (C, D))
    scale = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / scale if scale > 0 else 0.0


def density_of(unit: FloatMatrix, k: int = 10) -> npt.NDArray[np.float32]:
    """Mean similarity of each row to its k nearest rows."""
    if len(unit) < 3:
        return np.ones(len(unit), dtype=np.float32)
    retriever = Retriever(unit, unit, score="cosine", backend="auto")
    scores = retriever.top(min(k + 1, len(unit))).scores[:, 1:]  # the first is the row itself
    return np.asarray(np.maximum(scores.mean(axis=1), 1e-3), dtype=np.float32)


def _standardised(R: FloatMatrix) -> FloatMatrix:
    """Columns to mean 0 and variance 1: how near a word is to an anchor, as compared with other words."""
    spread = R.std(axis=0)
    return np.asarray((R - R.mean(axis=0)) / np.where(spread > 0, spread, 1), dtype=np.float32)


def _between(old: FloatMatrix, new: FloatMatrix, memory: float) -> FloatMatrix:
    """The rotation nearest to a mixture of two."""
    U, _, Vt = np.linalg.svd(memory * old.astype(np.float64) + (1 - memory) * new)
    return np.asarray(U @ Vt, dtype=np.float32)
