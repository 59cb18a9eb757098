"""Wasserstein-Procrustes: find which word matches which and the rotation together, without pairs.

Grave, Joulin & Berthet 2019, "Unsupervised alignment of embeddings with Wasserstein Procrustes". Three stages:

1. a convex relaxation: the doubly stochastic P that makes the two similarity matrices agree, ||K_X P - P K_Y||, by
   Frank-Wolfe on a few thousand frequent words; its rotation starts the rest;
2. steps on random batches: transport between the mapped batches, a gradient step of the rotation, back onto the
   orthogonal matrices; batches double in size;
3. refinement on mutual neighbours over the whole vocabulary.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.refinement import nearest_rotation, refine_found
from isoglot.aligners.transport.plans import transport_plan
from isoglot.aligners.verdict import judged
from isoglot.progress import Progress, silent
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix

#: Regularisation of the relaxation's steps, first and last, as a share of the spread of its gradient.
BLUR = (0.2, 0.005)


@method(
    "wasserstein-procrustes",
    "find matching and rotation together by optimal transport on growing batches",
    supervision="unsupervised",
    linear=True,
    cost="Frank-Wolfe on start_words² plans, then transport between batches, then refinement",
    paper="Grave et al. 2019",
    iterative=True,
)
class WassersteinProcrustes(Aligner):
    """Convex start, stochastic Wasserstein-Procrustes, refinement by mutual neighbours.

    Differs from the paper:
        - The regularisation of the convex start is halved whenever a step brings little.
        - Batches stop growing at `largest_batch`.
        - The rotation is compared with chance at the end.

    Args:
        start_words: most frequent words in the convex relaxation; 0 starts at the identity instead.
        start_steps: of Frank-Wolfe.
        words: most frequent words that batches are drawn from.
        batch: size of the first epoch's batches; every epoch doubles it, up to `words` and `largest_batch`.
        largest_batch: where doubling ends.
        epochs: of stochastic steps.
        steps: in the first epoch; every epoch halves them, so that all cost about the same twice over.
        learning_rate: of the rotation, beside gradients of about its own size.
        epsilon: regularisation of the transport plans between unit vectors.
        rounds: of refinement at most; it ends when its criterion stalls.
        frequent: words that the refinement's dictionary may hold.

    >>> X = np.random.default_rng(0).normal(size=(150, 4)) * [4, 3, 2, 1]
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> alignment = WassersteinProcrustes(normalise="unit").fit(X, (X @ turn)[::-1])
    >>> alignment.info["mutual"] > 0.9
    True
    """

    start_words: int = 2000
    start_steps: int = 60
    words: int = 20_000
    batch: int = 500
    largest_batch: int = 4000
    epochs: int = 5
    steps: int = 200
    learning_rate: float = 1.0
    epsilon: float = 0.05
    rounds: int = 50
    frequent: int = 15_000

    limits: ClassVar[Limits] = {
        "words": "[1, inf)",
        "batch": "[1, inf)",
        "largest_batch": "[1, inf)",
        "steps": "[1, inf)",
        "learning_rate": "(0, inf)",
        "epsilon": "(0, inf)",
        "frequent": "[1, inf)",
    }

    def _fit(self, problem: Problem) -> Alignment:
        saved = problem.checkpoint.load()
        history: list[dict[str, Any]] = list(saved.facts["epochs"]) if saved else []
        state = refine_found(
            problem,
            lambda: self._transported(problem, history),
            steps=self.epochs + 1,
            facts={"epochs": history},
            rounds=self.rounds,
            frequent=self.frequent,
        )
        verdict = judged(problem, state.best, seed=self.seed)
        return LinearAlignment.learned(W_src=state.best, info={**state.info, "epochs": history, **verdict.info})

    def _transported(self, problem: Problem, history: list[dict[str, Any]]) -> FloatMatrix:
        """The rotation after both first stages; a checkpoint after the start and after each epoch."""
        saved = problem.checkpoint.load()
        if saved:
            W, first = saved.tensors["W"], saved.step - 1
        else:
            W, first = self._start(problem), 0
            problem.checkpoint.save(1, {"W": W}, {"epochs": history})
        X, Y = problem.X[: self.words], problem.Y[: self.words]
        for epoch in range(first, self.epochs):
            W, cost = stochastic_epoch(
                X,
                Y,
                W,
                batch=min(self.batch << epoch, self.largest_batch),
                steps=max(1, self.steps >> epoch),
                learning_rate=self.learning_rate,
                epsilon=self.epsilon,
                rng=np.random.default_rng([self.seed, epoch]),
                progress=problem.progress,
            )
            history.append({"epoch": epoch, "similarity": cost})
            problem.checkpoint.save(epoch + 2, {"W": W}, {"epochs": history})
        return W

    def _start(self, problem: Problem) -> FloatMatrix:
        if not self.start_words:
            return np.eye(problem.X.shape[1], dtype=np.float32)
        A, B = problem.X[: self.start_words], problem.Y[: self.start_words]
        n = min(len(A), len(B))
        return convex_start(A[:n], B[:n], steps=self.start_steps, progress=problem.progress)


def convex_start(X: FloatMatrix, Y: FloatMatrix, *, steps: int = 60, progress: Progress = silent) -> FloatMatrix:
    """The rotation (d, d) from X (n, d) to Y (n, d) that the convex relaxation of their matching gives.

    Frank-Wolfe with exact line search on ||K_X P - P K_Y||² over doubly stochastic P, where K are the products of all
    words. Each step solves a transport problem. K has rank d, so that no product of two (n, n) matrices is ever needed.
    """
    n = len(X)
    # One scale for both sides: the relaxation has no factor that could make up for a difference.
    A, B = (M.astype(np.float64) / max(float(np.sqrt(np.linalg.norm(M.T @ M))), 1e-12) for M in (X, Y))
    AA, BB = A.T @ A, B.T @ B
    # P is kept through K_A P = A (A' P) and P K_B = (P B) B': (d, n) and (n, d) are all that steps need.
    AP, PB = np.tile(A.mean(axis=0)[:, None], n), np.tile(B.mean(axis=0), (n, 1))
    blur = BLUR[0]
    for step in range(steps):
        progress("convex start", step, steps)
        # Half the gradient: K_A² P + P K_B² - 2 K_A P K_B.
        gradient = A @ (AA @ AP) + (PB @ BB) @ B.T - 2 * (A @ (AP @ B)) @ B.T
        # An exact assignment takes many times longer than a nearly sharp transport plan.
        Q = n * transport_plan(gradient, blur * float(gradient.std()) or 1.0).astype(np.float64)
        to_AP, to_PB = A.T @ Q - AP, Q @ B - PB  # the direction Q - P, seen through A' and B
        slope = _inner(A, B, AP, PB, to_AP, to_PB, AA, BB)
        curvature = _inner(A, B, to_AP, to_PB, to_AP, to_PB, AA, BB)
        if slope < 0 < curvature:
            share = min(1.0, -slope / curvature)
            AP, PB = AP + share * to_AP, PB + share * to_PB
        if -slope < 0.01 * _inner(A, B, AP, PB, AP, PB, AA, BB):
            blur /= 2
            if blur < BLUR[1]:
                break
    progress("convex start", steps, steps)
    return procrustes(X, PB.astype(np.float32))


def _inner(A: Any, B: Any, AP: Any, PB: Any, AQ: Any, QB: Any, AA: Any, BB: Any) -> float:
    """<K_A P - P K_B, K_A Q - Q K_B> from A'P, P B, A'Q and Q B."""
    cross = np.sum((AP @ B) * (A.T @ QB)) + np.sum((A.T @ PB) * (AQ @ B))
    return float(np.sum((AA @ AP) * AQ) + np.sum((PB @ BB) * QB) - cross)


def stochastic_epoch(
    X: FloatMatrix,
    Y: FloatMatrix,
    W: FloatMatrix,
    *,
    batch: int,
    steps: int,
    learning_rate: float,
    epsilon: float,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> tuple[FloatMatrix, float]:
    """Steps of W (d, d) on random batches of X (n, d) and Y (m, d); W again, and the mean similarity transported."""
    size = min(batch, len(X), len(Y))
    similarity = []
    for step in range(steps):
        progress(f"transport, batches of {size:,}", step, steps)
        A, B = X[rng.choice(len(X), size, replace=False)], Y[rng.choice(len(Y), size, replace=False)]
        similarities = (A @ W) @ B.T
        plan = transport_plan(-similarities, epsilon)
        similarity.append(float(np.sum(plan * similarities, dtype=np.float64)))
        # The gradient of the transported similarity, of size 1 like W; a long step is Procrustes on this batch alone.
        gradient = len(W) * (A.T @ plan @ B)
        previous, W = W, nearest_rotation((W + learning_rate * gradient).astype(np.float32))
        if size == len(X) == len(Y) and np.abs(W - previous).max() < 1e-4:
            break  # nothing is random when a batch holds all words: further steps would bring the same
    progress(f"transport, batches of {size:,}", steps, steps)
    return W, float(np.mean(similarity))
