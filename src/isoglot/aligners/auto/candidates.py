"""What `auto` looks at before it starts, and the methods that are worth comparing for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from isoglot.aligners.base import Aligner, Problem
from isoglot.aligners.closed_form.least_squares import LeastSquares
from isoglot.aligners.closed_form.procrustes import Procrustes
from isoglot.aligners.tuned.contrastive import Contrastive
from isoglot.spaces import IntVector

EFFORTS = ("quick", "normal", "best")
#: With fewer source words than this nothing can be compared.
LEAST_WORDS = 5
#: Most frequent words that a quick fit searches.
_QUICK_CUTOFF = 6000


@dataclasses.dataclass(frozen=True, eq=False)
class Given:
    """What a person has.

    Args:
        pairs: (p, 2), each once, in the order in which they were given.
        repeated: how many were there twice.
        sources: distinct source words of the pairs.
        sizes: words of both sides.
        spelled: whether the words can be compared by how they are written.
    """

    pairs: IntVector
    repeated: int
    sources: int
    sizes: tuple[int, int]
    dim: int
    spelled: bool

    @classmethod
    def of(cls, problem: Problem) -> Self:
        _, first = np.unique(problem.pairs, axis=0, return_index=True)
        pairs = problem.pairs[np.sort(first)]
        return cls(
            pairs,
            len(problem.pairs) - len(pairs),
            len(np.unique(pairs[:, 0])),
            (len(problem.X), len(problem.Y)),
            problem.X.shape[1],
            spelled(problem.words),
        )

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "pairs": len(self.pairs),
            "repeated_pairs": self.repeated,
            "source_words": self.sources,
            "sizes": list(self.sizes),
            "dimensions": self.dim,
        }


def spelled(words: tuple[Sequence[str], Sequence[str]] | None) -> bool:
    """Whether both sides have words whose spelling says something; numbers of rows, as matrices get them, do not.

    >>> spelled((["one", "two"], ["un", "deux"])), spelled((["one", "two"], ["0", "1"])), spelled(None)
    (True, False, False)
    """
    if words is None:
        return False
    return all(sum(word.isdecimal() for word in side[:1000]) < len(side[:1000]) / 2 for side in words)


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A method with settings, as a person would name it.

    >>> Candidate(Contrastive(start="cognates", seed=3)).pin
    '-m contrastive --set start=cognates'
    """

    aligner: Aligner

    @property
    def settings(self) -> dict[str, Any]:
        """Those that are not the defaults; the seed is the caller's."""
        own = (f for f in dataclasses.fields(self.aligner) if f.name != "seed")
        return {f.name: getattr(self.aligner, f.name) for f in own if getattr(self.aligner, f.name) != f.default}

    @property
    def label(self) -> str:
        return ",".join([self.aligner.method.name, *(f"{key}={value}" for key, value in self.settings.items())])

    @property
    def pin(self) -> str:
        """How to ask for it on the command line."""
        return " ".join(
            [f"-m {self.aligner.method.name}", *(f"--set {key}={value}" for key, value in self.settings.items())]
        )


def nominate(given: Given, effort: str, *, both_sides: bool = True, **common: Any) -> list[Candidate]:
    """The methods to compare, those first that were best on most languages: the first wins what cannot be told apart.

    Closed forms cost next to nothing, so that they are always among them. `common`: settings that every aligner has.
    """
    tuned = Contrastive(both_sides=both_sides, **common)
    if effort == "quick":
        tuned = dataclasses.replace(tuned, cutoff=_QUICK_CUTOFF)
    found: list[Aligner] = [tuned]
    few = given.sources < given.dim
    if given.spelled and effort != "quick" and (effort == "best" or few):
        # Fewer pairs than dimensions leave much of the start to chance; words that are written alike are a second one,
        # which takes a minute to find.
        started = dataclasses.replace(tuned, start="cognates")
        found = [started, tuned] if few else [tuned, started]
    return [Candidate(one) for one in (*found, Procrustes(**common), LeastSquares(**common))]
