"""What an audit found: the figures of every layer, the verdict in words, and the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import isoglot
from isoglot.pipelines.audit_measures import DOMINANT
from isoglot.report import Report, audit_sections, write_report

#: P@1 from which on we call a space usable, and below which hardly cross-lingual.
GOOD, POOR = 0.8, 0.2


@dataclasses.dataclass(frozen=True)
class Figure:
    """A value and its 95% interval."""

    value: float
    interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        return _percent(self.value) + ("" if self.interval is None else f" (95% {_between(self.interval)})")


@dataclasses.dataclass(frozen=True)
class Retrieval:
    """P@1 of both directions, from source to target (`there`) and `back`, and their mean."""

    mean: Figure
    there: Figure
    back: Figure


@dataclasses.dataclass(frozen=True)
class LayerAudit:
    """All figures of one layer; 0 is the embedding. `as_is`, `halved` and `aligned` are by score: "cosine", "csls".

    Args:
        as_is: retrieval among all sentences.
        halved: the same among the sentences of a half.
        aligned: among the same, after the map learned on the other half.
        gain: what that brings to this layer: CSLS, mean of both directions, aligned less halved.
        word_match: share of the words asked whose most similar word lies in the translation; `word_chance` of it would
            hit by chance. None where no words could be asked.
        word_links: F1, precision, recall and AER of words that are each other's most similar; with links only.
        probe: share of sentences whose language is told right; 0.5 is chance.
        anisotropy: mean cosine of words within the source, within the target, and across.
        standardised: retrieval among all sentences (CSLS, mean of both directions) after every dimension of each
            language was given mean 0 and variance 1, which needs no translations.
        dominance: share of the squared length of sentence vectors that their three largest dimensions hold.
        skewness, robin_hood: hubness of the 10 nearest by cosine, mean of both directions.
    """

    layer: int
    as_is: Mapping[str, Retrieval]
    halved: Mapping[str, Retrieval]
    aligned: Mapping[str, Retrieval]
    gain: Figure
    word_match: Figure | None
    word_chance: float | None
    word_links: Mapping[str, Figure] | None
    probe: Figure
    anisotropy: tuple[float, float, float] | None
    standardised: Figure
    dominance: float
    skewness: float
    robin_hood: float
    singular_value_gap: float
    eigenvector_similarity: float
    relational_similarity: float


@dataclasses.dataclass(frozen=True)
class BestLayer:
    """The layer with the highest P@1 (CSLS, mean of both directions), and how sure that is.

    `lead` is its difference to the `next` best layer, resampled over the same sentences; `tied` are all layers whose
    difference to it may be nothing. It is chosen and measured on the same sentences, which flatters it a little.
    """

    layer: int
    p1: Figure
    next: int | None
    lead: Figure | None
    tied: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Audit:
    """What an audit found. `gain`: best layer after aligning against best layer as it is, both within halves."""

    encoder: str
    languages: tuple[str, str]
    dim: int
    sentences: int
    words: tuple[int, int]
    layers: tuple[LayerAudit, ...]
    best_as_is: BestLayer
    best_aligned: BestLayer
    gain: Figure
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def layer(self, number: int) -> LayerAudit:
        """The figures of this layer."""
        return next(one for one in self.layers if one.layer == number)

    @property
    def verdict(self) -> str:
        """How cross-lingual, in a few words."""
        raw, aligned = self.best_as_is.p1.value, self.best_aligned.p1.value
        helps = self.gain.interval is not None and self.gain.interval[0] > 0
        if raw >= GOOD:
            return "cross-lingual as it is"
        if helps and aligned >= GOOD:
            return "cross-lingual once aligned"
        if max(raw, aligned) < POOR:
            return "hardly cross-lingual"
        return "partly cross-lingual, more so once aligned" if helps else "partly cross-lingual"

    def sentences_of_verdict(self) -> list[str]:
        """The verdict in sentences, for people."""
        raw, aligned = self.best_as_is, self.best_aligned
        half = self.sentences // 2
        lines = [
            f"{self.encoder} is {self.verdict} on these sentences.",
            f"As it is, {_name(raw.layer)} finds translations best: P@1 {raw.p1}, CSLS, mean of both directions, among "
            f"{self.sentences:,} sentences. {_sureness(raw)}",
            f"After a rotation learned on the other half, {_name(aligned.layer)} is best: P@1 {aligned.p1} among "
            f"{half:,}. {_sureness(aligned)}",
        ]
        before = self.layer(raw.layer).halved["csls"].mean.value
        told = f"{_points(self.gain.value)} ({_points_interval(self.gain)})"
        if self.gain.interval is not None and self.gain.interval[0] > 0:
            lines.append(f"Aligning brings {told}: as it is, P@1 is {_percent(before)} among as many.")
        elif self.gain.interval is not None and self.gain.interval[1] < 0:
            lines.append(f"Aligning with so few sentences does harm: {told}, from {_percent(before)} among as many.")
        else:
            lines.append(f"Best layer against best layer, aligning brings nothing that could be told: {told}.")
        most = max(self.layers, key=lambda one: one.gain.value)
        if most.gain.interval is not None and most.gain.interval[0] > 0:
            ends = (kind["csls"].mean.value for kind in (most.halved, most.aligned))
            lines.append(f"Of single layers, {most.layer} gains most by it: from {' to '.join(map(_percent, ends))}.")
        if aligned.layer == 0:
            lines.append("Layer 0 has seen no context: what a rotation brings together there is vocabulary.")
        if half < self.dim:
            lines.append(
                f"The rotation was learned on {half:,} pairs in {self.dim:,} dimensions: more sentences would make it "
                "better."
            )
        lines += self._huge_dimensions()
        probe = self.layer(raw.layer).probe.value
        kind = "clearly marked" if probe >= 0.9 else "marked" if probe >= 0.6 else "hardly marked"
        lines.append(
            f"In layer {raw.layer}, language is {kind}: a linear probe tells that of {_percent(probe)} of sentences."
        )
        return lines

    def _huge_dimensions(self) -> list[str]:
        """What to do where few dimensions rule layers: the best of these once all dimensions count the same."""
        ruled = [one for one in self.layers if one.dominance >= DOMINANT]
        if not ruled:
            return []
        most = max(ruled, key=lambda one: one.standardised.value)
        told = f"In layer {most.layer}, three of {self.dim:,} dimensions hold {_percent(most.dominance)} of the length"
        before, after = most.as_is["csls"].mean.value, most.standardised.value
        if after <= before:
            return [f"{told}; standardising dimensions does not help there."]
        ends = " to ".join(map(_percent, (before, after)))
        return [
            f"{told}: standardising each dimension lifts P@1 from {ends} without any translations; to align, set "
            "`normalise` to standardise,unit."
        ]

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            **dataclasses.asdict(self),
            "verdict": self.verdict,
            "sentences_of_verdict": self.sentences_of_verdict(),
        }


def write_audit_page(path: str | Path, audit: Audit) -> None:
    """One HTML page: the verdict, curves over layers, all figures."""
    names = [lang or side for lang, side in zip(audit.languages, ("source", "target"), strict=True)]
    split = " and ".join(dict.fromkeys(audit.settings["segmenter"]))
    write_report(
        path,
        Report(
            f"How cross-lingual is {audit.encoder}?",
            f"{audit.verdict[0].upper()}{audit.verdict[1:]}: {names[0]} and {names[1]}, {audit.sentences:,} sentences, "
            f"{len(audit.layers)} layers",
            notes=audit.sentences_of_verdict(),
            settings={
                "encoder": audit.encoder,
                "sentence pairs": f"{audit.sentences:,}",
                "words looked at": f"{audit.words[0]:,} {names[0]}, {audit.words[1]:,} {names[1]}",
                "segmenter": split,
                "CSLS": f"{audit.settings['csls_neighbourhood']} neighbours",
                "intervals": f"95%, {audit.settings['bootstrap']:,} resamples of sentences",
                **{f"note {i}": note for i, note in enumerate(audit.notes, start=1)},
            },
            seed=audit.settings["seed"],
            versions={"isoglot": isoglot.__version__},
            sections=audit_sections(audit.record()),
        ),
    )


def _name(layer: int) -> str:
    return f"layer {layer}" if layer else "layer 0, the embedding,"


def _sureness(best: BestLayer) -> str:
    if best.next is None or best.lead is None:
        return "There is no other layer."
    if best.tied:
        listed = ", ".join(map(str, best.tied))
        return (
            f"That is no surer than layer{'s' if len(best.tied) > 1 else ''} {listed}: differences are within chance."
        )
    return f"Next is layer {best.next}, {_points(-best.lead.value)} ({_points_interval(best.lead, -1)})."


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _between(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f} points"


def _points_interval(figure: Figure, sign: int = 1) -> str:
    low, high = sorted(sign * bound for bound in figure.interval or (0.0, 0.0))
    return f"95% {100 * low:+.1f} to {100 * high:+.1f}"
