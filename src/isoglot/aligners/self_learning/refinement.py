"""Iterative refinement: a map induces a dictionary, the dictionary gives a better map.

The supervised setting of Conneau, Lample, Ranzato, Denoyer and Jégou 2018, "Word translation without parallel data":
Procrustes on the seeds, then rounds of Procrustes on the mutual CSLS neighbours among the most frequent words; the
round with the best semantic criterion is kept. Rows stand in order of frequency, as vector files do.

A round costs two products of the two vocabularies: one for the means of CSLS, one for both directions of the
dictionary, which also gives the criterion of the map that the round started from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.epoch_choice import SELECT, chosen
from isoglot.aligners.held_out import source_weights
from isoglot.checkpoints import SavedState, Tensors
from isoglot.criteria import semantic_criterion, structural_criterion
from isoglot.errors import ConfigError
from isoglot.progress import Progress, silent
from isoglot.retrieval import Retriever
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector

#: A refinement that runs until it stalls ends after `PATIENCE` rounds that raise the criterion by less than `GAIN`. A
#: start that is right for few words climbs slowly at first, but on simulated languages by .006 a round and more.
PATIENCE, GAIN = 3, 1e-4


@method(
    "muse-supervised",
    "rotation from pairs, refined on the dictionary that it induces itself",
    supervision="supervised",
    linear=True,
    cost="two products of the vocabularies a round: O(rounds n m d)",
    paper="Conneau et al. 2018",
    iterative=True,
)
class MuseSupervised(Aligner):
    """Procrustes on the pairs, then refinement; the best round by the semantic criterion wins.

    Differs from the paper:
        - A pair counts less if its source word has several translations (`balanced`).

    Args:
        rounds: of refinement; 0 is plain Procrustes.
        frequent: the induced dictionary holds the words of these first ranks only, on both sides.
        vocabulary: search among the first so many words of each side only; None for all of them, as the paper does.
        keep_seeds: how much the given pairs weigh in every round next to the induced ones, as a share of those; the
            paper forgets them (0).
        balanced: weigh each pair by one over the translations its source word has, so that a word with ten rare
            senses counts as one word. The paper does not.
        neighbourhood: of CSLS.
        backend: of the search, see `isoglot.retrieval.Retriever`.
        select: which round to keep: "semantic", "structural" or "last".

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    >>> alignment = MuseSupervised(normalise="unit").fit(X, X @ turn, [[i, i] for i in range(12)])
    >>> alignment.info["mutual"]
    1.0
    """

    rounds: int = 5
    frequent: int = 15_000
    vocabulary: int | None = None
    keep_seeds: float = 0.0
    balanced: bool = True
    neighbourhood: int = 10
    backend: str = "auto"
    select: str = "semantic"

    limits: ClassVar[Limits] = {
        "frequent": "[1, inf)",
        "vocabulary": "[1, inf)",
        "neighbourhood": "[1, inf)",
        "select": SELECT,
    }

    def _fit(self, problem: Problem) -> Alignment:
        saved = problem.checkpoint.load()
        if saved is None:
            state = Refinement.start(_seed_map(problem.X, problem.Y, problem.pairs, self.balanced))
        else:
            state = Refinement.resumed(saved)
        weights = pair_weights(problem.pairs, self.balanced)
        state = refine(
            problem.X,
            problem.Y,
            state,
            rounds=self.rounds,
            frequent=self.frequent,
            vocabulary=self.vocabulary,
            seeds=(problem.pairs, weights * self.keep_seeds) if self.keep_seeds else None,
            select=self.select,
            neighbourhood=self.neighbourhood,
            backend=self.backend,
            progress=problem.progress,
            after=lambda now: problem.checkpoint.save(now.round, now.tensors, now.facts),
        )
        return LinearAlignment.learned(W_src=state.best, info=state.info)


@dataclasses.dataclass(frozen=True, eq=False)
class Induced:
    """What a map induces: mutual pairs of frequent words (p, 2), the semantic criterion, which share of the frequent
    source words choose a target that chooses them back, and the structural criterion, if asked for."""

    pairs: IntVector
    criterion: float
    mutual: float
    structural: float | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Refinement:
    """Where a refinement stands: `round` maps are judged, `W` is the next one, `best` the best so far by `select`, and
    `criterion` the highest semantic one."""

    round: int
    W: FloatMatrix
    best: FloatMatrix
    criterion: float
    history: tuple[Mapping[str, Any], ...]
    select: str = "semantic"

    @classmethod
    def start(cls, W: FloatMatrix) -> Self:
        """Before the first round, with the map to refine."""
        return cls(0, W, W, -np.inf, ())

    @classmethod
    def resumed(cls, saved: SavedState) -> Self:
        """The state that `tensors` and `facts` were saved from."""
        arrays, history = saved.tensors, tuple(saved.facts["history"])
        return cls(saved.step, arrays["W"], arrays["best"], arrays["criterion"].item(), history)

    def stalled(self, patience: int) -> bool:
        """Whether the last so many rounds have brought nothing."""
        values = [now["semantic"] for now in self.history]
        return len(values) > patience and max(values[-patience:]) < max(values[:-patience]) + GAIN

    @property
    def tensors(self) -> Tensors:
        return {"W": self.W, "best": self.best, "criterion": np.array([self.criterion])}

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"history": list(self.history)}

    @property
    def info(self) -> dict[str, Any]:
        """What an Alignment tells about it. Round 0 is the map that the refinement started from."""
        best = chosen(self.history, self.select)
        kept = self.history[best]
        return {
            "best_round": best,
            "semantic": kept["semantic"],
            "mutual": kept["mutual"],
            "history": list(self.history),
        }


def refine(
    X: FloatMatrix,
    Y: FloatMatrix,
    start: Refinement | FloatMatrix,
    *,
    rounds: int = 5,
    patience: int | None = None,
    frequent: int = 15_000,
    vocabulary: int | None = None,
    seeds: tuple[IntVector, npt.NDArray[np.float64]] | None = None,
    select: str = "semantic",
    score: str = "csls",
    neighbourhood: int = 10,
    backend: str = "auto",
    threads: int | None = None,
    progress: Progress = silent,
    after: Callable[[Refinement], None] = lambda state: None,
) -> Refinement:
    """Refine the map `start` (d, d) from X (n, d) to Y (m, d), or go on from a state.

    `patience`: end before `rounds` are over, once so many rounds in a row have raised the best criterion by less than
    `GAIN`. `seeds`: pairs (p, 2) and weights (p,) that join every induced dictionary; their weights sum to their share
    of it. `select`: which round to keep, see `SELECT`. `score` as in `induce`. `after` is called with each state. The
    map to use is `.best`.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    >>> nearly = np.eye(4, dtype=np.float32) + np.float32(0.1)
    >>> bool(np.allclose(refine(X, X, nearly, rounds=3).best, np.eye(4), atol=1e-5))
    True
    """
    if rounds < 0 or frequent < 1 or (vocabulary is not None and vocabulary < 1):
        raise ConfigError(
            f"rounds ({rounds}) must not be negative, frequent ({frequent}) and vocabulary ({vocabulary}) at least 1"
        )
    state = start if isinstance(start, Refinement) else Refinement.start(start)
    state = dataclasses.replace(state, select=select)
    X, Y = X[:vocabulary], Y[:vocabulary]
    progress("refining", state.round, rounds + 1)
    while state.round <= rounds and not (patience is not None and state.stalled(patience)):
        found = induce(
            X,
            Y,
            state.W,
            frequent=frequent,
            structural=select == "structural",
            score=score,
            neighbourhood=neighbourhood,
            backend=backend,
            threads=threads,
        )
        state = _judged(state, found, _next_map(X, Y, found.pairs, seeds, state.W))
        after(state)
        progress("refining", state.round, rounds + 1)
    progress("refining", rounds + 1, rounds + 1)
    return state


def refine_found(
    problem: Problem,
    find: Callable[[], FloatMatrix],
    *,
    steps: int,
    facts: Mapping[str, Any],
    rounds: int,
    frequent: int,
) -> Refinement:
    """The last stage of methods that first find a map in `steps` of their own, in one checkpoint with those.

    `find` gives the map (d, d), going on from the checkpoint if there is one; a checkpoint of this stage skips it. The
    refinement ends when its criterion stalls, after so many `rounds` at the latest.
    `facts` are kept beside the refinement's own.
    """
    saved = problem.checkpoint.load()
    if saved and "best" in saved.tensors:
        state = Refinement.resumed(dataclasses.replace(saved, step=saved.step - steps))
    else:
        state = Refinement.start(find())
    return refine(
        problem.X,
        problem.Y,
        state,
        rounds=rounds,
        patience=PATIENCE,
        frequent=frequent,
        progress=problem.progress,
        after=lambda now: problem.checkpoint.save(steps + now.round, now.tensors, {**facts, **now.facts}),
    )


def induce(
    X: FloatMatrix,
    Y: FloatMatrix,
    W: FloatMatrix,
    *,
    frequent: int = 15_000,
    criterion_pairs: int = 10_000,
    structural: bool = False,
    score: str = "csls",
    neighbourhood: int = 10,
    backend: str = "auto",
    threads: int | None = None,
) -> Induced:
    """The dictionary among the first `frequent` words that X W induces in Y, and how good it looks.

    Neighbours are sought among all words. The semantic criterion is the mean cosine of the `criterion_pairs` frequent
    source words with the best CSLS scores and their translations (Conneau et al. take 10,000). Another `score` of
    `Retriever` takes the place of CSLS; where it is Euclidean, so is the criterion, which is that of the nearest words.
    """
    mapped = X @ W
    retriever = Retriever(mapped, Y, score=score, neighbourhood=neighbourhood, backend=backend, threads=threads)
    there, back = retriever.top_both(1)
    best = there.indices[:frequent, 0]
    rows = np.arange(len(best))
    mutual = back.indices[best, 0] == rows
    judged = there
    if score == "csls-euclidean":
        # CSLS by distance favours words on the outskirts over nearer ones, so that a map slightly off the true one can
        # have the closer pairs. By plain distance none is closer than that of an exact copy.
        judged = Retriever(mapped, Y, score="euclidean", backend=backend, threads=threads).top(1)
    confident = np.argsort(-judged.scores[: len(best), 0], kind="stable")[:criterion_pairs]
    kept = mutual & (best < frequent)
    A, B = mapped[confident], Y[judged.indices[confident, 0]]
    return Induced(
        np.stack([rows[kept], best[kept]], axis=1),
        semantic_criterion(A, B, score),
        float(mutual.mean()),
        structural_criterion(A, B, score) if structural else None,
    )


def balanced_procrustes(X: FloatMatrix, Y: FloatMatrix, weights: npt.NDArray[np.float64]) -> FloatMatrix:
    """Procrustes in which matched rows (n, d) weigh differently, weights (n,).

    >>> import numpy as np
    >>> eye = np.eye(2, dtype=np.float32)
    >>> balanced_procrustes(np.vstack([eye, eye]), np.vstack([eye, -eye]), np.array([2.0, 2, 1, 1])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return procrustes((X * weights[:, None]).astype(np.float32), Y)


def nearest_rotation(W: FloatMatrix) -> FloatMatrix:
    """The orthogonal matrix nearest to W (d, d)."""
    return procrustes(np.eye(len(W), dtype=np.float32), W)


def pair_weights(pairs: IntVector, balanced: bool) -> npt.NDArray[np.float64]:
    """One over the number of translations that each pair's source word has, or ones; (p,)."""
    return source_weights(pairs) if balanced else np.ones(len(pairs))


def _seed_map(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, balanced: bool) -> FloatMatrix:
    return balanced_procrustes(X[pairs[:, 0]], Y[pairs[:, 1]], pair_weights(pairs, balanced))


def _next_map(
    X: FloatMatrix,
    Y: FloatMatrix,
    induced: IntVector,
    seeds: tuple[IntVector, npt.NDArray[np.float64]] | None,
    W: FloatMatrix,
) -> FloatMatrix:
    if not len(induced):
        return W  # nothing to learn from: every further round would be the same
    if seeds is None:
        return procrustes(X[induced[:, 0]], Y[induced[:, 1]])
    pairs, weights = seeds
    # As a share of the induced dictionary, whatever their number.
    scaled = weights / weights.sum() * len(induced) * weights.mean()
    both = np.concatenate([induced, pairs])
    return balanced_procrustes(X[both[:, 0]], Y[both[:, 1]], np.concatenate([np.ones(len(induced)), scaled]))


def _judged(state: Refinement, found: Induced, after: FloatMatrix) -> Refinement:
    facts = {
        "round": state.round,
        "semantic": found.criterion,
        "mutual": found.mutual,
        "pairs": len(found.pairs),
        **({} if found.structural is None else {"structural": found.structural}),
    }
    history = (*state.history, facts)
    return dataclasses.replace(
        state,
        round=state.round + 1,
        W=after,
        best=state.W if chosen(history, state.select) == state.round else state.best,
        criterion=max(found.criterion, state.criterion),
        history=history,
    )
