"""Tune linear maps so that translations beat their nearest rivals, and learn from what the maps find themselves.

In the spirit of the first stage of Li, Liu, Collier, Korhonen and Vulić 2022, "Improving word translation via
two-stage contrastive learning" (ACL). What differs: the rivals are mined and scored by CSLS, a word's translations
count together, and the round to stop at is chosen by held-out seeds.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import METHODS, Aligner, Problem, method
from isoglot.aligners.held_out import Ranks, hold_out, source_weights, within_one_error
from isoglot.aligners.remembered import remembered
from isoglot.aligners.tuned.mining import Mined, Translations, Vocabulary
from isoglot.checkpoints import Checkpoint, SavedState
from isoglot.errors import ConfigError
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector

Vector = npt.NDArray[np.float32]


@method(
    "contrastive",
    "linear maps tuned against the nearest wrong translations",
    supervision="supervised",
    linear=True,
    cost="a round: a search of both vocabularies up to the cutoff, O(c² d), and a few passes over the pairs",
    paper="Li et al. 2022",
    iterative=True,
)
class Contrastive(Aligner):
    """Self-learning in closed form first, then gradient steps on a contrastive loss, both from mined translations.

    Each round searches both vocabularies. Words that choose each other are added to the seeds; the best wrong
    translations of each word, both ways, are what its right ones are held against. The maps kept in the end are
    the last ones that rank the held-out seeds as well as any, within one standard error; with fewer than 100 source
    words none are held out and the last round is kept. Rows should be in order of frequency, as vector files are.

    Differs from the paper:
        - Only the first of the two stages; the second, which tunes an encoder, is left out.
        - Rivals are mined and scored by CSLS.
        - The translations of a word count together, not one by one.
        - Rounds of self-learning in closed form come before the first gradient step.
        - Held-out seeds choose the round to keep.

    Args:
        start: the linear method that gives the first maps; one that needs no pairs (cognates) helps where they are few.
        refinements: rounds of self-learning in closed form (Procrustes on seeds and mutual translations) before
            the first gradient step.
        rounds: rounds of gradient steps, each after a new search.
        epochs: passes over all pairs in a round.
        temperature: of the soft-max; lower looks at the nearest rivals only.
        lr: length of Adam's steps.
        negatives: nearest wrong translations mined for each word, each way.
        batch: words in a step; they also serve each other as rivals.
        self_learning: whether mutual translations join the seeds.
        induced_weight: what a mutual translation counts, a seed word counting 1.
        keep_start: pull towards the maps before the first gradient step.
        orthogonality: pull towards orthogonal maps.
        both_sides: whether the target side's map is tuned too.
        cutoff: rows of each side that are searched, the first ones and those of the seeds.
        held_out: share of the seeds' source words kept back to choose the round; 0 for none.
    """

    normalise: str = "iterative"
    start: str = "procrustes"
    refinements: int = 4
    rounds: int = 3
    epochs: int = 2
    temperature: float = 0.1
    lr: float = 1e-3
    negatives: int = 10
    batch: int = 512
    self_learning: bool = True
    induced_weight: float = 0.5
    keep_start: float = 0.0
    orthogonality: float = 0.0
    both_sides: bool = True
    cutoff: int = 20_000
    held_out: float = 0.1

    limits: ClassVar[Limits] = {
        "epochs": "[1, inf)",
        "temperature": "(0, inf)",
        "lr": "(0, inf)",
        "negatives": "[1, inf)",
        "batch": "[1, inf)",
        "cutoff": "[1, inf)",
        "held_out": "[0, 1)",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        row = METHODS.get(self.start).method
        if not row.linear or row.supervision == "optional" or row.name == self.method.name:
            raise ConfigError(f"contrastive cannot start from {self.start!r}", remedy="name a linear method for start")

    def _fit(self, problem: Problem) -> Alignment:
        learn, kept = hold_out(problem.pairs, self.held_out, self.seed)
        vocabulary = Vocabulary.of(problem, learn, kept, self.cutoff)
        saved = problem.checkpoint.load()
        state = self._start(problem, learn) if saved is None else _State.restored(saved)
        total = self.refinements + self.rounds
        while state.step < total:
            problem.progress("contrastive tuning", state.step, total)
            mined = vocabulary.mine(state.maps, self.negatives, self.self_learning)
            state.judge(vocabulary.rank(mined))
            if state.step < self.refinements:
                self._refine(state, vocabulary, mined)
            else:
                self._tune(state, vocabulary, mined)
            state.step += 1
            problem.checkpoint.save(state.step, state.tensors(), {"history": state.history})
        mined = vocabulary.mine(state.maps, self.negatives, self.self_learning)
        state.judge(vocabulary.rank(mined))
        problem.progress("contrastive tuning", total, total)
        info = {"history": state.history, "held_out_words": len(np.unique(kept[:, 0]))}
        return LinearAlignment.learned(W_src=state.best[0], W_tgt=state.best[1], info=info)

    def _start(self, problem: Problem, learn: IntVector) -> _State:
        given = dataclasses.replace(problem, pairs=learn, checkpoint=Checkpoint(None, ""))
        alignment = remembered(METHODS.get(self.start)(seed=self.seed), given)
        if not isinstance(alignment, LinearAlignment):
            raise ConfigError(f"contrastive cannot start from {self.start}, whose maps are not matrices")
        maps = [
            np.eye(M.shape[1], dtype=np.float32) if W is None else W.astype(np.float32)
            for M, W in ((problem.X, alignment.W_src), (problem.Y, alignment.W_tgt))
        ]
        return _State(maps)

    def _refine(self, state: _State, vocabulary: Vocabulary, mined: Mined) -> None:
        """Turn the mapped source onto the mapped target, by seeds and mutual translations."""
        pairs = np.concatenate([vocabulary.learn, mined.mutual])
        induced = np.full(len(mined.mutual), self.induced_weight)
        weights = np.concatenate([source_weights(vocabulary.learn), induced])
        A = vocabulary.X[pairs[:, 0]] @ state.maps[0]
        B = vocabulary.Y[pairs[:, 1]] @ state.maps[1]
        U, _, Vt = np.linalg.svd((A * weights[:, None]).T @ B)
        state.maps[0] = state.maps[0] @ (U @ Vt).astype(np.float32)

    def _tune(self, state: _State, vocabulary: Vocabulary, mined: Mined) -> None:
        """Adam's steps on the loss in both directions, over seeds and mutual translations."""
        if state.step == self.refinements:
            state.anchors = [W.copy() for W in state.maps]
        X, Y = vocabulary.X, vocabulary.Y
        pairs = np.concatenate([vocabulary.learn, mined.mutual])
        seeds = len(vocabulary.learn)
        there = Translations.of(pairs, seeds, self.induced_weight)
        back = Translations.of(pairs[:, ::-1], seeds, self.induced_weight)
        size = max(1, round(max(len(there.words), len(back.words)) / self.batch))
        for epoch in range(self.epochs):
            rng = np.random.default_rng([self.seed, state.step, epoch])
            orders = [np.array_split(rng.permutation(len(side.words)), size) for side in (there, back)]
            for chosen_there, chosen_back in zip(*orders, strict=True):
                gradients = [W * 0 for W in state.maps]
                for side, chosen, A, B, query, answer, lists, bias in (
                    (there, chosen_there, X, Y, 0, 1, mined.there, mined.target_bias),
                    (back, chosen_back, Y, X, 1, 0, mined.back, mined.source_bias),
                ):
                    if not len(chosen):
                        continue
                    words, candidates, right, weights = side.batch(chosen, lists[:, : self.negatives])
                    _, g_query, g_answer = contrastive_loss(
                        state.maps[query],
                        state.maps[answer],
                        A[words],
                        B[candidates],
                        right,
                        weights,
                        bias[candidates],
                        self.temperature,
                    )
                    gradients[query] += g_query
                    gradients[answer] += g_answer
                self._pull(gradients, state)
                state.adam(gradients, self.lr, sides=2 if self.both_sides else 1)

    def _pull(self, gradients: list[FloatMatrix], state: _State) -> None:
        for gradient, W, anchor in zip(gradients, state.maps, state.anchors, strict=True):
            if self.keep_start:
                gradient += np.float32(self.keep_start) * (W - anchor)
            if self.orthogonality:
                gradient += np.float32(self.orthogonality) * (W @ (W.T @ W) - W)


