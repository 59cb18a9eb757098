"""Bilingual dictionaries, parallel text and its word links: what supervises an alignment and what it is tested on."""

from __future__ import annotations

from isoglot.lexicons.coverage import Coverage
from isoglot.lexicons.direction import check_direction
from isoglot.lexicons.frequency import frequency_ranks
from isoglot.lexicons.lexicon import Lexicon
from isoglot.lexicons.links import WordLinks, check_links, link_lines, read_links, write_links
from isoglot.lexicons.parallel import ParallelText
from isoglot.lexicons.seeds import identical_strings, numerals

__all__ = [
    "Coverage",
    "Lexicon",
    "ParallelText",
    "WordLinks",
    "check_direction",
    "check_links",
    "frequency_ranks",
    "identical_strings",
    "link_lines",
    "numerals",
    "read_links",
    "write_links",
]
