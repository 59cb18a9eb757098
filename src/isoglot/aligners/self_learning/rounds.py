"""Self-learning: map, induce a dictionary with the map, map again, until the dictionary no longer gets better.

Artetxe, Labaka & Agirre 2018, "A robust self-learning method for fully unsupervised cross-lingual mappings of word
embeddings". A random part of the candidates is left out in every round, at first most of them, so that the search does
not settle in the first dictionary that supports itself.

The paper draws for every pair of words whether it may be used (`drop="pairs"`). By default whole candidate words are
left out, anew in every round: a translation is available with the same probability, and similarities are computed only
for what is used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from isoglot.aligners.base import Problem
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.criteria import semantic_criterion
from isoglot.retrieval import BACKENDS, EUCLIDEAN_SCORES, Retriever
from isoglot.settings import Limits, check_settings
from isoglot.spaces import FloatMatrix, IntVector

#: By this share of the rounds of `annealed` all candidates are available.
_ALL_AVAILABLE = 0.7
#: Pairs are drawn among so many best candidates that all of them are left out for this share of the words.
_ALL_LEFT_OUT = 0.001


@dataclasses.dataclass(frozen=True)
class SelfLearning:
    """How the rounds go.

    Args:
        cutoff: only the most frequent words of each side take part.
        neighbourhood: over how many neighbours CSLS takes its means.
        keep: share of the candidates available at the start; `grow` multiplies it whenever `patience` rounds brought
            nothing, until all are.
        grow, patience: see `keep`.
        threshold: by how much the mean similarity of the dictionary must rise to count as better.
        rounds: never more than these.
        drop: what is left out: "words" or "pairs" of words. With "pairs" the similarity that must rise is that of the
            nearest of all candidates, left out or not, as in the paper, so that shares of candidates can be compared.
        backend: search backend: "auto" is int8 where the processor has it, "exact" leaves nothing to chance.
    """

    cutoff: int = 20_000
    neighbourhood: int = 10
    keep: float = 0.1
    grow: float = 2.0
    patience: int = 10
    threshold: float = 1e-6
    rounds: int = 1000
    drop: str = "words"
    backend: str = "auto"

    limits: ClassVar[Limits] = {
        "cutoff": "[1, inf)",
        "neighbourhood": "[1, inf)",
        "keep": "(0, 1]",
        "grow": "(1, inf)",
        "patience": "[1, inf)",
        "rounds": "[1, inf)",
        "drop": ("words", "pairs"),
        "backend": BACKENDS,
    }

    def __post_init__(self) -> None:
        check_settings(self, self.limits)


def learn_dictionary(
    problem: Problem, pairs: IntVector, settings: SelfLearning, *, seed: int, fixed: IntVector | None = None
) -> tuple[IntVector, dict[str, float]]:
    """From a first dictionary (p, 2) to the last one; `fixed` pairs are added to it in every round.

    Returns the dictionary of the best round with all candidates available, and what is worth knowing of the way there.
    """
    X, Y = problem.X[: settings.cutoff], problem.Y[: settings.cutoff]
    keep, stale, first, best = settings.keep, 0, 0, -np.inf
    best_pairs = pairs
    saved = problem.checkpoint.load()
    if saved is not None:
        pairs, best_pairs = saved.tensors["pairs"], saved.tensors["best_pairs"]
        keep, best = (float(value) for value in saved.tensors["numbers"])
        first, stale = saved.step, int(saved.facts["stale"])
    done = first
    for done in range(first, settings.rounds):
        problem.progress(f"self-learning, {keep:.0%} of candidates", stale, settings.patience)
        used = pairs if fixed is None else np.concatenate([pairs, fixed])
        W = procrustes(problem.X[used[:, 0]], problem.Y[used[:, 1]])
        rng = np.random.default_rng([seed, done])
        induced = _induce_by_pairs if settings.drop == "pairs" else induce_pairs
        pairs, similarity = induced(X @ W, Y, keep, rng, settings)
        if similarity >= best + settings.threshold:
            best, stale, best_pairs = similarity, 0, pairs
        else:
            stale += 1
        if stale >= settings.patience:
            if keep >= 1:
                break
            keep, stale = min(1.0, keep * settings.grow), 0
            if settings.drop == "words":
                best = -np.inf  # similarities with more candidates are higher: earlier ones say nothing any more
        problem.checkpoint.save(
            done + 1,
            {"pairs": pairs, "best_pairs": best_pairs, "numbers": np.array([keep, best])},
            {"stale": stale},
        )
    problem.progress("self-learning", 1, 1)
    return best_pairs, {"rounds": done + 1, "dictionary": len(best_pairs), "similarity": round(float(best), 6)}


def annealed(
    X: FloatMatrix,
    Y: FloatMatrix,
    W: FloatMatrix,
    *,
    seed: int,
    rounds: int = 20,
    first: int = 0,
    available: float = 0.1,
    score: str = "csls",
    after: Callable[[int, FloatMatrix], None] = lambda done, W: None,
) -> FloatMatrix:
    """Self-learning of a rotation W (d, d) in a fixed number of rounds, from round `first` on.

    The share of candidates grows from `available` to all of them by a constant factor a round, so that there is no
    waiting for the dictionary to settle: a fraction of the cost of `learn_dictionary`. `after` each round gets the
    number of rounds done and the map.
    """
    for step in range(first, rounds):
        keep = min(1.0, available ** (1 - step / (_ALL_AVAILABLE * rounds)))
        pairs, _ = induce_pairs(X @ W, Y, keep, np.random.default_rng([seed, step]), SelfLearning(), score)
        W = procrustes(X[pairs[:, 0]], Y[pairs[:, 1]])
        after(step + 1, W)
    return W


def induce_pairs(
    X: FloatMatrix, Y: FloatMatrix, keep: float, rng: np.random.Generator, settings: SelfLearning, score: str = "csls"
) -> tuple[IntVector, float]:
    """Best CSLS translations of all rows of both sides, among a random share of candidates, and their mean cosine.

    X (n, d) is mapped already. The pairs of both directions follow each other: (n + m, 2). For a Euclidean score the
    second figure is `semantic_criterion`.
    """

    def search(A: FloatMatrix, B: FloatMatrix) -> Retriever:
        return Retriever(A, B, score=score, neighbourhood=settings.neighbourhood, backend=settings.backend)

    def best_among(A: FloatMatrix, B: FloatMatrix) -> IntVector:
        """The best row of B for each row of A, among a random share of B's rows."""
        available = np.sort(rng.choice(len(B), max(1, round(keep * len(B))), replace=False))
        best: IntVector = available[search(A, B[available]).top(1).indices[:, 0]]
        return best

    if keep >= 1:
        there, back = (neighbours.indices[:, 0] for neighbours in search(X, Y).top_both(1))
    else:
        there, back = best_among(X, Y), best_among(Y, X)
    forward = np.stack([np.arange(len(X)), there], axis=1)
    backward = np.stack([back, np.arange(len(Y))], axis=1)
    pairs = np.concatenate([forward, backward])
    if score in EUCLIDEAN_SCORES:
        return pairs, semantic_criterion(X[pairs[:, 0]], Y[pairs[:, 1]], score)
    return pairs, _mean_cosine(X, Y, pairs)