def contrastive_loss(
    W: FloatMatrix,
    V: FloatMatrix,
    X: FloatMatrix,
    Y: FloatMatrix,
    right: npt.NDArray[np.bool_],
    weights: Vector,
    bias: Vector,
    temperature: float,
) -> tuple[float, FloatMatrix, FloatMatrix]:
    """Soft-max loss of words X (b, d) against candidates Y (c, d), and its gradients in the maps W and V.

    A candidate's score is (cos(xW, yV) - bias) / temperature. The loss of a word is -log of the share that its right
    candidates, `right` (b, c), have together of all candidates' exponentials; `weights` (b,) sum the words up.

    >>> import numpy as np
    >>> E = np.eye(2, dtype=np.float32)
    >>> none = np.zeros(2, dtype=np.float32)
    >>> round(contrastive_loss(E, E, E, E, np.eye(2, dtype=bool), none + 0.5, none, 1.0)[0], 4)
    0.3133
    """
    A, a_length = _unit(X @ W)
    B, b_length = _unit(Y @ V)
    scores = (A @ B.T - bias) * np.float32(1 / temperature)
    scores -= scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores)
    of_all = exponentials.sum(axis=1)
    of_right = np.where(right, exponentials, 0)
    # A right candidate may be so far off that its exponential is 0 in float32.
    right_sums = np.maximum(of_right.sum(axis=1), np.finfo(np.float32).tiny)
    loss = float(np.sum(weights * (np.log(of_all) - np.log(right_sums))))
    G = exponentials / of_all[:, None] - of_right / right_sums[:, None]
    G *= (weights / np.float32(temperature))[:, None]
    return loss, X.T @ _through_length(G @ B, A, a_length), Y.T @ _through_length(G.T @ A, B, b_length)


