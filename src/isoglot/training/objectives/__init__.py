"""Objectives that bring the languages of an encoder together: pure losses of a batch, one a file, and their table."""

from __future__ import annotations

from isoglot.training.objectives.anchor import Anchor
from isoglot.training.objectives.base import (
    PRESETS,
    EncodedBatch,
    Objective,
    ObjectiveInfo,
    Predictions,
    objective,
    objectives,
    parse_recipe,
    preset,
)
from isoglot.training.objectives.contrastive import Contrastive
from isoglot.training.objectives.l2 import L2
from isoglot.training.objectives.mlm import MLM, Masked, Vocabulary, mask_tokens
from isoglot.training.objectives.sentence_contrastive import SentenceContrastive
from isoglot.training.objectives.static_dcca import StaticDCCA
from isoglot.training.objectives.static_mse import StaticMSE
from isoglot.training.objectives.subword_ot import SubwordOT
from isoglot.training.objectives.tlm import TLM, join_sides
from isoglot.training.objectives.word_ot import WordOT, inverse_frequencies

__all__ = [
    "L2",
    "MLM",
    "PRESETS",
    "TLM",
    "Anchor",
    "Contrastive",
    "EncodedBatch",
    "Masked",
    "Objective",
    "ObjectiveInfo",
    "Predictions",
    "SentenceContrastive",
    "StaticDCCA",
    "StaticMSE",
    "SubwordOT",
    "Vocabulary",
    "WordOT",
    "inverse_frequencies",
    "join_sides",
    "mask_tokens",
    "objective",
    "objectives",
    "parse_recipe",
    "preset",
]
