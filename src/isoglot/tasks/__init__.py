"""Evaluations, one a file. Each returns `Result`s: a figure with its denominator, coverage, interval and items."""

from __future__ import annotations

from isoglot.tasks.bli import bli
from isoglot.tasks.cbli import cbli
from isoglot.tasks.result import Result
from isoglot.tasks.rfeval import content_words, rfeval, word_mover_scores
from isoglot.tasks.significance import PairedTest, bootstrap_intervals, paired_test
from isoglot.tasks.tatoeba import tatoeba
from isoglot.tasks.wmt import WmtSegment, read_wmt
from isoglot.tasks.word_alignment import word_alignment

__all__ = [
    "PairedTest",
    "Result",
    "WmtSegment",
    "bli",
    "bootstrap_intervals",
    "cbli",
    "content_words",
    "paired_test",
    "read_wmt",
    "rfeval",
    "tatoeba",
    "word_alignment",
    "word_mover_scores",
]
