"""What the experiment with static and contextual vectors shows: four claims of Hämmerl et al. 2022, over our seeds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

__all__ = ["PAPER", "SeedClaim", "claims_of", "mean_retrieval", "mean_translation", "seed_interval"]

Record = Mapping[str, Any]

#: P@1 in the paper's tables: words (from English, to English) as distilled and aligned, and sentences (Tatoeba).
PAPER: dict[str, Any] = {
    "bli": {
        "as distilled": {"from pivot": 0.5211, "to pivot": 0.59},
        "aligned": {"from pivot": 0.5841, "to pivot": 0.656},
    },
    "retrieval": {"start": 0.5035, "mlm": 0.6087, "static-mse": 0.1005, "static-dcca": 0.6806},
}


@dataclasses.dataclass(frozen=True)
class SeedClaim:
    """A claim that one way gets more than another, both tested with the same seeds.

    Args:
        paper: the figures that the paper has for it, in words.
        more, less: means over seeds of both; None where they were not measured.
        differences: of each seed.
    """

    claim: str
    paper: str
    more: float | None = None
    less: float | None = None
    differences: tuple[float, ...] = ()

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the mean difference, 95%."""
        return seed_interval(self.differences)

    @property
    def shown(self) -> bool | None:
        """Whether the interval lies above zero; None: not measured, or with one seed only."""
        return None if self.interval is None else self.interval[0] > 0

    @property
    def verdict(self) -> str:
        if self.interval is None:
            return "cannot be told from one seed" if self.differences else "not tested"
        opposite = ": the opposite" if self.interval[1] < 0 else ""
        return "shown" if self.shown else f"not shown{opposite}"

    @property
    def numbers(self) -> str:
        """Ours, in words."""
        if self.more is None or self.less is None:
            return "-"
        text = f"{self.more:.3f} against {self.less:.3f}, difference {fmean(self.differences):+.3f}"
        if self.interval is not None:
            low, high = self.interval
            text += f" ({low:+.3f} to {high:+.3f}, {len(self.differences)} seeds)"
        return text

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        found = dataclasses.asdict(self)
        return {
            **found,
            "interval": self.interval,
            "shown": self.shown,
            "verdict": self.verdict,
            "numbers": self.numbers,
        }


def claims_of(document: Record) -> list[SeedClaim]:
    """The claims, by the rows of a document of `static_contextual`."""
    printed = {state: "/".join(f"{100 * one:.2f}" for one in PAPER["bli"][state].values()) for state in PAPER["bli"]}
    found = {name: f"{100 * value:.2f}" for name, value in PAPER["retrieval"].items()}
    seeds = {row["seed"] for row in document["static"] if row["method"] == "x2static"}
    words = {
        (method, state, what): _by_seed(
            (row["seed"], mean_translation(row["bli"][state], what=what))
            for row in document["static"]
            if row["method"] == method
        )
        for method in ("x2static", "aggregate")
        for state in ("as distilled", "normalised", "aligned")
        for what in ("value", "different")
    }
    for (method, _, _), values in words.items():
        if method == "aggregate" and values:
            # A mean over all contexts knows no chance: it is the same beside every seed.
            values.update(dict.fromkeys(seeds, next(iter(values.values()))))
    sentences = {
        objective: _by_seed(
            (row["seed"], mean_retrieval(row["retrieval"]))
            for row in document["encoders"]
            if row["objective"] == objective
        )
        for objective in ("mlm", "static-mse", "static-dcca")
    }
    return [
        *(
            _compared(
                f"X2Static beats means over contexts in translating words, {state}",
                'no figures: X2Static "worked better" in first trials',
                words["x2static", state, "value"],
                words["aggregate", state, "value"],
            )
            for state in ("as distilled", "aligned")
        ),
        *(
            _compared(
                f"Beside the paper: the same for words that are not written alike, {state}",
                "not told",
                words["x2static", state, "different"],
                words["aggregate", state, "different"],
            )
            for state in ("as distilled", "aligned")
        ),
        _compared(
            "Aligned, X2Static's vectors translate words better (X2S-MA beats X2S-M)",
            f"{printed['aligned']} against {printed['as distilled']}",
            words["x2static", "aligned", "value"],
            words["x2static", "as distilled", "value"],
        ),
        _compared(
            "Beside the paper: aligned, they are better than if only normalised as the aligner does",
            "not told",
            words["x2static", "aligned", "value"],
            words["x2static", "normalised", "value"],
        ),
        _compared(
            "DCCA towards static vectors finds more sentences than masked tokens alone",
            f"{found['static-dcca']} against {found['mlm']}",
            sentences["static-dcca"],
            sentences["mlm"],
        ),
        _compared(
            "MSE towards static vectors finds fewer sentences than masked tokens alone",
            f"{found['mlm']} against {found['static-mse']}",
            sentences["mlm"],
            sentences["static-mse"],
        ),
    ]


def mean_translation(
    figures: Record, pivot: str | None = None, *, to_pivot: bool | None = None, what: str = "value"
) -> float | None:
    """The mean P@1 over languages and directions; of one direction only, if asked. None without any figures.

    Args:
        what: "value", or "different" for pairs that are not written alike.

    >>> figures = {"de": {"en-de": {"value": 0.5}, "de-en": {"value": 0.7}}, "fr": {"en-fr": {"value": 0.3}}}
    >>> round(mean_translation(figures), 3), mean_translation(figures, "en", to_pivot=False)
    (0.5, 0.4)
    """
    values = [
        float(figure[what])
        for lang, directions in figures.items()
        for direction, figure in directions.items()
        if figure.get(what) is not None
        if to_pivot is None or direction == (f"{lang}-{pivot}" if to_pivot else f"{pivot}-{lang}")
    ]
    return fmean(values) if values else None


def mean_retrieval(figures: Record, score: str = "cosine", what: str = "both") -> float | None:
    """The mean P@1 of sentences over languages; None without any figures."""
    values = [float(one[score][what]) for one in figures.values()]
    return fmean(values) if values else None


def seed_interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """The 95% interval of a mean by Student's t; None for fewer than two values.

    >>> tuple(round(end, 3) for end in seed_interval([0.1, 0.2, 0.3]))
    (-0.048, 0.448)
    """
    from scipy.stats import t

    n = len(differences)
    if n < 2:
        return None
    half = float(t.ppf(0.975, n - 1)) * stdev(differences) / math.sqrt(n)
    return fmean(differences) - half, fmean(differences) + half


def _by_seed(figures: Iterable[tuple[int, float | None]]) -> dict[int, float]:
    return {seed: value for seed, value in figures if value is not None}


def _compared(claim: str, paper: str, more: Mapping[int, float], less: Mapping[int, float]) -> SeedClaim:
    """By the seeds that both have."""
    seeds = [seed for seed in more if seed in less]
    if not seeds:
        return SeedClaim(claim, paper)
    high, low = (fmean(one[seed] for seed in seeds) for one in (more, less))
    return SeedClaim(claim, paper, high, low, tuple(more[seed] - less[seed] for seed in seeds))
