"""Which epoch of a training to keep: by a criterion that needs no dictionary, by held-out pairs, or simply the last.

Zhao & Eger 2022, section 4.2: both criteria are taken over the most confident translations that the map itself induces,
after every epoch; they find the semantic one the best guide, also where there are pairs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from isoglot.aligners.base import Aligner, Problem
from isoglot.aligners.epoch_choice import SELECT, chosen
from isoglot.aligners.held_out import hold_out, rank_in_lists
from isoglot.criteria import PAIRS, PERMUTED, measure
from isoglot.errors import ConfigError
from isoglot.retrieval import EUCLIDEAN_SCORES, Retriever
from isoglot.settings import Limits
from isoglot.spaces import FloatMatrix, drawn_rows

#: Share of the pairs that select="validation" keeps back.
HELD_OUT = 0.1
#: The criteria look for translations among so many times as many target rows as they ask for.
AMONG = 5
#: How many translations of a held-out word are looked at.
LOOKED_AT = 10


@dataclasses.dataclass(frozen=True)
class Trained(Aligner):
    """Settings of every method that trains a network.

    Args:
        batch, rate, epochs, optimiser: of the training; "rmsprop" or "adam".
        decay: let the rate fall to nothing towards the end.
        select: which epoch to keep, see `Selection`.
        score: by which the criteria induce translations; "csls-euclidean" for spaces of few dimensions.
        words: the criteria ask for the translations of so many source rows, among five times as many of the target,
            all of them drawn at random.
    """

    batch: int = 32
    rate: float = 1e-4
    epochs: int = 20
    optimiser: str = "rmsprop"
    decay: bool = False
    select: str = "semantic"
    score: str = "csls"
    words: int = 5_000

    limits: ClassVar[Limits] = {
        "batch": "[1, inf)",
        "rate": "(0, inf)",
        "optimiser": ("rmsprop", "adam"),
        "select": (*SELECT, "validation"),
        "words": "[1, inf)",
    }


@dataclasses.dataclass(frozen=True)
class PairTrained(Trained):
    """Settings of networks that learn from pairs.

    Args:
        least_steps: an epoch of few pairs goes through them several times, up to so many steps; 0 for once.
    """

    least_steps: int = 0


class Selection:
    """Judges maps of X (n, d) to Y (m, d), epoch by epoch, and says which is the best so far.

    `settings.select`: "semantic" (highest mean similarity of induced pairs), "structural" (smallest difference of
    singular values), "validation" (held-out pairs; they are not in `learn`), "last".
    """

    def __init__(self, settings: Trained, problem: Problem) -> None:
        X, Y, pairs = problem.X, problem.Y, problem.pairs
        self.select, self.score = settings.select, settings.score
        self.learn, self.kept = hold_out(pairs, HELD_OUT if self.select == "validation" else 0.0, settings.seed)
        if self.select == "validation" and not len(self.kept):
            raise ConfigError(
                f"{len(pairs)} pairs are too few to keep some back", where="select", remedy="select=semantic"
            )
        # The same rows each time, whatever the map makes of their order.
        asked, among = settings.words, AMONG * settings.words
        if self.score in EUCLIDEAN_SCORES:
            asked = among = min(asked, PERMUTED)
        self._X, self._Y = X[drawn_rows(X, asked, settings.seed)], Y[drawn_rows(Y, among, settings.seed)]
        # As large a share as the paper's most confident pairs are of all rows.
        self._pairs = -(-PAIRS * len(self._X) // max(len(X), PAIRS))
        self._held_out = X[self.kept[:, 0]], Y
        self.history: list[Mapping[str, Any]] = []

    def look(self, there: Callable[[FloatMatrix], FloatMatrix], **facts: Any) -> bool:
        """Judge the map `there`, and whether it is the best so far; `facts` are kept in the history beside the figures.

        The first look is at the map before any training, epoch 0.
        """
        mapped = there(self._X)
        found = measure(mapped, self._Y, pairs=self._pairs, score=self.score, backend="auto")
        row = {
            "epoch": len(self.history),
            "semantic": found.semantic,
            "structural": found.structural,
            "mutual": found.mutual,
            **({"validation": self._validation(there)} if len(self.kept) else {}),
            **facts,
        }
        self.history.append(row)
        return self.best == len(self.history) - 1

    @property
    def best(self) -> int:
        """The place in the history of the map to keep; of equals the first."""
        return chosen(self.history, self.select)

    @property
    def info(self) -> dict[str, Any]:
        """What an Alignment tells about it."""
        row = self.history[self.best]
        return {
            "select": self.select,
            "best_epoch": self.best,
            "semantic": row["semantic"],
            "structural": row["structural"],
            "mutual": row["mutual"],
            "history": list(self.history),
        }

    def _validation(self, there: Callable[[FloatMatrix], FloatMatrix]) -> float:
        """Mean reciprocal rank of the held-out words' translations among all target words."""
        X, Y = self._held_out
        lists = Retriever(there(X), Y, score=self.score, backend="auto").top(LOOKED_AT).indices
        sources, rows = np.unique(self.kept[:, 0], return_index=True)
        return float(rank_in_lists(sources, lists[rows], self.kept).mean())
