"""Gromov-Wasserstein: words are matched so that distances within one language agree with those within the other.

Alvarez-Melis & Jaakkola 2018, "Gromov-Wasserstein alignment of word embedding spaces". Nothing but the two matrices of
similarities is compared, so no common space is needed to begin with. The plan between the most frequent words gives a
rotation (Procrustes on the plan), which carries all other words along and is then refined.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.self_learning.refinement import refine_found
from isoglot.aligners.transport.plans import transport_plan
from isoglot.aligners.verdict import judged
from isoglot.errors import ConfigError
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix


@method(
    "gromov-wasserstein",
    "match words by their distances within their own language, then refine",
    supervision="unsupervised",
    linear=True,
    cost="some hundred products of similarity matrices of frequent words, O(words³) each, then refinement",
    paper="Alvarez-Melis & Jaakkola 2018",
    iterative=True,
)
class GromovWasserstein(Aligner):
    """Entropic Gromov-Wasserstein on frequent words, Procrustes on its plan, refinement by mutual neighbours.

    The regularisation falls from `epsilon_start` to `epsilon` in `stages`: a blurred matching first, which has few
    wrong optima, then a sharp one. `info["plan_cost"]` is the mean squared difference of matched relations, in units
    of their variance: 2 for chance, 0 for spaces of the same shape.

    Differs from the paper:
        - What is compared are products of vectors, brought to mean 0 and variance 1.
        - The regularisation falls in stages.
        - The rotation is refined on mutual neighbours, and compared with chance.

    Args:
        words: most frequent words of each side that are matched; memory and time grow with its square and cube.
        epsilon_start, epsilon, stages: see above; relations have unit variance.
        iterations: at most these for each regularisation.
        rounds: of refinement at most; it ends when its criterion stalls.
        frequent: words that the refinement's dictionary may hold.

    >>> X = np.random.default_rng(0).normal(size=(150, 4)) * [4, 3, 2, 1]
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> alignment = GromovWasserstein(normalise="none").fit(X, (X @ turn)[::-1])
    >>> bool(np.allclose(alignment.transform(X), X @ turn, atol=1e-2))
    True
    """

    words: int = 1000
    epsilon_start: float = 0.5
    epsilon: float = 0.01
    stages: int = 8
    iterations: int = 25
    rounds: int = 50
    frequent: int = 15_000

    limits: ClassVar[Limits] = {
        "words": "[2, inf)",
        "epsilon_start": "(0, inf)",
        "epsilon": "(0, inf)",
        "stages": "[1, inf)",
        "iterations": "[1, inf)",
        "frequent": "[1, inf)",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon > self.epsilon_start:
            raise ConfigError(f"epsilon ({self.epsilon}) must be at most epsilon_start ({self.epsilon_start})")

    def _fit(self, problem: Problem) -> Alignment:
        saved = problem.checkpoint.load()
        history: list[dict[str, Any]] = list(saved.facts["stages"]) if saved else []
        state = refine_found(
            problem,
            lambda: self.matched(problem, history),
            steps=self.stages,
            facts={"stages": history},
            rounds=self.rounds,
            frequent=self.frequent,
        )
        found = {"plan_cost": history[-1]["cost"], "stages": history}
        verdict = judged(problem, state.best, seed=self.seed)
        return LinearAlignment.learned(W_src=state.best, info={**state.info, **found, **verdict.info})

    def matched(self, problem: Problem, history: list[dict[str, Any]]) -> FloatMatrix:
        """The rotation that the plan between frequent words gives; one checkpoint a stage."""
        A, B = problem.X[: self.words], problem.Y[: self.words]
        C, D = relations(A), relations(B)
        saved = problem.checkpoint.load()
        plan = saved.tensors["plan"] if saved else None
        schedule = np.geomspace(self.epsilon_start, self.epsilon, self.stages)
        for stage in range(saved.step if saved else 0, self.stages):
            if plan is not None and plan.max(axis=1).sum() > 0.99:
                break  # every word has its one partner already
            problem.progress("matching relations", stage, self.stages)
            plan = gromov_plan(C, D, float(schedule[stage]), plan, iterations=self.iterations)
            history.append({"epsilon": float(schedule[stage]), "cost": gromov_cost(C, D, plan)})
            problem.checkpoint.save(stage + 1, {"plan": plan}, {"stages": history})
        problem.progress("matching relations", self.stages, self.stages)
        assert plan is not None
        return procrustes(A, plan @ B)


def relations(X: FloatMatrix) -> FloatMatrix:
    """How any two of the words X (n, d) stand to each other: products, brought to mean 0 and variance 1, (n, n)."""
    products = X @ X.T
    products -= products.mean(dtype=np.float64).astype(np.float32)
    spread = products.std(dtype=np.float64)
    return products / np.float32(spread if spread > 0 else 1)


def gromov_plan(
    C: FloatMatrix, D: FloatMatrix, epsilon: float, start: FloatMatrix | None = None, *, iterations: int = 25
) -> FloatMatrix:
    """The plan (n, m) under which C (n, n) and D (m, m) agree best, from a plan to start with or the uniform one.

    Each iteration solves a transport problem in which matching i with k costs as much as their relations differ under
    the plan so far (Peyré, Cuturi & Solomon 2016). POT's `entropic_gromov_wasserstein` finds the same plans, but works
    in float64 and needs 2.4 times the time for 800 words.
    """
    n, m = len(C), len(D)
    plan = np.full((n, m), 1 / (n * m), dtype=np.float32) if start is None else start
    own = np.square(C).mean(axis=1)[:, None] + np.square(D).mean(axis=1)[None]  # squares of relations: the plan's
    for _ in range(iterations):
        previous = plan
        plan = transport_plan(own - 2 * (C @ plan @ D), epsilon)
        if np.abs(plan - previous).sum() < 1e-3:
            break
    return plan


def gromov_cost(C: FloatMatrix, D: FloatMatrix, plan: FloatMatrix) -> float:
    """Mean squared difference of relations that the plan matches.

    >>> C = np.array([[0, 1], [1, 0]], dtype=np.float32)
    >>> gromov_cost(C, C, np.eye(2, dtype=np.float32) / 2), gromov_cost(C, C, np.full((2, 2), 0.25, np.float32))
    (0.0, 0.5)
    """
    rows, columns = plan.sum(axis=1), plan.sum(axis=0)
    squares = rows @ np.square(C) @ rows + columns @ np.square(D) @ columns
    return float(squares - 2 * np.sum((C @ plan @ D) * plan, dtype=np.float64))
