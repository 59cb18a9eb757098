"""L2: give words that translate each other the same vector (Cao et al. 2020)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from isoglot.encoders import POOLINGS
from isoglot.finetuning.objectives.base import REDUCTIONS, EncodedBatch, Objective, ObjectiveInfo, items
from isoglot.settings import Limits

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class L2(Objective):
    """The mean over links of |x - y|^2, x and y the vectors of the linked words.

    Args:
        pooling: the vector of a word's "last" token, its "first" token, or the "mean" of all its tokens.
        reduction: "mean", which does not depend on how many links a batch has, or "sum" over each batch (Cao et al.).

    >>> L2(pooling="frist")
    Traceback (most recent call last):
    ...
    isoglot.errors.ConfigError: l2: pooling: unknown pooling 'frist'; did you mean 'first'?
    """

    pooling: str = "last"
    reduction: str = "mean"

    limits: ClassVar[Limits] = {"pooling": POOLINGS, "reduction": REDUCTIONS}
    objective = ObjectiveInfo(
        name="l2",
        summary="pull linked words together",
        paper="Cao et al. 2020",
        needs=frozenset({"words", "links"}),
    )

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        X, Y = batch.linked_words(self.pooling)
        return (X - Y).square().sum(), items(self.reduction, len(X))
