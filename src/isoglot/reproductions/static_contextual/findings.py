"""What the experiment with static and contextual vectors finds: its figures, as records that are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from isoglot.reproductions.claims import Claim
from isoglot.resumable import to_plain


@dataclasses.dataclass(frozen=True)
class WordFigure:
    """P@1 of translating words in one direction; `full` counts words without vectors too.

    `different` is P@1 of the pairs whose two words are not written alike, which shared word pieces do not give away;
    None without such pairs. `pairs` of the `test_pairs` are in both vocabularies.
    """

    value: float
    interval: tuple[float, float] | None = None
    n: int = 0
    full: float = 0.0
    pairs: int = 0
    test_pairs: int = 0
    different: float | None = None


@dataclasses.dataclass(frozen=True)
class SimilarityFigure:
    """Spearman's correlation with people's judgement, and the harmonic mean with Pearson's, of pairs with vectors."""

    value: float
    interval: tuple[float, float] | None
    n: int
    harmonic: float
    test_pairs: int


@dataclasses.dataclass(frozen=True)
class SentenceFigure:
    """P@1 of sentences: the mean of both directions with its interval, to the pivot, and from it."""

    both: float
    interval: tuple[float, float] | None = None
    to_pivot: float = 0.0
    from_pivot: float = 0.0
    n: int = 0


#: By language and direction, such as "en-de".
Translations = Mapping[str, Mapping[str, WordFigure]]
#: By language and score.
Sentences = Mapping[str, Mapping[str, SentenceFigure]]


@dataclasses.dataclass(frozen=True)
class StaticRow:
    """Static vectors of one method and seed: how they were made, what became of each language, figures by state."""

    method: str
    seed: int
    distilled: Mapping[str, Any]
    choices: Mapping[str, Any]
    bli: Mapping[str, Translations]
    similarity: Mapping[str, Mapping[str, SimilarityFigure]]
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class EncoderRow:
    """An encoder after a training, as it was ("start"), or the vectors that one is trained towards ("teacher").

    `vectors`: the teacher's folder; `training`: how it went.
    """

    objective: str
    seed: int | None
    retrieval: Sentences
    words: Translations = dataclasses.field(default_factory=dict)
    training: Mapping[str, Any] | None = None
    vectors: str = ""
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class EncoderFacts:
    """The encoder that all begins with; `training` and `seconds` are of a new one."""

    name: str = ""
    layers: int = 0
    width: int = 0
    static_layer: str = ""
    tested_layer: str = ""
    training: Mapping[str, Any] | None = None
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Findings:
    """All figures, and what became of the paper's claims; `skipped`: objectives that were left out, and why."""

    experiment: Mapping[str, Any]
    encoder: EncoderFacts
    static: tuple[StaticRow, ...]
    teachers: tuple[EncoderRow, ...]
    encoders: tuple[EncoderRow, ...]
    skipped: Mapping[str, str]
    claims: tuple[Claim, ...]

    @property
    def pivot(self) -> str:
        return str(self.experiment["aligning"]["pivot"])

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {**to_plain(self), "claims": [claim.record() for claim in self.claims]}
