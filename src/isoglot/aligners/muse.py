"""MUSE without supervision: a map that a discriminator cannot tell from the target language, then refined.

Lample, Conneau, Ranzato, Denoyer and Jégou 2018, "Word translation without parallel data". Single runs fail often, so
several starts are tried in one go, judged by the semantic criterion after a short refinement, and the best one is
refined on. Rotations of pure chance go the same way, which tells what the criterion is worth when nothing is
aligned: a result that is not clearly above that is reported as not aligned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners._adversarial import SCHEDULES, Adversary, Schedule
from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Problem, method
from isoglot.aligners.procrustes import procrustes
from isoglot.aligners.refinement import Refinement, induce, nearest_rotation, refine
from isoglot.errors import ConfigError
from isoglot.retrieval import Retriever
from isoglot.spaces import FloatMatrix
from isoglot.spaces.normalise import unit_rows

__all__ = ["Muse", "Verdict", "chance_level", "distribution_start", "judge", "principal_start"]

STARTS = ("distribution", "principal", "adversarial")
#: The standard deviation of the numbers that the discriminator sees.
SPREAD = 0.35
#: Random rotations that are refined to learn what chance looks like.
CHANCE_RUNS = 3
#: Refinement rounds by which starts are compared, with each other and with chance.
TRIAL_ROUNDS = 5
#: How far above chance a criterion must lie, as a share of the way from there to the criterion's largest value, 1.
MARGIN = 0.12


@method(
    "muse",
    "unsupervised: adversarial start, several restarts, refinement, and a verdict on whether it worked",
    supervision="unsupervised",
    linear=True,
    cost="restarts x epochs of small networks, then two products of the vocabularies a round",
    paper="Lample et al. 2018",
    iterative=True,
)
@dataclasses.dataclass(frozen=True)
class Muse(Aligner):
    """Find a rotation without any pair. Rows stand in order of frequency, as vector files do.

    `info["aligned"]` tells whether it worked, `info["verdict"]` why; when it did not, `info["warning"]` says so too.

    Args:
        starts: which starts to try, in this order, separated by commas. "adversarial" is the paper's. "distribution"
            (Artetxe et al. 2018: words whose sorted similarities to all others look alike) costs seconds and needs no
            luck on spaces that are nearly rotations of each other, so it goes first; "principal" lays the principal
            directions of both sides on each other, for spaces of different vocabularies but like shape.
            `starts="adversarial"` is the paper alone. The first start that is clearly above chance ends the search.
        restarts: adversarial runs, each with its own seed.
        schedule: of the adversarial runs: "quick" or "paper" (hours on a CPU).
        frequent: how many of the most frequent words the discriminator sees.
        trial: on how many of the most frequent words starts are judged.
        rounds: of the refinement at the end.
        dictionary: the induced dictionary holds the words of these first ranks only, on both sides.
        backend: of the search, see `isoglot.retrieval.Retriever`.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 8)) * np.linspace(2, 1, 8)
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    >>> alignment = Muse().fit(X, X @ turn)
    >>> alignment.info["aligned"], alignment.info["start"]
    (True, 'distribution')
    """

    starts: str = "distribution,principal,adversarial"
    restarts: int = 2
    schedule: str = "quick"
    frequent: int = 75_000
    trial: int = 5_000
    rounds: int = 5
    dictionary: int = 15_000
    backend: str = "exact"

    def _fit(self, problem: Problem) -> Alignment:
        runs, schedule = self._runs(), self._schedule()
        search = _Search(self, problem, runs, schedule)
        search.go()
        progress = problem.progress
        state = refine(
            problem.X,
            problem.Y,
            search.refinement if search.refinement is not None else search.best,
            rounds=self.rounds,
            frequent=self.dictionary,
            backend=self.backend,
            progress=progress,
            after=search.save_refinement,
        )
        words = slice(self.trial)
        final = induce(problem.X[words], problem.Y[words], state.best, backend=self.backend)
        verdict = judge(final.criterion, search.chance)
        info = {**state.info, **verdict.info, "start": search.best_run, "starts": search.history}
        return LinearAlignment.learned(W_src=state.best, info=info)

    def _runs(self) -> list[tuple[str, int]]:
        names = [name.strip() for name in self.starts.split(",") if name.strip()]
        for name in names:
            if name not in STARTS:
                raise ConfigError(f"unknown start {name!r}", where="starts", remedy=f"known: {', '.join(STARTS)}")
        if not names or self.restarts < 1 or min(self.frequent, self.trial) < 1:
            raise ConfigError("starts, restarts, frequent and trial must not be empty or below 1")
        return [(name, i) for name in names for i in range(self.restarts if name == "adversarial" else 1)]

    def _schedule(self) -> Schedule:
        if self.schedule not in SCHEDULES:
            raise ConfigError(
                f"unknown schedule {self.schedule!r}", where="schedule", remedy=f"known: {', '.join(SCHEDULES)}"
            )
        return SCHEDULES[self.schedule]


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


def judge(criterion: float, chance: npt.NDArray[np.float64]) -> Verdict:
    """Compare the semantic criterion of a refined map with those of refined random rotations, (runs,).

    >>> judge(0.6, np.array([0.38, 0.4])).aligned, judge(0.42, np.array([0.38, 0.4])).aligned
    (True, False)
    """
    level = float(chance.max())
    needed = level + MARGIN * (1 - level)
    aligned = criterion >= needed
    how = "at least" if aligned else "below"
    reason = (
        f"the induced dictionary's mean cosine is {criterion:.3f}, {how} the {needed:.3f} that would be "
        f"clearly above chance ({level:.3f}, random rotations refined the same way)"
    )
    return Verdict(aligned, reason, level)


def chance_level(
    X: FloatMatrix,
    Y: FloatMatrix,
    *,
    seed: int = 0,
    runs: int = CHANCE_RUNS,
    rounds: int = 2 * TRIAL_ROUNDS,
    backend: str = "exact",
) -> npt.NDArray[np.float64]:
    """Semantic criteria (runs,) of random rotations refined for so many rounds: what comes out when nothing is aligned.

    Refinement makes any map look better, as it looks for pairs that are close and brings them closer; a map must
    therefore be compared with refined random maps, not with plain ones.
    """
    criteria = []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        turn = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0].astype(np.float32)
        criteria.append(refine(X, Y, turn, rounds=rounds, backend=backend).criterion)
    return np.array(criteria)


def distribution_start(X: FloatMatrix, Y: FloatMatrix, words: int = 4_000) -> FloatMatrix:
    """The rotation (d, d) for pairs of words whose sorted similarities to all others of their language look alike.

    Artetxe, Labaka and Agirre 2018, "A robust self-learning method for fully unsupervised cross-lingual mappings".
    Both sides are cut to the same number of words.
    """
    n = min(words, len(X), len(Y))
    X, Y = X[:n], Y[:n]
    there, back = Retriever(_sorted_similarities(X), _sorted_similarities(Y)).top_both(1)
    i = np.concatenate([np.arange(n), back.indices[:, 0]])
    j = np.concatenate([there.indices[:, 0], np.arange(n)])
    return procrustes(X[i], Y[j])


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


def _directions(X: FloatMatrix) -> npt.NDArray[np.float64]:
    """Principal directions as columns (d, d), smallest first, turned so that words spread further upwards."""
    centred = X - X.mean(axis=0, dtype=np.float64)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    skewness = ((centred @ vectors) ** 3).sum(axis=0)
    turned: npt.NDArray[np.float64] = vectors * np.where(skewness < 0, -1.0, 1.0)
    return turned


def _sorted_similarities(X: FloatMatrix) -> FloatMatrix:
    """Each row: the sorted entries of that row of the square root of X X', (n, n)."""
    values, vectors = np.linalg.eigh(X.T.astype(np.float64) @ X)
    quarter = np.where(values > values[-1] * 1e-10, np.clip(values, 1e-300, None) ** -0.25, 0)
    half = (X @ (vectors * quarter)).astype(np.float32)  # (X X')^(1/2) = half half'
    similarities = np.sort(half @ half.T, axis=1)
    similarities = unit_rows(similarities)
    return unit_rows(similarities - similarities.mean(axis=0))


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
            self.chance = chance_level(
                X, Y, seed=settings.seed, rounds=TRIAL_ROUNDS + settings.rounds, backend=settings.backend
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
            if kind == "distribution":
                self._take(kind, distribution_start(self.problem.X, self.problem.Y))
            elif kind == "principal":
                self._take(kind, principal_start(self.problem.X, self.problem.Y))
            else:
                self._play(number)
            self.run, self.epoch, self.game = self.run + 1, 0, {}
            if judge(self.best_criterion, self.chance).aligned:
                self.run = len(self.runs)
            self._save()

    def _play(self, number: int) -> None:
        """One adversarial run; its best epoch by the criterion, as in the paper, is what is tried."""
        problem, schedule = self.problem, self.schedule
        shown = slice(self.settings.frequent)
        # At length one a discriminator would take very long to see anything.
        scale = np.float32(SPREAD * problem.X.shape[1] ** 0.5)
        X, Y = problem.X[shown] * scale, problem.Y[shown] * scale
        seed = (self.settings.seed, number)
        game = dict(self.game)
        kept = {name: game.pop(name) for name in ("rate", "criterion", "best") if name in game}
        adversary = Adversary(X, Y, schedule, seed, game or None)
        rate, criterion, best = schedule.rate, -np.inf, adversary.W
        if kept:
            rate, criterion, best = kept["rate"].item(), kept["criterion"].item(), kept["best"]
        for epoch in range(self.epoch, schedule.epochs):
            adversary.epoch(epoch, rate, problem.progress)
            W = nearest_rotation(adversary.W)
            now = induce(problem.X[self.words], problem.Y[self.words], W, backend=self.settings.backend).criterion
            rate *= schedule.decay * (schedule.shrink if now < criterion else 1.0)
            if now > criterion:
                criterion, best = now, W
            numbers = {"rate": np.array([rate]), "criterion": np.array([criterion]), "best": best}
            self.game, self.epoch = {**adversary.tensors, **numbers}, epoch + 1
            problem.progress("adversarial training", epoch + 1, schedule.epochs)
            self._save()
        self._take(f"adversarial {number}", best)

    def _take(self, name: str, W: FloatMatrix) -> None:
        """Refine a start for a few rounds on the most frequent words and keep it if it is the best so far."""
        X, Y = self.problem.X[self.words], self.problem.Y[self.words]
        tried = refine(X, Y, W, rounds=TRIAL_ROUNDS, backend=self.settings.backend)
        self.history.append({"start": name, "semantic": tried.criterion, "mutual": tried.info["mutual"]})
        if tried.criterion > self.best_criterion:
            self.best, self.best_criterion, self.best_run = tried.best, tried.criterion, name

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
