"""Methods compared on parts of the pairs that they have not seen."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.auto.candidates import LEAST_WORDS, Candidate, Given
from isoglot.aligners.base import METHODS, Problem
from isoglot.aligners.held_out import Ranks, folds, ranked_by_csls, within_one_error
from isoglot.aligners.remembered import remembered
from isoglot.aligners.tuned.contrastive import Contrastive
from isoglot.checkpoints import Checkpoint
from isoglot.errors import InputError
from isoglot.progress import silent
from isoglot.spaces import IntVector

#: Most frequent target words among which held-out words are translated, and source words that tell CSLS how crowded
#: the targets are.
SEARCHED, CROWD = 20_000, 5_000


def parts_for(effort: str) -> int:
    """Into how many parts the pairs are cut."""
    return 2 if effort == "quick" else 3


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """How one method did: `hits` has a 1 for every source word that maps of the other parts translate rightly.

    `problem` says why a method could not be tried.
    """

    candidate: Candidate
    hits: Ranks
    seconds: float
    problem: str | None = None

    @property
    def share(self) -> float:
        return float(self.hits.mean()) if len(self.hits) else math.nan

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        facts: dict[str, Any] = {"label": self.candidate.label, "pin": self.candidate.pin}
        if self.problem is not None:
            return {**facts, "left_out": self.problem}
        measured = {"p_at_1": self.share, "interval": list(interval(self.hits))} if len(self.hits) else {}
        return {**facts, **measured, "seconds": round(self.seconds, 1)}


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """The method to use, why, and its figure."""

    candidate: Candidate
    why: str
    figure: dict[str, Any]


class Trials:
    """Fits candidates on parts of the pairs."""

    def __init__(self, problem: Problem, given: Given, *, parts: int, seed: int) -> None:
        self.parts = parts
        self._whole = problem
        self._problem = dataclasses.replace(problem, checkpoint=Checkpoint(None, ""))
        enough = given.sources >= LEAST_WORDS
        self._parts = folds(given.pairs, parts, seed) if enough else []

    def run(self, candidate: Candidate, number: int, total: int) -> Outcome:
        """Translate each part with maps learned from the others; `number` of `total` candidates is for the progress."""
        started = time.perf_counter()
        hits = []
        try:
            self._check_start(candidate)
            for part, (learn, kept) in enumerate(self._parts):
                self._problem.progress("comparing methods", number + part / self.parts, total)
                problem = dataclasses.replace(self._problem, pairs=learn, progress=silent)
                hits.append(self._hits(remembered(candidate.aligner, problem), kept))
        except InputError as error:
            return Outcome(candidate, np.zeros(0), time.perf_counter() - started, error.what)
        self._problem.progress("comparing methods", number + 1, total)
        found = np.concatenate(hits) if hits else np.zeros(0)
        return Outcome(candidate, found, time.perf_counter() - started)

    def final(self, candidate: Candidate) -> Alignment:
        """The candidate fitted on all pairs."""
        return candidate.aligner._fit(self._whole)

    def _check_start(self, candidate: Candidate) -> None:
        """Raise if a start without pairs does not work, before the parts are tried."""
        aligner = candidate.aligner
        start = METHODS.get(aligner.start) if isinstance(aligner, Contrastive) else None
        if start is None or start.method.supervision != "unsupervised":
            return
        if not remembered(start(seed=aligner.seed), self._problem).info.get("aligned", True):
            raise InputError(f"{start.method.name} finds no start")

    def _hits(self, alignment: Alignment, kept: IntVector) -> Ranks:
        assert isinstance(alignment, LinearAlignment)  # all candidates are linear
        ranks = ranked_by_csls(
            self._problem.X, self._problem.Y, kept, alignment.W_src, alignment.W_tgt, rows=(CROWD, SEARCHED), k=1
        )
        return np.asarray(ranks == 1, dtype=np.float64)


def choose(outcomes: Sequence[Outcome], given: Given, parts: int) -> Choice:
    """The first that is as good as the best, by no more than one standard error of the difference worse."""
    best = max(outcomes, key=lambda one: one.share if len(one.hits) else 0.0)
    if not len(best.hits):
        why = f"{given.sources} source words are too few to compare methods on; this one is best elsewhere"
        return Choice(outcomes[0].candidate, why, {})
    chosen = next(one for one in outcomes if within_one_error(one.hits, best.hits))
    if chosen is best:
        why = "it translates most held-out words rightly"
    else:
        why = f"it cannot be told apart from {best.candidate.label} on these words, and is better on other languages"
    low, high = interval(chosen.hits)
    figure = {
        "p_at_1": chosen.share,
        "interval": [low, high],
        "words": len(chosen.hits),
        "folds": parts,
        "searched": min(SEARCHED, given.sizes[1]),
    }
    return Choice(chosen.candidate, why, figure)


def interval(hits: Ranks) -> tuple[float, float]:
    """95% of a share, after Wilson 1927, which also holds for few words and shares near 0 and 1.

    >>> [round(bound, 3) for bound in interval(np.array([1.0] * 9 + [0.0]))]
    [0.596, 0.982]
    """
    n, share, z = len(hits), float(hits.mean()), 1.96
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, (centre - spread) / (1 + z * z / n)), min(1.0, (centre + spread) / (1 + z * z / n))
