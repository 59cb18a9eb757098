"""Aligners: methods that put two Spaces into one. `fit` gives a frozen, saved, shared `Alignment`."""

from isoglot.aligners.alignment import Alignment, LinearAlignment
from isoglot.aligners.base import Aligner, Method, Problem, method
from isoglot.aligners.bootstrap import Bootstrap
from isoglot.aligners.cca import CCA, cca
from isoglot.aligners.cognates import Cognates
from isoglot.aligners.contrastive import Contrastive
from isoglot.aligners.dema import DemaBWE
from isoglot.aligners.fcnn import FCNN, NetworkAlignment
from isoglot.aligners.flow_alignment import FlowAlignment
from isoglot.aligners.gan_realnvp import GanRealNVP
from isoglot.aligners.gbdd import GBDD
from isoglot.aligners.geomm import GeoMM, geomm_multi
from isoglot.aligners.gromov import GromovWasserstein
from isoglot.aligners.identity import Identity
from isoglot.aligners.least_squares import LeastSquares, least_squares
from isoglot.aligners.minivec2vec import MiniVec2Vec
from isoglot.aligners.muse import Muse
from isoglot.aligners.normalization import Normalization
from isoglot.aligners.procrustes import Procrustes, procrustes
from isoglot.aligners.rcsls import RCSLS
from isoglot.aligners.realnvp import RealNVP
from isoglot.aligners.refinement import MuseSupervised
from isoglot.aligners.table import aligner, methods
from isoglot.aligners.vecmap import VecMap, VecMapIdentical, VecMapSemi, VecMapUnsupervised
from isoglot.aligners.wasserstein import WassersteinProcrustes

__all__ = [
    "CCA",
    "FCNN",
    "GBDD",
    "RCSLS",
    "Aligner",
    "Alignment",
    "Bootstrap",
    "Cognates",
    "Contrastive",
    "DemaBWE",
    "FlowAlignment",
    "GanRealNVP",
    "GeoMM",
    "GromovWasserstein",
    "Identity",
    "LeastSquares",
    "LinearAlignment",
    "Method",
    "MiniVec2Vec",
    "Muse",
    "MuseSupervised",
    "NetworkAlignment",
    "Normalization",
    "Problem",
    "Procrustes",
    "RealNVP",
    "VecMap",
    "VecMapIdentical",
    "VecMapSemi",
    "VecMapUnsupervised",
    "WassersteinProcrustes",
    "aligner",
    "cca",
    "geomm_multi",
    "least_squares",
    "method",
    "methods",
    "procrustes",
]
