"""Raw text in, clean sentences of words out: what joint training and frequency counts start from."""

from __future__ import annotations

from isoglot.text.counts import Overlap, overlap, same_language
from isoglot.text.lines import read_lines, read_text, write_lines
from isoglot.text.prepare import TextReport, TextSettings, lower_case, prepare
from isoglot.text.segmenters import SEGMENTERS, segmenter, sentence_splitter

__all__ = [
    "SEGMENTERS",
    "Overlap",
    "TextReport",
    "TextSettings",
    "lower_case",
    "overlap",
    "prepare",
    "read_lines",
    "read_text",
    "same_language",
    "segmenter",
    "sentence_splitter",
    "write_lines",
]
