"""Bring a sentence closer to its translation than to those of the other sentences of the batch (InfoNCE).

Oord et al. 2018; InfoXLM (Chi et al. 2021) uses it for sentence pairs, with a queue of older sentences as negatives;
here the negatives are the other sentences of the batch. With sentence vectors s_i and t_i and a temperature T it is

    -1 / 2B  sum_i  log exp(cos(s_i, t_i) / T) / sum_j exp(cos(s_i, t_j) / T)
                  + log exp(cos(s_i, t_i) / T) / sum_j exp(cos(s_j, t_i) / T)
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from isoglot.finetuning.objectives.base import EncodedBatch, Objective, ObjectiveInfo
from isoglot.finetuning.objectives.contrastive import in_batch
from isoglot.settings import Limits

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class SentenceContrastive(Objective):
    """The mean of the loss above over sentences of both languages; pairs with an empty side are left out.

    A sentence's vector is the mean of its tokens, including special ones, or the model's own, as in `isoglot.encoders`.

    Args:
        temperature: the smaller, the more the closest of the other sentences count.

    >>> SentenceContrastive().temperature
    0.05
    """

    temperature: float = 0.05

    limits: ClassVar[Limits] = {"temperature": "(0, inf)"}
    objective = ObjectiveInfo(
        name="sentence_contrastive",
        summary="bring sentences closer to their translations than to other sentences of the batch",
        paper="Oord et al. 2018; Chi et al. 2021",
        needs=frozenset({"sentences"}),
    )

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        complete = (batch.pair.src.counts > 0) & (batch.pair.tgt.counts > 0)
        X, Y = (batch.sentence_vectors(side)[complete] for side in ("src", "tgt"))
        return in_batch(X, Y, self.temperature, strong=False), 2 * len(X)
