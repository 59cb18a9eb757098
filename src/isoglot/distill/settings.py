"""What can be chosen when static vectors are taken out of an encoder."""

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
    """Settings, by default those of Hämmerl et al. 2022 (the sentence variant of X2Static).

    Args:
        method: "x2static", or "aggregate": the mean over a word's occurrences (Bommasani et al. 2020).
        context: what a target word is predicted from: the mean over its "sentence" or over its "paragraph".
        reads: what the encoder sees at once, a "sentence" or a "paragraph". The paragraph variant that Gupta & Jaggi
            released reads paragraphs and predicts from sentences.
        leave_out: leave the target itself out of the mean, as the papers say; the released code does not.
        negatives: words drawn for each target that are not to be predicted.
        power: negatives are drawn by count to this power.
        sample: frequent words are thinned out as targets: one with share f of the text stays with probability
            sqrt(sample / f) + sample / f.
        rate: of Adam, which only changes rows that a batch touches.
        batch: sentences (or paragraphs, where these are read or predicted from) whose targets make one step.
        clamp: scores beyond this, either way, teach nothing.
        epochs: passes over the text; each encodes it again unless the encoder has a cache.
        repeats: of "x2static", how often a portion of the text is learned from while it is in memory, with other words
            thinned out and other negatives: nearly as good as epochs on little text, and costs no encoding.
        occurrences: of "aggregate", the most contexts of a word; None: all. Sentences without need are not encoded.
        min_count: words that occur less often in the chosen sentences get no vector.
        max_words: only so many words, the most frequent ones.
        segmenter: how lines become words, see `isoglot.text.segmenter`.
        lower: lower-case the vocabulary; the encoder sees the text as it is.
        min_tokens: sentences of fewer words are left out.
        min_sentences: sentences out of paragraphs of fewer are left out: headlines.
        max_sentences: only so many sentences, the first ones that are not left out.
        seed: where all random choices come from. A seed repeats exactly, with any number of threads.
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
                raise ConfigError("an aggregate needs one pass over the text", where=name, remedy=f"leave {name} out")

    @property
    def by_paragraph(self) -> bool:
        """Whether the sentences of a paragraph have to stay together."""
        return "paragraph" in (self.reads, self.context if self.method == "x2static" else "")

    def reading(self) -> dict[str, Any]:
        """What decides about the sentences that are encoded and how: runs that agree here can share a pass."""
        return {**self.selection(), "reads": self.reads, "by_paragraph": self.by_paragraph}

    def selection(self) -> dict[str, Any]:
        """What decides about sentences and vocabulary."""
        names = ("min_count", "max_words", "segmenter", "lower", "min_tokens", "min_sentences", "max_sentences")
        return {name: getattr(self, name) for name in names}
