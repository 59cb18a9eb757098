"""WordOT: what it costs to carry the words of a sentence to those of its translation (Alqahtani et al. 2021).

No links between words are needed, as the transport finds them, many to many. Eq. 2 of the paper has a minus before the
divergence, but it is minimised. Its text says that costs are Euclidean distances; its software, geomloss, takes half
their squares by default, and so do we. Transports are independent: of each sentence pair, and so of each pair of
languages. Variants are settings: transport that leaves words behind, transport that keeps distances within sentences,
and one transport of all words of a batch.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from isoglot.encoders import POOLINGS
from isoglot.errors import ConfigError, InputError
from isoglot.finetuning.batches import Encoded
from isoglot.finetuning.objectives.base import EncodedBatch, Objective, ObjectiveInfo
from isoglot.finetuning.transport.gromov import gromov_divergence
from isoglot.finetuning.transport.plans import TransportSettings
from isoglot.finetuning.transport.sinkhorn import sinkhorn_divergence
from isoglot.settings import Limits

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class TransportObjective(Objective):
    """The mean, over sentence pairs that have words on both sides, of their Sinkhorn divergence.

    Args:
        mass: how much of its sentence a word is, "uniform", or as "norm" has it: its vector's length (Yokoi et al.
            2020), as a constant.
        cost, blur, scaling, reach, debias, iterations: see `TransportSettings`.
        structure: above 0, this share of the cost is how much distances within sentences change, and the rest that of
            carrying their words, see `gromov_divergence`. Not with a reach.
        span: "sentence", or "batch" for one transport of all words of the batch, each to any sentence's. That is one
            item, so its value is divided by 1. It is there to be compared with (Alqahtani et al. 2021, Appendix E:
            mixed against independent transports), and takes the square of the batch's words in memory.
    """

    cost: str = "half-squared"
    mass: str = "uniform"
    blur: float = 0.05
    scaling: float = 0.5
    reach: float | None = None
    debias: bool = True
    iterations: int = 0
    structure: float = 0.0
    span: str = "sentence"

    limits: ClassVar[Limits] = {
        **TransportSettings.limits,
        "mass": ("uniform", "norm"),
        "structure": "[0, 1]",
        "span": ("sentence", "batch"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.structure > 0 and self.reach is not None:
            raise ConfigError("structure must be 0 with a reach", where=self.objective.name)

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        src, tgt = batch.encoded("src"), batch.encoded("tgt")
        (X, x_mask), (Y, y_mask) = self._points(src), self._points(tgt)
        weights = None if self.mass == "uniform" else (self._mass(src, X), self._mass(tgt, Y))
        whole = x_mask.any(1) & y_mask.any(1)
        count = int(whole.sum())
        if self.span == "batch":
            # Words of a pair that lacks a side are nobody's translation, as they are when pairs are carried one by one.
            x_words, y_words = x_mask & whole[:, None], y_mask & whole[:, None]
            if weights is not None:
                weights = weights[0][x_words][None], weights[1][y_words][None]
            X, Y, count = X[x_words][None], Y[y_words][None], min(count, 1)
            x_mask, y_mask = x_words[x_words][None], y_words[y_words][None]
        settings = TransportSettings(
            self.cost, self.blur, self.scaling, self.reach, debias=self.debias, iterations=self.iterations
        )
        if self.structure > 0:
            values = gromov_divergence(X, Y, x_mask, y_mask, settings, structure=self.structure, weights=weights)
        else:
            values = sinkhorn_divergence(X, Y, x_mask, y_mask, settings, weights=weights)
        return values.sum(), count

    def _mass(self, encoded: Encoded, points: Tensor) -> Tensor:
        lengths: Tensor = points.detach().norm(dim=-1)
        return lengths

    @abstractmethod
    def _points(self, encoded: Encoded) -> tuple[Tensor, Tensor]:
        """What is carried: vectors (B, n, d) and their mask (B, n)."""


@dataclasses.dataclass(frozen=True)
class WordOT(TransportObjective):
    """The Sinkhorn divergence between the word vectors of a sentence and of its translation.

    Args:
        mass: "uniform", "norm", or "tfidf", which asks for a batch with inverse frequencies of words.
        pooling: the vector of a word is that of its "last" token, of its "first", or the "mean".

    >>> WordOT(pooling="mean", reach=2.0).needs
    frozenset({'words'})
    """

    pooling: str = "last"

    limits: ClassVar[Limits] = {
        **TransportObjective.limits,
        "mass": ("uniform", "norm", "tfidf"),
        "pooling": POOLINGS,
    }
    objective = ObjectiveInfo(
        name="word_ot",
        summary="carry the words of a sentence to those of its translation, whichever fit",
        paper="Alqahtani et al. 2021",
        needs=frozenset({"words"}),
    )

    @property
    def needs(self) -> frozenset[str]:
        return self.objective.needs | ({"idf"} if self.mass == "tfidf" else set())

    def _mass(self, encoded: Encoded, points: Tensor) -> Tensor:
        if self.mass == "norm":
            return super()._mass(encoded, points)
        idf = encoded.side.idf
        if idf is None or idf.shape != points.shape[:2]:
            raise InputError("the batch has no inverse frequencies of words", remedy="give idf to make_pair")
        # Each occurrence is a point by itself, so the frequency within the sentence is there already.
        return idf

    def _points(self, encoded: Encoded) -> tuple[Tensor, Tensor]:
        return encoded.word_vectors(self.pooling)


def inverse_frequencies(sentences: Iterable[Sequence[str]]) -> dict[str, float]:
    """How telling a word is: 1 + log((1 + n) / (1 + k)) if k of the n sentences have it, so never 0.

    A word that stands f times in a sentence is there with f points, each of this weight: together that is its TF-IDF.

    >>> found = inverse_frequencies([["the", "cat"], ["the", "dog"], ["the", "the"]])
    >>> round(found["the"], 3), round(found["cat"], 3)
    (1.0, 1.693)
    """
    n, counts = 0, Counter[str]()
    for words in sentences:
        n += 1
        counts.update(set(words))
    return {word: 1 + math.log((1 + n) / (1 + k)) for word, k in counts.items()}
