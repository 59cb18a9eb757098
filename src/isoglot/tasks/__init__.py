"""Evaluations, one a file. Each returns `Result`s: a figure with its denominator, coverage, interval and items."""

from __future__ import annotations

from isoglot.tasks.bli import bli
from isoglot.tasks.cbli import cbli
from isoglot.tasks.result import Result
from isoglot.tasks.rfeval import content_words, rfeval, word_mover_scores
from isoglot.tasks.significance import PairedTest, bootstrap_intervals, paired_test
from isoglot.tasks.similarity import encode_words, similarity
from isoglot.tasks.similarity_sets import WordPair, read_similarity, similarity_set
from isoglot.tasks.tatoeba import tatoeba
from isoglot.tasks.wmt import WmtSegment, read_wmt
from isoglot.tasks.word_alignment import word_alignment

__all__ = [
    "PairedTest",
    "Result",
    "WmtSegment",
    "WordPair",
    "bli",
    "bootstrap_intervals",
    "cbli",
    "content_words",
    "encode_words",
    "paired_test",
    "read_similarity",
    "read_wmt",
    "rfeval",
    "similarity",
    "similarity_set",
    "tatoeba",
    "word_alignment",
    "word_mover_scores",
]
