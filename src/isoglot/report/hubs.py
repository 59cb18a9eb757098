"""Hubs: words that are neighbours of far too many others (Radovanović et al. 2010), before and after."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError
from isoglot.report.axes import Axis
from isoglot.report.page import Section
from isoglot.report.plots import plot
from isoglot.report.series import Series, look
from isoglot.report.tables import escape, percent, table
from isoglot.spaces import IntVector


@dataclasses.dataclass(frozen=True)
class HubnessCounts:
    """How often each target word is among the k nearest of a source word, and which are so most often."""

    label: str
    k: int
    occurrences: IntVector  # (targets,)
    top: tuple[tuple[str, int], ...]

    @property
    def skewness(self) -> float:
        """Third standardised moment of the occurrences; 0 if all words are retrieved equally often."""
        values = self.occurrences - self.occurrences.mean()
        deviation = values.std()
        return float((values**3).mean() / deviation**3) if deviation else 0.0

    @property
    def never(self) -> float:
        """Share of target words that are nobody's neighbour."""
        return float((self.occurrences == 0).mean())


def count_hubs(label: str, neighbours: npt.ArrayLike, words: Sequence[str], *, top: int = 8) -> HubnessCounts:
    """Count from neighbour lists (queries, k) of rows among `words`; negative rows stand for no neighbour.

    >>> hubs = count_hubs("cosine", [[0], [0], [1]], ["a", "b", "c"])
    >>> hubs.top, hubs.occurrences.tolist()
    ((('a', 2), ('b', 1)), [2, 1, 0])
    """
    indices = np.asarray(neighbours, dtype=np.int64)
    if indices.ndim != 2:
        raise InputError(f"neighbours must be a matrix (queries, k), not of shape {indices.shape}")
    occurrences = np.bincount(indices[indices >= 0], minlength=len(words)).astype(np.int64)
    order = np.argsort(-occurrences, kind="stable")[:top]
    best = tuple((words[i], int(occurrences[i])) for i in order if occurrences[i])
    return HubnessCounts(label, indices.shape[1], occurrences, best)


def hubness_section(counts: Sequence[HubnessCounts]) -> Section:
    """A histogram of occurrences and the largest hubs of each setting."""
    largest = max((int(one.occurrences.max(initial=0)) for one in counts), default=0)
    edges = [0, 1, *(2**power for power in range(1, max(2, largest).bit_length() + 1))]
    names = [str(a) if b - a == 1 else f"{a}–{b - 1}" for a, b in itertools.pairwise(edges)]
    series = []
    for number, one in enumerate(counts):
        shares = 100 * np.histogram(one.occurrences, bins=edges)[0] / max(1, len(one.occurrences))
        tips = [f"{name} times: {share:.2f}% of words ({one.label})" for name, share in zip(names, shares, strict=True)]
        series.append(Series(one.label, range(len(names)), shares.tolist(), "bars", look(number), tips=tips))
    chart = plot(
        series,
        Axis("neighbour of so many source words", names=tuple(names)),
        Axis("share of target words, %", zero=True),
        label="How often target words are retrieved",
        height=300,
    )
    summary = table(
        ["setting", "k", "skewness", "nobody's neighbour, %", "largest"],
        [
            [one.label, one.k, f"{one.skewness:.2f}", percent(one.never), f"{one.occurrences.max(initial=0):,}"]
            for one in counts
        ],
        numeric=[1, 2, 3, 4],
    )
    hubs = "".join(
        f"<div><h3>Largest hubs: {escape(one.label)}</h3>{table(['word', 'neighbour of'], one.top, numeric=[1])}</div>"
        for one in counts
    )
    return Section(
        "Hubness",
        chart + f'{summary}<div class="pair" style="margin-top:14px">{hubs}</div>',
        "In high dimensions a few words crowd into the neighbour lists of many others and draw wrong translations. "
        "The fewer such hubs, and the fewer words that nobody retrieves, the better.",
    )
