"""What the experiment with static and contextual vectors shows: four claims of Hämmerl et al. 2022, over our seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from isoglot.reproductions.claims import Claim, difference_text
from isoglot.reproductions.static_contextual.findings import EncoderRow, Sentences, StaticRow, Translations

#: P@1 in the paper's tables: words (from English, to English) as distilled and aligned, and sentences (Tatoeba).
PAPER: dict[str, Any] = {
    "bli": {
        "as distilled": {"from pivot": 0.5211, "to pivot": 0.59},
        "aligned": {"from pivot": 0.5841, "to pivot": 0.656},
    },
    "retrieval": {"start": 0.5035, "mlm": 0.6087, "static-mse": 0.1005, "static-dcca": 0.6806},
}


def claims_of(static: Sequence[StaticRow], encoders: Sequence[EncoderRow]) -> list[Claim]:
    """The claims, by the figures of static vectors and of encoders."""
    printed = {state: "/".join(f"{100 * one:.2f}" for one in PAPER["bli"][state].values()) for state in PAPER["bli"]}
    found = {name: f"{100 * value:.2f}" for name, value in PAPER["retrieval"].items()}
    seeds = {row.seed for row in static if row.method == "x2static"}
    words = {
        (method, state, what): _by_seed(
            (row.seed, mean_translation(row.bli[state], what=what)) for row in static if row.method == method
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
        objective: _by_seed((row.seed, mean_retrieval(row.retrieval)) for row in encoders if row.objective == objective)
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
    figures: Translations, pivot: str | None = None, *, to_pivot: bool | None = None, what: str = "value"
) -> float | None:
    """The mean P@1 over languages and directions; of one direction only, if asked. None without any figures.

    Args:
        what: "value", or "different" for pairs that are not written alike.

    >>> from isoglot.reproductions.static_contextual.findings import WordFigure
    >>> figures = {"de": {"en-de": WordFigure(0.5), "de-en": WordFigure(0.7)}, "fr": {"en-fr": WordFigure(0.3)}}
    >>> round(mean_translation(figures), 3), mean_translation(figures, "en", to_pivot=False)
    (0.5, 0.4)
    """
    values = [
        getattr(figure, what)
        for lang, directions in figures.items()
        for direction, figure in directions.items()
        if to_pivot is None or direction == (f"{lang}-{pivot}" if to_pivot else f"{pivot}-{lang}")
    ]
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def mean_retrieval(figures: Sentences, score: str = "cosine", what: str = "both") -> float | None:
    """The mean P@1 of sentences over languages; None without any figures."""
    values = [float(getattr(one[score], what)) for one in figures.values()]
    return fmean(values) if values else None


def _by_seed(figures: Iterable[tuple[int | None, float | None]]) -> dict[int | None, float]:
    return {seed: value for seed, value in figures if value is not None}


def _compared(claim: str, paper: str, more: Mapping[int | None, float], less: Mapping[int | None, float]) -> Claim:
    """By the seeds that both have."""
    seeds = [seed for seed in more if seed in less]
    if not seeds:
        return Claim(claim, paper=paper)
    high, low = (fmean(one[seed] for seed in seeds) for one in (more, less))
    differences = tuple(more[seed] - less[seed] for seed in seeds)
    numbers = f"{high:.3f} against {low:.3f}, difference {difference_text(differences)}"
    return Claim(claim, differences, numbers=numbers, paper=paper)
