"""Settings for distilling static vectors from an encoder."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from isoglot.errors import ConfigError
from isoglot.settings import Limits, check_settings

_METHODS, _UNITS = ("x2static", "aggregate"), ("sentence", "paragraph")
_AT_LEAST_ONE = ("negatives", "batch", "epochs", "repeats", "min_count", "max_words", "min_tokens", "min_sentences")
_LIMITS: Limits = {
    **dict.fromkeys((*_AT_LEAST_ONE, "max_sentences", "occurrences"), "[1, inf)"),
    **dict.fromkeys(("rate", "sample", "clamp"), "(0, inf)"),
    "method": _METHODS,
    "context": _UNITS,
    "reads": _UNITS,
}


@dataclasses.dataclass(frozen=True)
class DistillSettings:
    """Settings for distilling; the defaults are those of Hämmerl et al. 2022 (the sentence variant of X2Static).

    Args:
        method: "x2static", or "aggregate": the mean over a word's occurrences (Bommasani et al. 2020).
        context: what a target word is predicted from: the mean over its "sentence" or over its "paragraph".
        reads: what the encoder sees at once, a "sentence" or a "paragraph". The paragraph variant that Gupta & Jaggi
            released reads paragraphs and predicts from sentences.
        leave_out: exclude the target itself from the mean, as the papers say; the released code does not.
        negatives: number of negative words drawn for each target.
        power: negatives are drawn in proportion to their count to this power.
        sample: frequent words are subsampled as targets: a word with share f of the text is used with probability
            sqrt(sample / f) + sample / f.
        rate: learning rate of Adam, which only changes rows that a batch touches.
        batch: sentences per step (or paragraphs, if `reads` or `context` says so).
        clamp: scores outside plus or minus this value have no gradient.
        epochs: passes over the text; each encodes it again unless the encoder has a cache.
        repeats: for "x2static", how often to learn from each part of the text while it is in memory, with new targets
            and negatives each time: nearly as good as epochs on little text, without encoding again.
        occurrences: for "aggregate", maximum number of contexts per word; None for all. Sentences that are not needed
            are not encoded.
        min_count: words that occur less often in the chosen sentences get no vector.
        max_words: maximum number of words; the most frequent are kept.
        segmenter: how lines are split into words, see `isoglot.text.segmenter`.
        lower: lower-case the vocabulary; the encoder sees the original text.
        min_tokens: shorter sentences are left out.
        min_sentences: sentences in shorter paragraphs, such as headlines, are left out.
        max_sentences: maximum number of sentences; the first ones that are not left out.
        seed: for all random choices; the result does not depend on the number of threads.
    """

    method: str = "x2static"
    context: str = "sentence"
    reads: str = "sentence"
    leave_out: bool = True
    negatives: int = 10
    power: float = 0.5
    sample: float = 5e-6
    rate: float = 1e-3
    batch: int = 128
    clamp: float = 20.0
    epochs: int = 1
    repeats: int = 1
    occurrences: int | None = None
    min_count: int = 10
    max_words: int = 200_000
    segmenter: str = "icu"
    lower: bool = True
    min_tokens: int = 7
    min_sentences: int = 2
    max_sentences: int = 1_000_000
    seed: int = 0

    methods: ClassVar[tuple[str, ...]] = _METHODS
    units: ClassVar[tuple[str, ...]] = _UNITS

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)
        for name in ("epochs", "repeats"):
            if self.method == "aggregate" and getattr(self, name) > 1:
                raise ConfigError("aggregate takes exactly one pass over the text", where=name, remedy=f"omit `{name}`")

    @property
    def by_paragraph(self) -> bool:
        """Whether the sentences of a paragraph must stay together."""
        return "paragraph" in (self.reads, self.context if self.method == "x2static" else "")

    def reading(self) -> dict[str, Any]:
        """Settings that determine which sentences are encoded, and how: runs that agree here can share a pass."""
        return {**self.selection(), "reads": self.reads, "by_paragraph": self.by_paragraph}

    def selection(self) -> dict[str, Any]:
        """Settings that determine sentences and vocabulary."""
        names = ("min_count", "max_words", "segmenter", "lower", "min_tokens", "min_sentences", "max_sentences")
        return {name: getattr(self, name) for name in names}
