"""SubOT: like WordOT, but between all tokens that are not special (Alqahtani et al. 2021)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from isoglot.finetuning.batches import Encoded
from isoglot.finetuning.objectives.base import ObjectiveInfo
from isoglot.finetuning.objectives.word_ot import TransportObjective

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class SubwordOT(TransportObjective):
    """The Sinkhorn divergence between the tokens of a sentence and of its translation.

    Each token of a word counts. Settings are those of `TransportObjective`.

    >>> SubwordOT(cost="euclidean").blur
    0.05
    """

    objective = ObjectiveInfo(
        name="subword_ot",
        summary="pull the tokens of a sentence to the tokens of its translation that fit",
        paper="Alqahtani et al. 2021",
        needs=frozenset({"words"}),
    )

    def _points(self, encoded: Encoded) -> tuple[Tensor, Tensor]:
        return encoded.hidden, encoded.side.words >= 0
