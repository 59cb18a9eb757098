"""`auto`, the default: looks at what is given, compares methods on the pairs, and fits the best one on all of them.

Methods are compared by cross-validation (Stone 1974): the source words of the pairs are cut into parts, each part is
translated by maps learned from the others, and the share of words translated rightly decides. Where two are too close
to tell apart, the one that has been the better one on other languages is taken. Without pairs, methods that need none
are tried, and judge themselves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.auto.candidates import EFFORTS, Given, nominate
from isoglot.aligners.auto.estimate import estimate_seconds
from isoglot.aligners.auto.trials import Trials, choose, parts_for
from isoglot.aligners.auto.without_pairs import align_without_pairs
from isoglot.aligners.base import METHODS, Aligner, Problem, method
from isoglot.aligners.remembered import remembering
from isoglot.settings import Limits


@method(
    "auto",
    "looks at what you have, compares methods on your pairs, learns from all of them by the best",
    supervision="optional",
    linear=True,
    cost="the methods that it compares, each once for every part of the pairs; `effort` bounds it",
    paper="after Stone 1974",
    iterative=True,
)
class Auto(Aligner):
    """Choose a method by cross-validation on the pairs, and fit it on all of them.

    `info["auto"]` tells what was given, what was tried with which figures, what was chosen and why, and how to name
    that choice. With fewer than five source words nothing can be compared and the method of the most experience is
    taken. Pairs given twice count once. Without pairs: `portfolio`, of the same effort.

    Differs from the paper:
        - There is none.

    Args:
        effort: "quick" takes seconds, "normal" some two minutes for 200,000 words of 300 dimensions, and
            `isoglot.align` then takes another to re-rank; "best" compares more, and `isoglot.align` learns once more
            from what re-ranking is sure of.
        both_sides: False leaves the target where it is, as maps of several languages into one need it.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 8))
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    >>> alignment = Auto(effort="quick").fit(X, X @ turn, [[i, i] for i in range(60)])
    >>> alignment.info["pairs"], alignment.info["auto"]["p_at_1"]
    (60, 1.0)
    """

    normalise: str = "iterative"
    effort: str = "normal"
    both_sides: bool = True

    limits: ClassVar[Limits] = {"effort": EFFORTS}

    def keeping_target(self) -> Aligner:
        return dataclasses.replace(self, both_sides=False)

    def chosen(self, record: Mapping[str, Any]) -> Aligner:
        """The aligner that a fit has chosen, from its `info["auto"]`, with the seed of this one."""
        return METHODS.get(record["method"])(**{**record["settings"], "seed": self.seed})

    def estimate(self, sizes: tuple[int, int], dim: int, sources: int, *, spelled: bool = True) -> float:
        """About how many seconds this machine will take, for pairs of so many source words."""
        given = Given(np.zeros((0, 2), dtype=np.int64), 0, sources, sizes, dim, spelled)
        candidates = nominate(given, self.effort, both_sides=self.both_sides)
        parts = parts_for(self.effort)
        return estimate_seconds(candidates, sizes, dim, parts=parts, effort=self.effort, sources=sources)

    def _fit(self, problem: Problem) -> Alignment:
        # Every part asks for the same start without pairs.
        with remembering():
            return self._chosen_fit(problem)

    def _chosen_fit(self, problem: Problem) -> Alignment:
        if not len(problem.pairs):
            return align_without_pairs(problem, self.effort, self.seed)
        given = Given.of(problem)
        problem = dataclasses.replace(problem, pairs=given.pairs)
        common = {"seed": self.seed, "normalise": self.normalise, "match_dimensions": self.match_dimensions}
        candidates = nominate(given, self.effort, both_sides=self.both_sides, **common)
        trials = Trials(problem, given, parts=parts_for(self.effort), seed=self.seed)
        outcomes = [trials.run(candidate, number, len(candidates)) for number, candidate in enumerate(candidates)]
        choice = choose([one for one in outcomes if one.problem is None], given, trials.parts)
        alignment = trials.final(choice.candidate)
        record: dict[str, Any] = {
            "effort": self.effort,
            "given": given.record(),
            "tried": [one.record() for one in outcomes],
            "chosen": choice.candidate.label,
            "method": choice.candidate.aligner.method.name,
            "settings": choice.candidate.settings,
            "why": choice.why,
            "pin": choice.candidate.pin,
            **choice.figure,
        }
        return dataclasses.replace(alignment, info={**alignment.info, "auto": record})
