"""Rotate each language into a latent space of its own making, and learn the metric there.

Jawanpuria, Balgovind, Kunchukuttan and Mishra 2019, "Learning multilingual word embeddings in latent metric space:
a geometric approach" (TACL 7). The map between two languages is W = U_src B U_tgtᵀ: U are orthogonal, B is symmetric
positive definite and shared by all languages.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.held_out import Ranks, hold_out, ranked_by_csls, within_one_error
from isoglot.checkpoints import Checkpoint
from isoglot.errors import ConfigError, LexiconError, MissingExtraError, ShapeError
from isoglot.progress import Progress, silent
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, IntVector

Floats = npt.NDArray[np.float64]
#: One rotation a language, and the metric: what the manifold's points are.
Point = Sequence[Floats]
#: Iterations after which conjugate gradients start anew; state is kept at these borders only, so that a resumed
#: run takes the same steps.
_CHUNK = 5


@method(
    "geomm",
    "two rotations and a metric, learned together on manifolds",
    supervision="supervised",
    linear=True,
    cost="a few products of the pairs, then O(d³) an iteration, however many pairs",
    paper="Jawanpuria et al. 2019",
    iterative=True,
    requires=("manifolds",),
)
class GeoMM(Aligner):
    """Ridge regression of "do these two words translate each other?" on U_src B U_tgtᵀ, over all seed words.

    Both sides are mapped to the latent space, by U B^(1/2). The number of iterations is chosen by held-out seeds;
    with fewer than 100 source words none are held out and the fit runs to its end. `geomm_multi` takes any number
    of languages.

    Differs from the paper:
        - It starts from Procrustes, with the best scale of the metric.
        - The loss is divided by the number of pairs, so that `ridge` does not depend on it.
        - Held-out seeds choose the number of iterations.

    Args:
        ridge: weight of ||B||² in the loss as a share of the number of pairs. The paper tries 10 to 10,000 with
            about 5,000 pairs, which is 0.002 to 2.
        iterations: of conjugate gradients at most; held-out seeds gain nothing after about 20 from this start.
        held_out: share of the source words kept back to choose the iteration; 0 for none.
    """

    ridge: float = 0.02
    iterations: int = 60
    held_out: float = 0.1

    limits: ClassVar[Limits] = {"iterations": "[1, inf)", "held_out": "[0, 1)"}

    def _fit(self, problem: Problem) -> Alignment:
        learn, kept = hold_out(problem.pairs, self.held_out, self.seed)

        def rank(point: Point) -> Ranks:
            root = _root(point[-1])
            W, V = ((U @ root).astype(np.float32) for U in point[:2])
            return ranked_by_csls(problem.X, problem.Y, kept, W, V)

        point, history = _minimise(
            {"src": problem.X, "tgt": problem.Y},
            {("src", "tgt"): learn},
            ridge=self.ridge,
            iterations=self.iterations,
            rank=rank,
            checkpoint=problem.checkpoint,
            progress=problem.progress,
        )
        root = _root(point[-1])
        return LinearAlignment.learned(
            W_src=(point[0] @ root).astype(np.float32),
            W_tgt=(point[1] @ root).astype(np.float32),
            info={"history": history, "held_out_words": len(np.unique(kept[:, 0]))},
        )


def geomm_multi(
    spaces: Mapping[str, FloatMatrix],
    pairs: Mapping[tuple[str, str], npt.ArrayLike],
    *,
    ridge: float = 0.02,
    iterations: int = 60,
    progress: Progress = silent,
) -> dict[str, tuple[Floats, Floats]]:
    """One latent space for any number of languages: {language: (U (d, d), B^(1/2) (d, d))}.

    `spaces`: normalised matrices (n, d) of one width; `pairs`: rows (p, 2) that translate each other, for as many
    pairs of languages as there are dictionaries, in any direction, as long as they connect all languages. Vectors go
    to the latent space by `X @ U @ B_half`; B^(1/2) is the same for all.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0].astype(np.float32)
    >>> rows = [[i, i] for i in range(60)]
    >>> maps = geomm_multi({"aa": X, "bb": X @ turn, "cc": X}, {("aa", "bb"): rows, ("cc", "bb"): rows})
    >>> bool(np.allclose(X @ maps["aa"][0], X @ turn @ maps["bb"][0], atol=1e-2))
    True
    """
    checked = {languages: _checked(spaces, languages, rows) for languages, rows in pairs.items()}
    point, _ = _minimise(spaces, checked, ridge=ridge, iterations=iterations, progress=progress)
    root = _root(point[-1])
    return {language: (U, root) for language, U in zip(spaces, point, strict=False)}


@dataclasses.dataclass(frozen=True, eq=False)
class PairLoss:
    """What the loss needs to know of one dictionary, however large: three (d, d) matrices.

    src, tgt: which of the point's rotations. C_src, C_tgt: sums of squares of the words on each side.
    M: sum of x yᵀ over the pairs. weight: 1 / pairs, so that dictionaries of all sizes count the same.
    """

    src: int
    tgt: int
    C_src: Floats
    C_tgt: Floats
    M: Floats
    weight: float

    @classmethod
    def of(cls, src: int, tgt: int, X: FloatMatrix, Y: FloatMatrix, pairs: IntVector) -> PairLoss:
        """From spaces X (n, d), Y (m, d) and pairs of their rows (p, 2); a pair named twice counts once."""
        pairs = np.unique(pairs, axis=0)
        A, B = (M[np.unique(rows)].astype(np.float64) for M, rows in ((X, pairs[:, 0]), (Y, pairs[:, 1])))
        crossed = X[pairs[:, 0]].T.astype(np.float64) @ Y[pairs[:, 1]]
        return cls(src, tgt, A.T @ A, B.T @ B, crossed, 1 / len(pairs))


def geomm_loss(point: Point, losses: Sequence[PairLoss], ridge: float) -> tuple[float, list[Floats]]:
    """The loss at (U_1, ..., U_L, B) and its Euclidean gradient in each.

    For each dictionary the loss is ||X U_src B U_tgtᵀ Yᵀ - labels||² / pairs less a constant; the matrix of labels
    is never made: with W = U_src B U_tgtᵀ the squares are <W, C_src W C_tgt> and the crossed term is <W, M>.
    """
    B = point[-1]
    loss = ridge * float(np.sum(B * B))
    gradients = [np.zeros_like(B) for _ in point]
    gradients[-1] += 2 * ridge * B
    for part in losses:
        U, V = point[part.src], point[part.tgt]
        UB = U @ B
        W = UB @ V.T
        product = part.C_src @ W @ part.C_tgt
        loss += part.weight * float(np.sum(W * (product - 2 * part.M)))
        G = 2 * part.weight * (product - part.M)
        GV = G @ V
        gradients[part.src] += GV @ B.T
        gradients[part.tgt] += G.T @ UB
        gradients[-1] += U.T @ GV
    return loss, gradients


def _minimise(
    spaces: Mapping[str, FloatMatrix],
    pairs: Mapping[tuple[str, str], IntVector],
    *,
    ridge: float,
    iterations: int,
    rank: Callable[[Point], Ranks] = lambda point: np.zeros(0),
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> tuple[list[Floats], list[dict[str, Any]]]:
    """The last point that ranks held-out words as well as any, of those after each chunk of iterations; the history."""
    if ridge < 0:
        raise ConfigError(f"ridge must not be negative, got {ridge}")
    if iterations < 1:
        raise ConfigError(f"iterations must be at least 1, got {iterations}")
    names = list(spaces)
    losses = [PairLoss.of(names.index(a), names.index(b), spaces[a], spaces[b], rows) for (a, b), rows in pairs.items()]
    checkpoint = checkpoint or Checkpoint(None, "")
    state = checkpoint.load()
    if state is None:
        point = _start(spaces, pairs)
        point[-1] = point[-1] * _best_scale(point, losses, ridge)
        best, top, done, ended = point, rank(point), 0, False
        history = [_facts(0, geomm_loss(point, losses, ridge)[0], top)]
    else:
        point = [np.asarray(state.tensors[f"point.{i}"]) for i in range(len(names) + 1)]
        best = [np.asarray(state.tensors[f"best.{i}"]) for i in range(len(names) + 1)]
        top, ended = np.asarray(state.tensors["top"]), bool(state.facts["ended"])
        done, history = state.step, list(state.facts["history"])
    descend = _descent(len(names), point[-1].shape[0], losses, ridge)
    while done < iterations and not ended:
        progress("GeoMM", done, iterations)
        count = min(_CHUNK, iterations - done)
        point, ended = descend(point, count)
        done += count
        ranks = rank(point)
        best = point if within_one_error(ranks, top) else best
        top = ranks if np.sum(ranks) > np.sum(top) else top
        history.append(_facts(done, geomm_loss(point, losses, ridge)[0], ranks))
        tensors = {f"point.{i}": part for i, part in enumerate(point)}
        tensors |= {f"best.{i}": part for i, part in enumerate(best)} | {"top": top}
        checkpoint.save(done, tensors, {"history": history, "ended": ended})
    progress("GeoMM", iterations, iterations)
    return best, history


def _facts(step: int, loss: float, ranks: Ranks) -> dict[str, Any]:
    return {"step": step, "loss": loss, "held_out_rank": float(ranks.mean()) if len(ranks) else None}


def _descent(
    languages: int, d: int, losses: Sequence[PairLoss], ridge: float
) -> Callable[[list[Floats], int], tuple[list[Floats], bool]]:
    """A function that takes so many steps of conjugate gradients from a point, and tells whether it is at its end."""
    try:
        import pymanopt
        from pymanopt.manifolds import Product, Stiefel, SymmetricPositiveDefinite
        from pymanopt.optimizers import ConjugateGradient
    except ImportError as error:
        raise MissingExtraError("pymanopt", "manifolds", "GeoMM") from error
    manifold = Product([Stiefel(d, d) for _ in range(languages)] + [SymmetricPositiveDefinite(d)])

    def cost(*point: Floats) -> float:
        return geomm_loss(point, losses, ridge)[0]

    def gradient(*point: Floats) -> list[Floats]:
        return geomm_loss(point, losses, ridge)[1]

    on_manifold = pymanopt.function.numpy(manifold)
    task = pymanopt.Problem(manifold, on_manifold(cost), euclidean_gradient=on_manifold(gradient))

    def descend(point: list[Floats], count: int) -> tuple[list[Floats], bool]:
        optimiser = ConjugateGradient(
            max_iterations=count, max_time=math.inf, min_gradient_norm=1e-7, min_step_size=1e-12, verbosity=0
        )
        result = optimiser.run(task, initial_point=point)
        reached = [np.asarray(part) for part in result.point]
        return reached, result.iterations < count

    return descend


def _start(spaces: Mapping[str, FloatMatrix], pairs: Mapping[tuple[str, str], IntVector]) -> list[Floats]:
    """Procrustes rotations towards the last language's axes, through whichever dictionaries lead there; B = 1."""
    names = list(spaces)
    d = spaces[names[-1]].shape[1]
    turned: dict[str, Floats] = {names[-1]: np.eye(d)}
    while len(turned) < len(names):
        before = len(turned)
        for (a, b), rows in pairs.items():
            for new, known, columns in ((a, b, (0, 1)), (b, a, (1, 0))):
                if known in turned and new not in turned:
                    A = spaces[new][rows[:, columns[0]]].astype(np.float64)
                    U, _, Vt = np.linalg.svd(A.T @ (spaces[known][rows[:, columns[1]]] @ turned[known]))
                    turned[new] = U @ Vt
        if len(turned) == before:
            apart = ", ".join(name for name in names if name not in turned)
            raise LexiconError(
                f"no dictionary connects {apart} with {names[-1]}",
                where="pairs",
                remedy="give pairs that lead from every language to every other, directly or through others",
            )
    return [turned[name] for name in names] + [np.eye(d)]


