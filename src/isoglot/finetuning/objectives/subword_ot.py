"""SubOT: the transport of WordOT between all tokens that are not special (Alqahtani et al. 2021)."""

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

    A word counts as often as it has tokens. Settings are those of `TransportObjective`.

    >>> SubwordOT(cost="euclidean").blur
    0.05
    """

    objective = ObjectiveInfo(
        name="subword_ot",
        summary="carry the tokens of a sentence to those of its translation, whichever fit",
        paper="Alqahtani et al. 2021",
        needs=frozenset({"words"}),
    )

    def _points(self, encoded: Encoded) -> tuple[Tensor, Tensor]:
        return encoded.hidden, encoded.side.words >= 0
