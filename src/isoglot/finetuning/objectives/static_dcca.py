"""StaticDCCA: correlate words with their static vectors by deep CCA (Andrew et al. 2013; Hämmerl et al. 2022)."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from isoglot.errors import ConfigError
from isoglot.finetuning.deep_cca import RELEASED_COMPONENTS, SMALLEST, cca_loss, released_cca_loss
from isoglot.finetuning.objectives.base import EncodedBatch, Objective, ObjectiveInfo
from isoglot.settings import Limits

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class StaticDCCA(Objective):
    """The sum of 1 - s over the largest canonical correlations s between the encoder's words and their static vectors.

    Words are encoded one by one; a word's vector is the mean of its tokens. Only the encoder moves. The whole batch is
    one item, as correlations are taken over all its words; small batches always correlate, so batches are large.

    Args:
        components: number of correlations to sum; by default all, the dimensions of the smaller side.
        regulariser: see `cca_loss`.
        variant: "correct", or "released": what the paper's code computes (see `released_cca_loss`; ten components,
            special tokens in a word's mean), plus a constant that keeps it from being negative.

    >>> StaticDCCA(variant="paper")
    Traceback (most recent call last):
    ...
    isoglot.errors.ConfigError: static_dcca: variant: unknown variant 'paper'; choose one of: correct, released
    """

    components: int | None = None
    regulariser: float = 0.1
    variant: str = "correct"

    limits: ClassVar[Limits] = {
        "components": "[1, inf)",
        "regulariser": f"[{SMALLEST}, inf)",
        "variant": ("correct", "released"),
    }
    objective = ObjectiveInfo(
        name="static_dcca",
        summary="correlate words with their static vectors",
        paper="Hämmerl et al. 2022",
        needs=frozenset({"static"}),
    )

    def check_dimensions(self, width: int, dim: int) -> None:
        if self.components is not None and self.components > min(width, dim):
            raise ConfigError(
                f"must be at most {min(width, dim)}, the smaller dimension, not {self.components}",
                where=f"{self.objective.name}.components",
            )

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        X, Y = batch.static_words(special=self.variant == "released")
        if not len(X):
            return X.sum(), 0
        if self.variant == "released":
            return RELEASED_COMPONENTS * math.sqrt(2) + released_cca_loss(X, Y), 1
        most = min(X.shape[1], Y.shape[1])
        count = most if self.components is None else self.components
        return count + cca_loss(X, Y, components=self.components, regulariser=self.regulariser), 1
