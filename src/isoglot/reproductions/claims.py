"""A paper's claim beside our numbers: shown, contradicted or undecided, by the interval of a difference over runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from isoglot.report import Table


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and what became of it.

    Args:
        differences: of each run (a seed, a simulated pair), by how much what is claimed to be more is more.
        margin: what they must exceed for the claim to hold.
        numbers: ours, in words.
        paper: the paper's, in words.
        holds: for a claim about something else than a difference.

    >>> Claim("A beats B", (0.1, 0.2, 0.3)).verdict, Claim("A beats B", (0.1, 0.12, 0.11)).verdict
    ('undecided', 'shown')
    """

    claim: str
    differences: tuple[float, ...] = ()
    margin: float = 0.0
    numbers: str = "-"
    paper: str = ""
    holds: bool | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the mean difference, 95%; None from one run."""
        return run_interval(self.differences)

    @property
    def shown(self) -> bool | None:
        """Whether the whole interval lies above the margin (True) or below it (False); None: neither can be told."""
        if self.interval is None:
            return self.holds
        low, high = self.interval
        return True if low > self.margin else False if high < self.margin else None

    @property
    def verdict(self) -> str:
        if self.shown is None:
            return "undecided" if self.differences else "not tested"
        return "shown" if self.shown else "contradicted"

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        own = {"interval": self.interval, "shown": self.shown, "verdict": self.verdict}
        return {**dataclasses.asdict(self), **own}


def claim_table(claims: Sequence[Claim]) -> Table:
    """Head and rows: what the paper says, and what became of it here."""
    rows = [[one.claim, one.verdict, one.numbers, one.paper] for one in claims]
    if any(one.paper for one in claims):
        return ["the paper says", "here", "numbers", "the paper's"], rows
    return ["the paper says", "here", "numbers"], [row[:-1] for row in rows]


def difference_text(differences: Sequence[float], unit: str = "runs") -> str:
    """Mean and 95% interval over runs, or over what else `unit` says.

    >>> difference_text([0.1, 0.2, 0.3]), difference_text([0.1])
    ('+0.200 (95% -0.048 to +0.448 over 3 runs)', '+0.100 (one run)')
    """
    interval = run_interval(differences)
    if interval is None:
        return f"{fmean(differences):+.3f} (one {unit[:-1]})"
    return f"{fmean(differences):+.3f} (95% {interval[0]:+.3f} to {interval[1]:+.3f} over {len(differences)} {unit})"


def run_interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """The 95% interval of a mean by Student's t; None for fewer than two values.

    >>> tuple(round(end, 3) for end in run_interval([0.1, 0.2, 0.3]))
    (-0.048, 0.448)
    """
    from scipy.stats import t

    n = len(differences)
    if n < 2:
        return None
    half = float(t.ppf(0.975, n - 1)) * stdev(differences) / math.sqrt(n)
    return fmean(differences) - half, fmean(differences) + half
