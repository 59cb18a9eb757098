"""The simulation of Zhao & Eger 2022, run again: 14 alignments, and other starts, on languages with known geometry.

A job is one alignment of one simulated pair; it is tested at every distance eps, as the training does not depend on it.
Finished jobs are kept in the output folder, so that a killed grid resumes where it was.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.aligners import Alignment, aligner
from isoglot.errors import ConfigError
from isoglot.progress import Progress, silent
from isoglot.resumable import earlier_record, kept, run_key
from isoglot.retrieval import Retriever
from isoglot.settings import check_settings
from isoglot.simulate import READINGS, Occurrences, SimulatedOccurrences, simulate_occurrences
from isoglot.spaces import FloatMatrix
from isoglot.threads import available_threads

#: Vectors of two dimensions are compared as they are, by distance.
_PLANE = {"normalise": "none"}
_BY_DISTANCE = {**_PLANE, "score": "csls-euclidean"}
#: What trains well in a plane within seconds; docs/density.md has the measurements.
_TRAINED = {**_BY_DISTANCE, "optimiser": "adam", "rate": 2e-3, "decay": True, "batch": 128, "least_steps": 16}
_FLOW = {"couplings": 8, "hidden": 64}
_MATCHED = {
    **_BY_DISTANCE,
    **_FLOW,
    "optimiser": "adam",
    "rate": 1e-3,
    "distance": "sliced",
    "batch": 1000,
}
_MUSE = {**_BY_DISTANCE, "starts": "distribution,principal,grid"}

#: The alignments of the paper's Table 1 by its names, each a method with its settings in the plane. The flows also from
#: the identity, as the paper has them: a turn by any angle, or a reflection, is hard to find from there.
SUITE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "Rotation": ("procrustes", _PLANE),
    "GBDD": ("gbdd", _PLANE),
    "FCNN": ("fcnn", {**_TRAINED, "hidden": 128}),
    "Real-NVP": ("realnvp", {**_TRAINED, **_FLOW, "start": "procrustes"}),
    "Real-NVP, identity start": ("realnvp", {**_TRAINED, **_FLOW, "start": "identity"}),
    "Real-NVP, searched start": ("realnvp", {**_TRAINED, **_FLOW, "start": "searched"}),
    "MUSE": ("muse", {**_MUSE, "rounds": 0}),
    "VecMap": ("vecmap-unsupervised", _PLANE),
    "Normalization": ("normalization", _PLANE),
    "GAN-Real-NVP": ("gan-realnvp", {**_MATCHED, "start": "searched"}),
    "GAN-Real-NVP, identity start": ("gan-realnvp", {**_MATCHED, "start": "identity"}),
    "GAN-Real-NVP, Procrustes start": ("gan-realnvp", {**_MATCHED, "start": "procrustes"}),
    "MUSE+Procrustes": ("muse", _MUSE),
    **{
        f"{name}+{label}": ("bootstrap", {**_MATCHED, "of": of, "constraint": constraint, "start": "searched"})
        for name, of, label, constraint in (
            ("MUSE", "muse", "Cross-Correlation", "cross-correlation"),
            ("MUSE", "muse", "Graph-Structure", "graph-structure"),
            ("GAN-Real-NVP", "gan-realnvp", "Cross-Correlation", "cross-correlation"),
            ("GAN-Real-NVP", "gan-realnvp", "Graph-Structure", "graph-structure"),
            ("GAN-Real-NVP", "gan-realnvp", "Procrustes", "procrustes"),
        )
    },
}
SUPERVISED = ("Rotation", "GBDD", "FCNN", "Real-NVP", "Real-NVP, identity start", "Real-NVP, searched start")
#: What the paper's Figures 2 and 3 compare over frequencies and distances.
CURVES = ("Rotation", "FCNN", "Real-NVP", "MUSE", "GAN-Real-NVP")


@dataclasses.dataclass(frozen=True)
class Grid:
    """What to run.

    Args:
        runs: simulated pairs of each kind. t: degrees of isomorphism. k: occurrences of a word; all alignments run at
            the largest (bootstrapping at the largest t only), the five of `CURVES` at the others. eps: distances of
            the test set.
        epochs: of training with pairs. matching: epochs without, of so many steps. rounds: of bootstrapping.
        reading, bound: how languages differ, and by how many degrees the shared rotation may turn, see
            `isoglot.simulate.simulate_occurrences`.
    """

    runs: int = 10
    t: tuple[int, ...] = (1, 5)
    k: tuple[int, ...] = tuple(range(5, 101, 5))
    eps: tuple[float, ...] = tuple(np.arange(0, 5.01, 0.2).round(1).tolist())
    epochs: int = 100
    matching: int = 8
    steps: int = 50
    rounds: int = 10
    reading: str = READINGS[0]
    bound: float = 0.0

    def __post_init__(self) -> None:
        check_settings(self, {"reading": READINGS, "bound": "[0, 180]"}, otherwise="[1, inf)")
        for name, least in (("t", 1), ("k", 1), ("eps", 0)):
            values = getattr(self, name)
            if not values or not all(math.isfinite(value) and value >= least for value in values):
                raise ConfigError(f"{name} takes numbers of at least {least}, not {', '.join(map(str, values))!r}")

    def jobs(self) -> Iterator[Job]:
        """The most telling ones first."""
        for t in sorted(self.t, reverse=True):
            for run in range(self.runs):
                for name, (method, _) in SUITE.items():
                    # Bootstrapping is for languages that differ (the paper shows it at t = 5), and so are other starts.
                    if (method != "bootstrap" and "start" not in name) or t == max(self.t):
                        yield Job(t, max(self.k), run, name)
        for run in range(self.runs):
            for k in sorted(self.k, reverse=True)[1:]:
                for t in self.t:
                    for name in CURVES:
                        yield Job(t, k, run, name)

    def pair(self, k: int, t: int, run: int) -> SimulatedOccurrences:
        """The languages of one run."""
        return simulate_occurrences(k, t, seed=run, reading=self.reading, bound=self.bound)

    def settings(self, name: str) -> dict[str, Any]:
        """Of the named alignment in this grid."""
        method, settings = SUITE[name]
        length: dict[str, Any] = {}
        if method in ("fcnn", "realnvp"):
            length = {"epochs": self.epochs}
        elif method == "gan-realnvp":
            length = {"epochs": self.matching, "steps": self.steps}
        elif method == "bootstrap":
            length = {"steps": self.steps, "rounds": self.rounds}
        return {**settings, **length}

    def minutes(self) -> float:
        """About how long all jobs take on one core like ours."""
        seconds = 0.0
        for job in self.jobs():
            method = SUITE[job.name][0]
            share = max(job.k / 100, 0.2)
            matching = SECONDS_MATCHING * self.matching * self.steps / 50
            seconds += {
                "fcnn": SECONDS_FCNN * self.epochs * share,
                "realnvp": SECONDS_REALNVP * self.epochs * share,
                "gan-realnvp": SECONDS_START + matching,
                "bootstrap": SECONDS_START + matching / self.matching * self.rounds,
            }.get(method, SECONDS_START)
        return seconds / 60


#: Of one core at k = 100, measured: an epoch with pairs, an epoch of 50 steps or a round without, finding a start.
SECONDS_FCNN, SECONDS_REALNVP, SECONDS_MATCHING, SECONDS_START = 0.05, 0.3, 2.2, 5.0

FULL = Grid()
QUICK = Grid(runs=2, k=(10, 30), eps=(0.0, 1.0, 2.0, 3.0, 4.0, 5.0), epochs=20, matching=2, steps=20, rounds=2)


@dataclasses.dataclass(frozen=True)
class GridCost:
    """What a grid would take with so many processes."""

    alignments: int
    minutes: float
    processes: int

    def sentence(self) -> str:
        """For people.

        >>> GridCost(40, 12.3, 2).sentence()
        '40 alignments, about 12 minutes with 2 processes'
        """
        return f"{self.alignments:,} alignments, about {self.minutes:.0f} minutes with {self.processes} processes"


@dataclasses.dataclass(frozen=True)
class Job:
    """One alignment (`name`, of SUITE) of one simulated pair."""

    t: int
    k: int
    run: int
    name: str

    @property
    def slug(self) -> str:
        return f"t{self.t}-k{self.k}-run{self.run}-{self.name}"


@dataclasses.dataclass(frozen=True)
class Point:
    """P@1 at a distance: the nearest occurrence is of the same word, or the very twin."""

    eps: float
    word: float
    twin: float


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a job came to. `seconds`: of the fit; `facts`: what the method says of itself."""

    job: Job
    points: tuple[Point, ...]
    seconds: float
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def word_precision(mapped: FloatMatrix, split: Occurrences) -> tuple[float, float]:
    """P@1 of mapped source occurrences (n, d): the nearest target occurrence is of the same word, or the very twin."""
    nearest = Retriever(mapped, split.tgt.vectors, score="euclidean", threads=1).top(1).indices[:, 0]
    twins = np.empty(len(mapped), dtype=np.int64)
    twins[split.pairs[:, 0]] = split.pairs[:, 1]
    return float((split.tgt_word[nearest] == split.src_word).mean()), float((nearest == twins).mean())


