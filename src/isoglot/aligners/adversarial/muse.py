"""MUSE without supervision: a map that a discriminator cannot tell from the target language, then refined.

Lample, Conneau, Ranzato, Denoyer and Jégou 2018, "Word translation without parallel data". Single runs fail often, so
several starts are tried in one go, judged by the semantic criterion after a short refinement, and the best one is
refined on. Rotations of pure chance go the same way, which tells what the criterion is worth when nothing is
aligned: a result that is not clearly above that is reported as not aligned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.adversarial.discriminator import SCHEDULES, Adversary, Schedule
from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Presets, Problem, method
from isoglot.aligners.closed_form.procrustes import procrustes
from isoglot.aligners.epoch_choice import SELECT
from isoglot.aligners.self_learning.refinement import PATIENCE, Refinement, induce, nearest_rotation, refine
from isoglot.aligners.self_learning.rounds import similarity_start
from isoglot.aligners.verdict import EUCLIDEAN_MARGIN, chance_level, judge, judged
from isoglot.errors import ConfigError
from isoglot.retrieval import EUCLIDEAN_SCORES
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix

STARTS = ("distribution", "principal", "grid", "adversarial")
#: Angles of the grid start, each with and without a reflection, and the most frequent words it tries them on.
GRID_ANGLES, GRID_WORDS = 72, 1_000
#: The standard deviation of the numbers that the discriminator sees.
SPREAD = 0.35
#: Refinement rounds by which starts are compared, with each other and with chance.
TRIAL_ROUNDS = 5
#: So many more for those of chance.
CHANCE_ROUNDS = 5
#: How far above refined random rotations a start must be to end the search. More than the final verdict asks for, as
#: these have learned less than those that the verdict compares with.
EARLY_MARGIN = 0.12


@method(
    "muse",
    "unsupervised: adversarial start, several restarts, refinement, and a verdict on whether it worked",
    supervision="unsupervised",
    linear=True,
    cost="restarts x epochs of small networks, then two products of the vocabularies a round",
    paper="Lample et al. 2018",
    iterative=True,
)
class Muse(Aligner):
    """Find a rotation without any pair. Rows stand in order of frequency, as vector files do.

    `info["aligned"]` tells whether it worked, `info["verdict"]` why; when it did not, `info["warning"]` says so too.

    Differs from the paper:
        - Starts that cost seconds are tried before the adversarial one, and several adversarial runs after each other.
        - `schedule="quick"`, the default, plays a shorter game with a smaller discriminator.
        - Vectors are normalised, and brought to one spread for the discriminator; the paper takes them as they are.
        - Refinement runs until its criterion stalls, not five rounds.
        - Starts and epochs are judged on the 5,000 most frequent words of each side.
        - The result is compared with refined random rotations, and may be reported as not aligned.

    `preset="paper"` is the published game: vectors as they are, one adversarial run of 5 epochs of 1,000,000 words a
    side in batches of 32, two hidden layers of 2,048, five steps of the discriminator for one of the map, five rounds
    of refinement. There, too, epochs are judged among 15,000 words of each side, not all.

    Args:
        starts: which starts to try, in this order, separated by commas. "adversarial" is the paper's. "distribution"
            (Artetxe et al. 2018: words whose sorted similarities to all others look alike) costs seconds and needs no
            luck on spaces that are nearly rotations of each other, so it goes first; "principal" lays the principal
            directions of both sides on each other, for spaces of different vocabularies but like shape; "grid" tries
            turns all around, in spaces of two dimensions, and is left out in others.
            `starts="adversarial"` is the paper alone. The first start that is clearly above chance ends the search.
        restarts: adversarial runs, each with its own seed.
        schedule: of the adversarial runs: "quick" or "paper" (hours on a CPU).
        rescale: whether the discriminator sees numbers of standard deviation .35. Vectors of length one would keep it
            busy for very long; use False for vectors as they are.
        precision: "bfloat16" multiplies the discriminator's matrices in that format, which takes .6 of the time where
            the processor has it (avx512_bf16); weights, the map and the loss stay in float32.
        frequent: how many of the most frequent words the discriminator sees.
        trial: on how many of the most frequent words starts are judged.
        rounds: of refinement at most; it ends when its criterion stalls. 0 leaves the start as it is: "MUSE" where
            "MUSE + Procrustes" is the refined map.
        dictionary: the induced dictionary holds the words of these first ranks only, on both sides.
        backend: of the search, see `isoglot.retrieval.Retriever`.
        score: how translations are sought, see there. "csls-euclidean" is for spaces of few dimensions, where
            directions alone tell little: use it with `normalise="none"`.
        select: which adversarial epoch, and which round of refinement, to keep: "semantic", "structural" or "last".

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 8)) * np.linspace(2, 1, 8)
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    >>> alignment = Muse().fit(X, X @ turn)
    >>> alignment.info["aligned"], alignment.info["start"]
    (True, 'distribution')
    """

    starts: str = "distribution,principal,grid,adversarial"
    restarts: int = 2
    schedule: str = "quick"
    rescale: bool = True
    precision: str = "float32"
    frequent: int = 75_000
    trial: int = 5_000
    rounds: int = 50
    dictionary: int = 15_000
    backend: str = "auto"
    score: str = "csls"
    select: str = "semantic"

    limits: ClassVar[Limits] = {
        "select": SELECT,
        "restarts": "[1, inf)",
        "schedule": tuple(SCHEDULES),
        "precision": ("float32", "bfloat16"),
        "frequent": "[1, inf)",
        "trial": "[1, inf)",
        "dictionary": "[1, inf)",
    }
    presets: ClassVar[Presets] = {
        "paper": {
            "normalise": "none",
            "starts": "adversarial",
            "restarts": 1,
            "schedule": "paper",
            "rescale": False,
            "trial": 15_000,
            "rounds": 5,
        }
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self._starts:
            if name not in STARTS:
                raise ConfigError(f"unknown start {name!r}", where="starts", remedy=f"known: {', '.join(STARTS)}")
        if not self._starts:
            raise ConfigError("names no start", where="starts", remedy=f"known: {', '.join(STARTS)}")

    @property
    def requires(self) -> tuple[str, ...]:
        return (*super().requires, *(["torch"] if "adversarial" in self._starts else []))

    @property
    def _starts(self) -> list[str]:
        return [name.strip() for name in self.starts.split(",") if name.strip()]

    def _fit(self, problem: Problem) -> Alignment:
        runs, schedule = self._runs(problem.X.shape[1]), SCHEDULES[self.schedule]
        search = _Search(self, problem, runs, schedule)
        search.go()
        progress = problem.progress
        state = refine(
            problem.X,
            problem.Y,
            search.refinement if search.refinement is not None else search.best,
            rounds=self.rounds,
            patience=PATIENCE,
            frequent=self.dictionary,
            select=self.select,
            score=self.score,
            backend=self.backend,
            progress=progress,
            after=search.save_refinement,
        )
        verdict = judged(problem, state.best, seed=self.seed, score=self.score)
        info = {**state.info, **verdict.info, "start": search.best_run, "starts": search.history}
        return LinearAlignment.learned(W_src=state.best, info=info)

    def _runs(self, d: int) -> list[tuple[str, int]]:
        names = [name for name in self._starts if name != "grid" or d == 2]
        if not names:
            raise ConfigError(
                f"the grid start is for spaces of 2 dimensions, not of {d}", where="starts", remedy="add another start"
            )
        return [(name, i) for name in names for i in range(self.restarts if name == "adversarial" else 1)]


def distribution_start(X: FloatMatrix, Y: FloatMatrix, words: int = 4_000, *, score: str = "csls") -> FloatMatrix:
    """The rotation (d, d) for pairs of words whose sorted similarities to all others of their language look alike.

    Both sides are cut to the same number of words. For a Euclidean score it is sorted distances that look alike.
    """
    pairs = similarity_start(X, Y, words, score=score)
    return procrustes(X[pairs[:, 0]], Y[pairs[:, 1]])


def principal_start(X: FloatMatrix, Y: FloatMatrix) -> FloatMatrix:
    """The rotation (d, d) that lays principal directions on each other, by size and with skewness pointing up.

    >>> X = np.random.default_rng(0).exponential(size=(500, 2)).astype(np.float32) * [3, 1]
    >>> turn = np.array([[0.0, -1.0], [1.0, 0.0]], dtype=np.float32)
    >>> bool(np.allclose(principal_start(X, X @ turn), turn, atol=1e-5))
    True
    """
    A, B = _directions(X), _directions(Y)
    W: FloatMatrix = (A @ B.T).astype(np.float32)
    return W


def grid_start(X: FloatMatrix, Y: FloatMatrix, *, score: str = "csls", backend: str = "auto") -> FloatMatrix:
    """Of turns of the plane by every 5 degrees, with and without a reflection, the best by the semantic criterion.

    >>> X = np.random.default_rng(0).exponential(size=(100, 2)).astype(np.float32)
    >>> turn = np.array([[0.0, -1.0], [1.0, 0.0]], dtype=np.float32)
    >>> bool(np.allclose(grid_start(X, X @ turn, score="csls-euclidean"), turn, atol=1e-6))
    True
    """
    angles = np.arange(GRID_ANGLES) * (2 * np.pi / GRID_ANGLES)
    cos, sin = np.cos(angles), np.sin(angles)
    turns = np.array([[cos, -sin], [sin, cos]], dtype=np.float32).transpose(2, 0, 1)  # (angles, 2, 2)
    candidates = np.concatenate([turns, turns * np.array([1, -1], dtype=np.float32)])
    X, Y = X[:GRID_WORDS], Y[:GRID_WORDS]
    criteria = [induce(X, Y, W, score=score, backend=backend).criterion for W in candidates]
    best: FloatMatrix = candidates[int(np.argmax(criteria))]
    return best


def _directions(X: FloatMatrix) -> npt.NDArray[np.float64]:
    """Principal directions as columns (d, d), smallest first, turned so that words spread further upwards."""
    centred = X - X.mean(axis=0, dtype=np.float64)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    skewness = ((centred @ vectors) ** 3).sum(axis=0)
    turned: npt.NDArray[np.float64] = vectors * np.where(skewness < 0, -1.0, 1.0)
    return turned


class _Search:
    """Tries the starts one after the other and keeps the best; can be stopped after each epoch."""

    def __init__(self, settings: Muse, problem: Problem, runs: list[tuple[str, int]], schedule: Schedule) -> None:
        self.settings, self.problem, self.runs, self.schedule = settings, problem, runs, schedule
        d = problem.X.shape[1]
        self.run, self.epoch = 0, 0
        self.best, self.best_criterion, self.best_run = np.eye(d, dtype=np.float32), -np.inf, ""
        self.history: list[Mapping[str, Any]] = []
        self.refinement: Refinement | None = None
        self.game: dict[str, npt.NDArray[Any]] = {}
        self.words = slice(settings.trial)
        saved = problem.checkpoint.load()
        if saved is None:
            X, Y = problem.X[self.words], problem.Y[self.words]
            rounds = TRIAL_ROUNDS + CHANCE_ROUNDS
            self.chance = chance_level(
                X, Y, seed=settings.seed, rounds=rounds, score=settings.score, backend=settings.backend
            )
            return
        arrays = dict(saved.tensors)
        self.chance = arrays["chance"]
        self.best, self.best_criterion = arrays["start"], arrays["start_criterion"].item()
        self.run, self.epoch = saved.facts["run"], saved.facts["epoch"]
        self.history, self.best_run = list(saved.facts["starts"]), saved.facts["best_run"]
        self.game = {name[5:]: array for name, array in arrays.items() if name.startswith("game.")}
        if saved.facts["refining"]:
            self.refinement = Refinement.resumed(dataclasses.replace(saved, step=saved.facts["round"]))

    def go(self) -> None:
        if self.refinement is not None:
            return
        while self.run < len(self.runs):
            kind, number = self.runs[self.run]
            X, Y, score = self.problem.X, self.problem.Y, self.settings.score
            if kind == "distribution":
                self._take(kind, distribution_start(X, Y, score=score))
            elif kind == "principal":
                self._take(kind, principal_start(X, Y))
            elif kind == "grid":
                self._take(kind, grid_start(X, Y, score=score, backend=self.settings.backend))
            else:
                self._play(number)
            self.run, self.epoch, self.game = self.run + 1, 0, {}
            margin = EUCLIDEAN_MARGIN if score in EUCLIDEAN_SCORES else EARLY_MARGIN
            if judge(self.best_criterion, self.chance, margin).aligned:
                self.run = len(self.runs)
            self._save()

    def _play(self, number: int) -> None:
        """One adversarial run; its best epoch, in the paper that by the semantic criterion, is what is tried."""
        problem, schedule = self.problem, self.schedule
        shown = slice(self.settings.frequent)
        scale = np.float32(1)
        if self.settings.rescale:
            scale = np.float32(SPREAD / max(float(problem.X[shown].std(dtype=np.float64)), 1e-12))
        X, Y = problem.X[shown] * scale, problem.Y[shown] * scale
        seed = (self.settings.seed, number)
        game = dict(self.game)
        kept = {name: game.pop(name) for name in ("rate", "falls", "criterion", "best", "steps") if name in game}
        adversary = Adversary(X, Y, schedule, seed, game or None, half=self.settings.precision == "bfloat16")
        rate, falls, criterion, best, first = schedule.rate, 0, -np.inf, adversary.W, 0
        if kept:
            rate, falls, first = kept["rate"].item(), int(kept["falls"].item()), int(kept["steps"].item())
            criterion, best = kept["criterion"].item(), kept["best"]

        def save(steps: int) -> None:
            numbers = {"rate": rate, "falls": falls, "criterion": criterion, "steps": steps}
            arrays = {name: np.array([value]) for name, value in numbers.items()}
            self.game = {**adversary.tensors, **arrays, "best": best}
            self._save()

        for epoch in range(self.epoch, schedule.epochs):
            adversary.epoch(epoch, rate, problem.progress, first=first, after=save)
            W = nearest_rotation(adversary.W)
            now = float(epoch) if self.settings.select == "last" else self._figure(W)
            falls += now < criterion
            rate *= schedule.decay * (schedule.shrink if now < criterion and falls > 1 else 1.0)
            if now > criterion:
                criterion, best = now, W
            self.epoch, first = epoch + 1, 0
            problem.progress("adversarial training", epoch + 1, schedule.epochs)
            save(first)
        self._take(f"adversarial {number}", best)

    def _figure(self, W: FloatMatrix) -> float:
        """The criterion of `select`, higher being better."""
        X, Y, settings = self.problem.X[self.words], self.problem.Y[self.words], self.settings
        structural = settings.select == "structural"
        found = induce(X, Y, W, structural=structural, score=settings.score, backend=settings.backend)
        return found.criterion if found.structural is None else -found.structural

    def _take(self, name: str, W: FloatMatrix) -> None:
        """Refine a start for a few rounds on the most frequent words and keep it if it is the best so far."""
        X, Y, settings = self.problem.X[self.words], self.problem.Y[self.words], self.settings
        tried = refine(X, Y, W, rounds=TRIAL_ROUNDS, score=settings.score, backend=settings.backend)
        self.history.append({"start": name, "semantic": tried.criterion, "mutual": tried.info["mutual"]})
        if tried.criterion > self.best_criterion:
            # Without refinement the start itself is kept, though it was judged by a refined one.
            best = tried.best if settings.rounds else W
            self.best, self.best_criterion, self.best_run = best, tried.criterion, name

    def save_refinement(self, state: Refinement) -> None:
        self.refinement = state
        self._save()

    def _save(self) -> None:
        arrays: dict[str, npt.NDArray[Any]] = {
            "chance": self.chance,
            "start": self.best,
            "start_criterion": np.array([self.best_criterion]),
        }
        facts: dict[str, Any] = {"run": self.run, "epoch": self.epoch, "starts": self.history}
        facts |= {"best_run": self.best_run, "refining": self.refinement is not None}
        if self.refinement is not None:
            facts |= {**self.refinement.facts, "round": self.refinement.round}
            arrays |= self.refinement.tensors
        arrays |= {f"game.{name}": array for name, array in self.game.items()}
        self.problem.checkpoint.save(len(self.history), arrays, facts)