def _induce_by_pairs(
    X: FloatMatrix, Y: FloatMatrix, keep: float, rng: np.random.Generator, settings: SelfLearning
) -> tuple[IntVector, float]:
    """`induce_pairs`, but each pair of words is left out by itself; and the mean cosine of all nearest neighbours.

    Among candidates from the best to the worst, the first that is not left out wins: its rank is drawn, which saves a
    draw for each of the n m pairs.
    """
    ranks = 1 if keep >= 1 else int(np.ceil(np.log(_ALL_LEFT_OUT) / np.log1p(-keep)))
    options = {"neighbourhood": settings.neighbourhood, "backend": settings.backend}
    chosen = []
    for side in Retriever(X, Y, **options).top_both(ranks):  # type: ignore[arg-type]
        rows = np.arange(len(side))
        drawn = np.minimum(rng.geometric(keep, len(side)), side.k) - 1
        chosen.append((rows, side.indices[rows, drawn]))
    (forward, there), (backward, back) = chosen
    pairs = np.concatenate([np.stack([forward, there], axis=1), np.stack([back, backward], axis=1)])
    nearest = Retriever(X, Y, score="cosine", backend=settings.backend).top_both(1)
    return pairs, float(np.mean([side.scores.mean(dtype=np.float64) for side in nearest]))


def similarity_start(X: FloatMatrix, Y: FloatMatrix, words: int = 4000, *, score: str = "csls") -> IntVector:
    """A first dictionary from nothing but the two sets of vectors.

    Each word is described by its sorted similarities to all words of its language: translations have similar lists.
    Section 3.2 of the paper, with the square root of the similarity matrix. For a Euclidean score the lists are of
    distances, and compared by distance: similarities at unit length tell words of few dimensions apart by their
    direction only.
    """
    size = min(words, len(X), len(Y))
    describe, compared = _sorted_similarities, "csls"
    if score in EUCLIDEAN_SCORES:
        describe, compared = _sorted_distances, "csls-euclidean"
    retriever = Retriever(describe(X[:size]), describe(Y[:size]), score=compared, neighbourhood=10)
    there, back = (neighbours.indices[:, 0] for neighbours in retriever.top_both(1))
    own = np.arange(size)
    return np.concatenate([np.stack([own, there], axis=1), np.stack([back, own], axis=1)])


def _sorted_similarities(X: FloatMatrix) -> FloatMatrix:
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    similarities = np.sort((U * s) @ U.T, axis=1).astype(np.float32)
    similarities /= np.maximum(np.linalg.norm(similarities, axis=1, keepdims=True), 1e-9)
    similarities -= similarities.mean(axis=0)
    return similarities


def _sorted_distances(X: FloatMatrix) -> FloatMatrix:
    # Squares by way of the product: all differences would take d times the memory.
    centred = X - X.mean(axis=0, dtype=np.float64)
    halves = np.einsum("ij,ij->i", centred, centred) / 2
    squares = 2 * (halves[:, None] + halves - centred @ centred.T)
    distances: FloatMatrix = np.sort(np.sqrt(np.maximum(squares, 0)), axis=1).astype(np.float32)
    return distances


def _mean_cosine(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector) -> float:
    norms_x, norms_y = (np.sqrt(np.einsum("ij,ij->i", M, M)) for M in (X, Y))
    products = np.einsum("ij,ij->i", X[pairs[:, 0]], Y[pairs[:, 1]])
    lengths = np.maximum(norms_x[pairs[:, 0]] * norms_y[pairs[:, 1]], 1e-12)
    return float(np.mean(products / lengths, dtype=np.float64))