def run_job(grid: Grid, job: Job) -> Outcome:
    """Train once, test at every distance."""
    pair = grid.pair(job.k, job.t, job.run)
    method = aligner(SUITE[job.name][0], **{**grid.settings(job.name), "seed": job.run})
    known = pair.train.pairs if job.name in SUPERVISED else None
    started = time.perf_counter()
    alignment = method.fit(pair.train.src, pair.train.tgt, known)
    seconds = time.perf_counter() - started
    points = []
    for i, eps in enumerate(grid.eps):
        split = pair.draw(eps, 10 + i, k=max(grid.k))
        word, twin = word_precision(onto_target_side(alignment, split.src.vectors), split)
        points.append(Point(eps, word, twin))
    facts = {name: alignment.info[name] for name in ("aligned", "best_epoch", "semantic") if name in alignment.info}
    return Outcome(job, tuple(points), seconds, facts)


def onto_target_side(alignment: Alignment, X: FloatMatrix) -> FloatMatrix:
    """The source in the target's own space, whichever space the method aligns in."""
    from isoglot.aligners import LinearAlignment, onto_target

    return (onto_target(alignment) if isinstance(alignment, LinearAlignment) else alignment).transform(X)


def run_grid(grid: Grid, folder: Path, *, workers: int | None = None, progress: Progress = silent) -> list[Outcome]:
    """All jobs of the grid, those that an earlier run has done from the folder."""
    jobs = list(grid.jobs())
    places = {job: (folder / "runs" / f"{job.slug}.json", _key(grid, job)) for job in jobs}
    earlier = {job: earlier_record(*places[job], Outcome) for job in jobs}
    done = [outcome for outcome in earlier.values() if outcome is not None]
    waiting = [job for job in jobs if earlier[job] is None]
    what = "simulated alignments (jobs)"
    progress(what, len(done), len(jobs))

    def finish(job: Job, run: Callable[[], Outcome]) -> None:
        done.append(kept(*places[job], Outcome, run))
        progress(what, len(done), len(jobs))

    workers = available_threads(workers)
    if workers == 1 or not waiting:
        for job in waiting:
            finish(job, functools.partial(run_job, grid, job))
        return done
    # A fresh interpreter each: threads of torch and numba do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread) as pool:
        outcomes = pool.map(run_job, [grid] * len(waiting), waiting)
        for job in waiting:
            finish(job, functools.partial(next, outcomes))
    return done


def _one_thread() -> None:
    """Each worker has one core."""
    import numba
    import torch

    torch.set_num_threads(1)
    numba.set_num_threads(1)


def _key(grid: Grid, job: Job) -> str:
    return run_key(dataclasses.asdict(job), grid.settings(job.name), grid.eps, max(grid.k), grid.reading, grid.bound)


def values(
    outcomes: Sequence[Outcome], name: str, t: int, k: int, eps: float, kind: str = "word"
) -> npt.NDArray[np.float64]:
    """P@1 of the named alignment over the runs, (runs,), in order of the run."""
    rows = [one for one in outcomes if (one.job.name, one.job.t, one.job.k) == (name, t, k)]
    rows.sort(key=lambda one: one.job.run)
    return np.array([getattr(point, kind) for one in rows for point in one.points if point.eps == eps])
