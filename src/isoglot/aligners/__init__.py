"""Aligners: methods that put two Spaces into one. `fit` gives a frozen, saved, shared `Alignment`."""

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Method, Problem, method
from isoglot.aligners.cca import CCA, cca
from isoglot.aligners.gbdd import GBDD
from isoglot.aligners.identity import Identity
from isoglot.aligners.least_squares import LeastSquares, least_squares
from isoglot.aligners.normalization import Normalization
from isoglot.aligners.procrustes import Procrustes, procrustes
from isoglot.aligners.table import aligner, methods

__all__ = [
    "CCA",
    "GBDD",
    "Aligner",
    "Alignment",
    "Identity",
    "LeastSquares",
    "LinearAlignment",
    "Method",
    "Normalization",
    "Problem",
    "Procrustes",
    "aligner",
    "cca",
    "least_squares",
    "method",
    "methods",
    "procrustes",
]
