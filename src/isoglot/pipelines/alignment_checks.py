"""Does an aligned encoder hurt on text of another kind than it was learned on? Measured, and used to choose the pull.

A check is parallel text, judged by sentence retrieval, or one text for each language, judged by the semantic criterion:
the mean cosine of nearest neighbours, where both texts are centred, as a mean that all sentences share would count as
nearness. Where a pull is chosen, every second line helps to choose it and only the others are reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isoglot.aligners import Aligner
from isoglot.criteria import confident_pairs
from isoglot.encoders import AlignedEncoder, Encoder
from isoglot.errors import InputError
from isoglot.pipelines.encoder_alignment import Learn
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, Normaliser, unit_rows
from isoglot.tasks import PairedTest, Result, bootstrap_intervals, paired_test, tatoeba

#: Lines of a check that are looked at, half of them to choose.
MOST_LINES = 2000
#: In `AlignedEncoder.info`: how checks chose the pull.
_CHOICE = "pull_choice"


@dataclasses.dataclass(frozen=True)
class Check:
    """Text of another kind: `parallel` if the lines of `src` and `tgt` translate each other."""

    name: str
    src: tuple[str, ...]
    tgt: tuple[str, ...]
    parallel: bool = True

    @classmethod
    def of(cls, name: str, src: Sequence[str], tgt: Sequence[str], *, parallel: bool = True) -> Check:
        """Without blank lines; at most 2,000 lines."""
        if parallel and len(src) != len(tgt):
            raise InputError(f"{len(src):,} and {len(tgt):,} lines do not translate each other", where=name)
        if parallel:
            kept = [pair for pair in zip(src, tgt, strict=True) if pair[0].strip() and pair[1].strip()]
            src, tgt = [line for line, _ in kept], [line for _, line in kept]
        first, second = (tuple(line for line in side if line.strip())[:MOST_LINES] for side in (src, tgt))
        if min(len(first), len(second)) < 4:
            raise InputError("a check needs four lines of text or more for each language", where=name)
        return cls(name, first, second, parallel)

    def half(self, first: int) -> Check:
        """Every second line."""
        return dataclasses.replace(self, src=self.src[first::2], tgt=self.tgt[first::2])


@dataclasses.dataclass(frozen=True)
class CheckOutcome:
    """A figure before and after alignment, and the 95% interval of the difference."""

    name: str
    metric: str
    lines: int
    before: float
    after: float
    interval: tuple[float, float]

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def hurts(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.interval[1] < 0

    @property
    def warning(self) -> str:
        """What a person should know of a map that hurts."""
        low, high = self.interval
        return (
            f"it hurts on {self.name}: {self.metric} falls from {self.before:.3f} to {self.after:.3f} "
            f"(95% interval of the difference {low:+.3f} to {high:+.3f}); not recommended for such text"
        )

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        figures = {key: round(getattr(self, key), 4) for key in ("before", "after", "difference")}
        interval = [round(end, 4) for end in self.interval]
        return {**dataclasses.asdict(self), **figures, "interval": interval, "hurts": self.hurts}


def choose_with_checks(
    learn: Learn,
    aligner: Aligner,
    checks: Sequence[Check],
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> AlignedEncoder:
    """Learn with the pull that does best over all kinds of text, of those that hurt on none of the checks.

    Looked at are the pull that cross-validation chooses and larger ones. Every kind counts the same: its figure as a
    share of the best one that any pull has there. If all pulls hurt, the largest is taken. `learn` gives the aligned
    encoder of an aligner; where a method has no pull to choose, that is all.
    """
    first = learn(aligner)
    tried = _tried(first)
    if not tried or not checks:
        return first
    halves = [check.half(0) for check in checks]
    states = [_Encoded(first.encoder, check, progress) for check in halves]
    chosen = max(alignment.info["pull"] for alignment in first.alignments)
    candidates, shares, harmless = [], [], []
    larger = [(pull, share) for pull, share in tried.items() if pull >= chosen]
    for number, (pull, share) in enumerate(larger):
        one = learn(dataclasses.replace(aligner, pull=pull))  # type: ignore[call-arg]
        outcomes = [judge(one, check, encoded, seed) for check, encoded in zip(halves, states, strict=True)]
        candidates.append(one)
        shares.append([share, *(outcome.after for outcome in outcomes)])
        # One standard error is about a quarter of the interval.
        harmless.append(all(o.difference + (o.interval[1] - o.interval[0]) / 4 >= 0 for o in outcomes))
        progress("choosing the pull with the checks", number + 1, len(larger))
    figures = np.array(shares)  # (candidates, kinds)
    relative = (figures / np.maximum(figures.max(axis=0), 1e-9)).mean(axis=1)
    best = int(np.where(harmless, relative, -np.inf).argmax()) if any(harmless) else len(candidates) - 1
    choice = {
        "kinds": ["the pairs", *(check.name for check in checks)],
        "tried": [[pull, *map(float, row)] for (pull, _), row in zip(larger, figures.round(4).tolist(), strict=True)],
        "harmless": bool(harmless[best]),
    }
    return dataclasses.replace(candidates[best], info={**candidates[best].info, _CHOICE: choice})


def run_checks(
    aligned: AlignedEncoder, checks: Sequence[Check], *, seed: int = 0, progress: Progress = silent
) -> list[CheckOutcome]:
    """Each check before and after, on those lines that helped to choose nothing."""
    reported = [check.half(1) if _CHOICE in aligned.info else check for check in checks]
    return [judge(aligned, check, _Encoded(aligned.encoder, check, progress), seed) for check in reported]


def compared(name: str, before: Result, after: Result, *, seed: int = 0) -> CheckOutcome:
    """Two results of sentence retrieval on the same lines."""
    test: PairedTest = paired_test(after, before, key="index", repeats=1000, seed=seed)
    return CheckOutcome(name, f"P@1 by {after.protocol['score']}", test.n, before.value, after.value, test.interval)


class _Encoded:
    """The encoder's own vectors of a check, computed once."""

    def __init__(self, encoder: Encoder, check: Check, progress: Progress) -> None:
        several = len(encoder.layers.numbers) > 1
        step = f"encoding {check.name}"
        self.plain = tuple(encoder.sentences(side, step=step, progress=progress) for side in (check.src, check.tgt))
        self.layers = (
            tuple(encoder.sentence_layers(side, step=step, progress=progress) for side in (check.src, check.tgt))
            if several
            else tuple(vectors[None] for vectors in self.plain)
        )


