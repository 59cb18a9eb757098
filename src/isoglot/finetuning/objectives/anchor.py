"""The target language shall stay where it was: without that, all words at one point would suit the other objectives.

Cao et al. 2020 and Alqahtani et al. 2021 (Eq. 2, lambda = 1, which is the weight here).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from isoglot.finetuning.objectives.base import EncodedBatch, Objective, ObjectiveInfo

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class Anchor(Objective):
    """The mean over tokens of the target side, special ones too, of |h - h0|^2, h0 the hidden state before training.

    The papers take sums over all tokens; a mean does not depend on how many a batch has.

    >>> sorted(Anchor().needs)
    ['start']
    """

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
        # Chosen before it is squared: whatever padding holds, its gradient is 0.
        drift = torch.where(now.side.mask[..., None], drift, 0)
        return drift.square().sum(), int(now.side.mask.sum())
