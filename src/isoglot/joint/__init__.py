"""Joint-Align: text of several languages trained together, words reallocated, the rest aligned (Wang et al. 2020)."""

from __future__ import annotations

from isoglot.joint.corpus import Corpus, CorpusSettings, TextFile
from isoglot.joint.refinement import Refined, refine
from isoglot.joint.space import GAMMAS, JointSpace
from isoglot.joint.trained import train_texts, translations_of
from isoglot.joint.training import Training, Translations, train

__all__ = [
    "GAMMAS",
    "Corpus",
    "CorpusSettings",
    "JointSpace",
    "Refined",
    "TextFile",
    "Training",
    "Translations",
    "refine",
    "train",
    "train_texts",
    "translations_of",
]
