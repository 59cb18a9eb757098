"""WordOT: the cost of carrying the words of a sentence to those of its translation (Alqahtani et al. 2021).

It needs no word links, as the transport finds them, many to many. Eq. 2 of the paper has a minus before the divergence,
but the divergence is minimised. The text says that costs are Euclidean distances; geomloss, the software used, takes
half their squares by default, and so do we. Each sentence pair has its own transport unless settings say otherwise: the
preset `wordot` has one for all words of a batch. Other variants leave words behind, or preserve distances in sentences.
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
    """The mean Sinkhorn divergence of the sentence pairs that have words on both sides.

    Args:
        mass: weights of words in their sentence: "uniform", or "norm" for the length of a word's vector (Yokoi et al.
            2020), without gradient.
        cost, blur, scaling, reach, debias, iterations: see `TransportSettings`.
        structure: weight of changed distances within sentences in the cost, from 0 to 1; the rest is for carrying
            words, see `gromov_divergence`. Cannot be combined with `reach`.
        span: "sentence", or "batch" for one transport of all words of the batch, across sentences, the likelier reading
            of Alqahtani et al. 2021. The batch is then one item; memory is quadratic in its words.
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
            raise ConfigError("`structure` cannot be combined with `reach`", where=self.objective.name)

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        src, tgt = batch.encoded("src"), batch.encoded("tgt")
        (X, x_mask), (Y, y_mask) = self._points(src), self._points(tgt)
        weights = None if self.mass == "uniform" else (self._mass(src, X), self._mass(tgt, Y))
        complete = x_mask.any(1) & y_mask.any(1)
        count = int(complete.sum())
        if self.span == "batch":
            # Words of a pair with an empty side are left out, as they are when each pair has its own transport.
            x_words, y_words = x_mask & complete[:, None], y_mask & complete[:, None]
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
        """What to carry: vectors (B, n, d) and their mask (B, n)."""


@dataclasses.dataclass(frozen=True)
class WordOT(TransportObjective):
    """The Sinkhorn divergence between the word vectors of a sentence and of its translation.

    Args:
        mass: "uniform", "norm", or "tfidf", which needs a batch with inverse document frequencies.
        pooling: the vector of a word's "last" token, its "first" token, or the "mean" of all its tokens.

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
        summary="pull the words of a sentence to the words of its translation that fit",
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
            raise InputError("the batch has no inverse document frequencies", remedy="pass idf to make_pair")
        # Each occurrence is a separate point, so the frequency within the sentence is already included.
        return idf

    def _points(self, encoded: Encoded) -> tuple[Tensor, Tensor]:
        return encoded.word_vectors(self.pooling)


def inverse_frequencies(sentences: Iterable[Sequence[str]]) -> dict[str, float]:
    """Inverse document frequency of each word: 1 + log((1 + n) / (1 + k)) if k of the n sentences have it, so never 0.

    A word that occurs f times in a sentence has f points, each of this weight, which add up to its TF-IDF.

    >>> idf = inverse_frequencies([["the", "cat"], ["the", "dog"], ["the", "the"]])
    >>> round(idf["the"], 3), round(idf["cat"], 3)
    (1.0, 1.693)
    """
    n, counts = 0, Counter[str]()
    for words in sentences:
        n += 1
        counts.update(set(words))
    return {word: 1 + math.log((1 + n) / (1 + k)) for word, k in counts.items()}
