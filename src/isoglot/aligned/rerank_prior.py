"""Which words a dictionary gives at all: infinitives rather than other forms, common words rather than names.

Vectors tell the form and kind of a word by their leading principal directions. The re-ranker learns how much each
direction counts among candidates; in the end that is one number for each target word, which is what is kept.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isoglot.aligned.rerank_model import RankingModel
from isoglot.spaces import FloatMatrix, Normaliser

#: Leading directions that are looked at; more teach a few hundred seeds nothing.
DIRECTIONS = 40

Prior = npt.NDArray[np.float32]


def principal_directions(vectors: FloatMatrix) -> FloatMatrix:
    """(n, k): the words along the leading principal directions of their vectors, each of spread one."""
    steps = ("unit", "centre", "unit", f"reduce:{min(DIRECTIONS, vectors.shape[1])}")
    _, along = Normaliser.fit_transform(steps, np.asarray(vectors, dtype=np.float32))
    spread = along.std(axis=0)
    along /= np.where(spread > 0, spread, np.float32(1))
    return along


def direction_names(number: int) -> tuple[str, ...]:
    """Names of the directions as features."""
    return tuple(f"direction {i + 1}" for i in range(number))


def split_prior(model: RankingModel, along: FloatMatrix) -> tuple[RankingModel, Prior]:
    """The model without its last features, which are the directions, and what these give every target word."""
    own = len(model.names) - along.shape[1]
    weights = model.weights[own:] / model.scale[own:]
    prior = along @ weights.astype(np.float32) - np.float32(model.mean[own:] @ weights)
    rest = RankingModel(model.names[:own], model.mean[:own], model.scale[:own], model.weights[:own])
    return rest, prior.astype(np.float32)
