"""Bring linked words closer to each other than to other words of the batch (Wu & Dredze 2020).

With B links between words s_i and t_i of the batch, cosines as similarities and a temperature T, the weak variant
compares with the words of the other language only:

    -1 / 2B  sum_i  log exp(cos(s_i, t_i) / T) / sum_j exp(cos(s_i, t_j) / T)
                  + log exp(cos(s_i, t_i) / T) / sum_j exp(cos(s_j, t_i) / T)

The strong variant compares with the words of both languages, H = {s_1, ..., s_B, t_1, ..., t_B}:

    -1 / 2B  sum_(h in H)  log exp(cos(h, h') / T) / sum_(k in H, k != h) exp(cos(h, k) / T)

where h' is the word that h is linked to. The paper puts a small network between encoder and loss and discards it after
training; that would be part of the model, not of the loss.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from isoglot.encoders import POOLINGS
from isoglot.finetuning.objectives.base import EncodedBatch, Objective, ObjectiveInfo
from isoglot.settings import Limits

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class Contrastive(Objective):
    """The mean of the loss above over linked words of both languages.

    Args:
        variant: "strong" or "weak".
        temperature: the smaller, the more the closest of the other words count.
        pooling: the vector of a word's "last" token, its "first" token, or the "mean" of all its tokens.

    >>> Contrastive(variant="weak").temperature
    0.1
    """

    variant: str = "strong"
    temperature: float = 0.1
    pooling: str = "last"

    limits: ClassVar[Limits] = {"variant": ("weak", "strong"), "pooling": POOLINGS, "temperature": "(0, inf)"}
    objective = ObjectiveInfo(
        name="contrastive",
        summary="bring linked words closer to each other than to other words of the batch",
        paper="Wu & Dredze 2020",
        needs=frozenset({"words", "links"}),
    )

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        X, Y = batch.linked_words(self.pooling)
        return in_batch(X, Y, self.temperature, strong=self.variant == "strong"), 2 * len(X)


def in_batch(X: Tensor, Y: Tensor, temperature: float, *, strong: bool) -> Tensor:
    """The sum of the loss over all rows of X and Y (l, d), where row i of X belongs to row i of Y.

    >>> import torch
    >>> X = torch.eye(2)
    >>> round(float(in_batch(X, X, 1.0, strong=False)), 4)  # 4 log(1 + 1 / e)
    1.253
    """
    import torch
    from torch.nn.functional import cross_entropy, normalize

    # Autocast would use half precision, too coarse for cosines divided by a small temperature.
    with torch.autocast(X.device.type, enabled=False):
        X, Y = normalize(X, dim=-1), normalize(Y, dim=-1)
        own = torch.arange(len(X), device=X.device)
        if not strong:
            scores = X @ Y.T / temperature
            return cross_entropy(scores, own, reduction="sum") + cross_entropy(scores.T, own, reduction="sum")
        H = torch.cat([X, Y])
        scores = (H @ H.T / temperature).fill_diagonal_(-math.inf)
        return cross_entropy(scores, torch.cat([own + len(X), own]), reduction="sum")