def judge(aligned: AlignedEncoder, check: Check, encoded: _Encoded, seed: int) -> CheckOutcome:
    mapped = []
    for side, lang in enumerate(aligned.languages):
        if aligned.level == "word":  # the tokens are mapped, before they become a sentence
            mapped.append(aligned.sentences((check.src, check.tgt)[side], lang))
        else:
            states = encoded.layers[side] if aligned.each else encoded.plain[side][None]
            mapped.append(aligned.maps(lang).apply(states))
    if not check.parallel:
        return _semantic(check.name, encoded.plain, mapped, seed)
    before, after = (
        tatoeba(X, Y, score="csls", sentences=(check.src, check.tgt), bootstrap=0)[0]
        for X, Y in (encoded.plain, mapped)
    )
    return compared(check.name, before, after, seed=seed)


def _semantic(name: str, plain: Sequence[FloatMatrix], mapped: Sequence[FloatMatrix], seed: int) -> CheckOutcome:
    """The semantic criterion before and after; an item is a sentence of the source with its nearest of the target."""
    cosines = []
    for vectors in (plain, mapped):
        X, Y = (Normaliser.fit_transform("unit,centre,unit", side)[1] for side in vectors)
        pairs, _ = confident_pairs(X, Y)
        pairs = pairs[np.argsort(pairs[:, 0])]
        cosines.append(np.einsum("ij,ij->i", unit_rows(X[pairs[:, 0]]), unit_rows(Y[pairs[:, 1]])).astype(np.float64))
    low, high = bootstrap_intervals((cosines[1] - cosines[0])[:, None], seed=seed)[0].tolist()
    before, after = (float(one.mean()) for one in cosines)
    return CheckOutcome(name, "semantic criterion", len(cosines[0]), before, after, (low, high))


def _tried(aligned: AlignedEncoder) -> Mapping[float, float]:
    """Every pull that was tried, and the share of pairs that it found; the mean over layers."""
    tables = [alignment.info.get("pull_choice", {}).get("tried") for alignment in aligned.alignments]
    if not all(tables):
        return {}
    return {rows[0][0]: float(np.mean([share for _, share in rows])) for rows in zip(*tables, strict=True)}
