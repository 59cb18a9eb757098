"""Word vectors of one language: the `Space`, the formats it is read from and written to, normalisation."""

from isoglot.spaces.report import LoadReport
from isoglot.spaces.space import FloatMatrix, IntVector, Space

__all__ = ["FloatMatrix", "IntVector", "LoadReport", "Space"]
