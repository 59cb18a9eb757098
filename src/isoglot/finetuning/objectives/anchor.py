"""Keep the target language in place: otherwise the other objectives could move all words to one point.

Cao et al. 2020 and Alqahtani et al. 2021 (Eq. 2, lambda = 1, which is the weight here).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from isoglot.finetuning.objectives.base import REDUCTIONS, EncodedBatch, Objective, ObjectiveInfo, items
from isoglot.settings import Limits

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class Anchor(Objective):
    """The mean of |h - h0|^2 over tokens of the target side, including special ones; h0 is h before training.

    Args:
        reduction: "mean", which does not depend on how many tokens a batch has, or "sum" over each batch, as in the
            papers. Beside a transport of the whole batch the difference is a weight of hundreds: with the mean, the
            space shrinks (to .45 of its spread within three steps of WordOT), with the sum it does not.

    >>> sorted(Anchor().needs)
    ['start']
    """

    reduction: str = "mean"

    limits: ClassVar[Limits] = {"reduction": REDUCTIONS}

    objective = ObjectiveInfo(
        name="anchor",
        summary="keep the target side where it was before training",
        paper="Cao et al. 2020",
        needs=frozenset({"start"}),
    )

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        import torch

        now, before = batch.encoded("tgt"), batch.encoded("start")
        drift = now.hidden.to(torch.promote_types(now.hidden.dtype, torch.float32)) - before.hidden.detach()
        # Masked before squaring, so that the gradient of padding is 0 whatever it holds.
        drift = torch.where(now.side.mask[..., None], drift, 0)
        return drift.square().sum(), items(self.reduction, int(now.side.mask.sum()))
