"""StaticMSE: move words to their static vectors (Hämmerl et al. 2022)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from isoglot.errors import ConfigError, ShapeError
from isoglot.finetuning.objectives.base import EncodedBatch, Objective, ObjectiveInfo

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True)
class StaticMSE(Objective):
    """The mean over words, and over dimensions, of (x - y)^2.

    x is the mean of the tokens of a single word, y its static vector, which must have the encoder's dimensions.
    In the paper it breaks sentence retrieval, which `static_dcca` improves.

    >>> StaticMSE().check_dimensions(768, 300)
    Traceback (most recent call last):
    ...
    isoglot.errors.ConfigError: static_mse: vectors of 300 dimensions, but the encoder has 768; use static_dcca instead
    """

    objective = ObjectiveInfo(
        name="static_mse",
        summary="pull words to their static vectors",
        paper="Hämmerl et al. 2022",
        needs=frozenset({"static"}),
    )

    def check_dimensions(self, width: int, dim: int) -> None:
        if width != dim:
            raise ConfigError(
                f"vectors of {dim} dimensions, but the encoder has {width}",
                where=self.objective.name,
                remedy="use static_dcca instead",
            )

    def total(self, batch: EncodedBatch) -> tuple[Tensor, int]:
        X, Y = batch.static_words()
        if X.shape != Y.shape:
            raise ShapeError(f"vectors {tuple(X.shape)} and {tuple(Y.shape)}", where=self.objective.name)
        return (X - Y).square().mean(1).sum(), len(X)