def _best_scale(point: Point, losses: Sequence[PairLoss], ridge: float) -> float:
    """The c for which the loss at B = c is least; the loss is a parabola in c."""
    rotations, B = list(point[:-1]), point[-1]
    plus, minus = (geomm_loss([*rotations, sign * B], losses, ridge)[0] for sign in (1, -1))
    square, linear = (plus + minus) / 2, (minus - plus) / 2
    return linear / (2 * square) if linear > 0 and square > 0 else 1.0


def _checked(spaces: Mapping[str, FloatMatrix], languages: tuple[str, str], rows: npt.ArrayLike) -> IntVector:
    for language in languages:
        if language not in spaces:
            raise LexiconError(f"pairs name {language!r}, which has no space", where="pairs")
    src, tgt = (spaces[language] for language in languages)
    if src.shape[1] != tgt.shape[1]:
        raise ShapeError(f"{languages[0]} has {src.shape[1]} dimensions and {languages[1]} {tgt.shape[1]}")
    found = np.asarray(rows)
    if found.ndim != 2 or found.shape[1] != 2 or not np.issubdtype(found.dtype, np.integer) or not len(found):
        raise ShapeError(f"pairs of {'-'.join(languages)} must be whole numbers of shape (p, 2), not {found.shape}")
    if found.min() < 0 or (found >= [len(src), len(tgt)]).any():
        raise ShapeError(f"a pair of {'-'.join(languages)} points outside its spaces")
    return found.astype(np.int64)


def _root(B: Floats) -> Floats:
    """The symmetric positive B^(1/2)."""
    values, vectors = np.linalg.eigh((B + B.T) / 2)
    root: Floats = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    return root
