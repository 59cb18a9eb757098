"""Bilingual dictionaries and parallel text: what supervises an alignment and what it is tested on."""

from __future__ import annotations

from isoglot.lexicons.coverage import Coverage
from isoglot.lexicons.frequency import frequency_ranks
from isoglot.lexicons.lexicon import Lexicon
from isoglot.lexicons.parallel import ParallelText
from isoglot.lexicons.seeds import identical_strings, numerals

__all__ = ["Coverage", "Lexicon", "ParallelText", "frequency_ranks", "identical_strings", "numerals"]