def _unit(A: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    lengths = np.sqrt(np.einsum("ij,ij->i", A, A))[:, None]
    lengths[lengths == 0] = 1
    return A / lengths, lengths


def _through_length(gradient: FloatMatrix, unit: FloatMatrix, length: FloatMatrix) -> FloatMatrix:
    """The gradient before rows were scaled to length one."""
    along = np.einsum("ij,ij->i", gradient, unit)[:, None]
    result: FloatMatrix = (gradient - along * unit) / length
    return result


class _State:
    """All that changes from round to round."""

    def __init__(self, maps: list[FloatMatrix]) -> None:
        self.step = 0
        self.updates = 0
        self.maps = maps
        self.anchors = [W.copy() for W in maps]
        self.first = [W * 0 for W in maps]
        self.second = [W * 0 for W in maps]
        self.best = [W.copy() for W in maps]
        self.top: Ranks | None = None
        self.history: list[dict[str, Any]] = []

    def judge(self, ranks: Ranks) -> None:
        """Keep the maps if they rank the held-out seeds as well as any so far."""
        self.history.append({"step": self.step, "held_out_rank": float(ranks.mean()) if len(ranks) else None})
        if self.top is None or within_one_error(ranks, self.top):
            self.best = [W.copy() for W in self.maps]
        if self.top is None or np.sum(ranks) > np.sum(self.top):
            self.top = ranks

    def adam(self, gradients: list[FloatMatrix], lr: float, *, sides: int) -> None:
        self.updates += 1
        decay, decay_squares = 0.9, 0.99
        correction = np.sqrt(1 - decay_squares**self.updates) / (1 - decay**self.updates)
        for side in range(sides):
            G = gradients[side]
            self.first[side] = np.float32(decay) * self.first[side] + np.float32(1 - decay) * G
            self.second[side] = np.float32(decay_squares) * self.second[side] + np.float32(1 - decay_squares) * G * G
            scale: FloatMatrix = np.sqrt(self.second[side])
            scale += np.float32(1e-9)
            change = np.divide(self.first[side], scale, out=scale)
            change *= np.float32(lr * correction)
            self.maps[side] = self.maps[side] - change

    _GROUPS = ("maps", "anchors", "first", "second", "best")

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {f"{name}.{side}": getattr(self, name)[side] for name in self._GROUPS for side in (0, 1)}
        top = np.zeros(0) if self.top is None else self.top
        return arrays | {"top": top, "updates": np.array([self.updates])}

    @classmethod
    def restored(cls, saved: SavedState) -> Self:
        state = cls([np.asarray(saved.tensors[f"maps.{side}"]) for side in (0, 1)])
        for name in cls._GROUPS:
            setattr(state, name, [np.asarray(saved.tensors[f"{name}.{side}"]) for side in (0, 1)])
        state.step, state.history = saved.step, list(saved.facts["history"])
        state.updates, state.top = int(saved.tensors["updates"][0]), np.asarray(saved.tensors["top"])
        return state
