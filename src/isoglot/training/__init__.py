"""Training that changes the encoder itself: objectives, one a file. Torch is imported when one of them runs."""

from __future__ import annotations

from isoglot.training.batch import Encoded, PairBatch, Side, make_pair, make_side, word_vectors
from isoglot.training.objectives import EncodedBatch, Objective, inverse_frequencies, objective, parse_recipe, preset
from isoglot.training.sinkhorn import sinkhorn_divergence, transport_plan

__all__ = [
    "Encoded",
    "EncodedBatch",
    "Objective",
    "PairBatch",
    "Side",
    "inverse_frequencies",
    "make_pair",
    "make_side",
    "objective",
    "parse_recipe",
    "preset",
    "sinkhorn_divergence",
    "transport_plan",
    "word_vectors",
]
