"""Word vectors of one language: the `Space`, the formats it is read from and written to, normalisation."""

from isoglot.spaces.load import load_space, save_space
from isoglot.spaces.occurrences import Occurrence, occurrence_name, parse_occurrence
from isoglot.spaces.report import LoadReport
from isoglot.spaces.space import FloatMatrix, IntVector, Space
from isoglot.spaces.subwords import SubwordTable

__all__ = [
    "FloatMatrix",
    "IntVector",
    "LoadReport",
    "Occurrence",
    "Space",
    "SubwordTable",
    "load_space",
    "occurrence_name",
    "parse_occurrence",
    "save_space",
]
