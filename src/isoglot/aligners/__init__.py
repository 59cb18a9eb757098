"""Aligners: methods that put two Spaces into one. `fit` gives a frozen, saved, shared `Alignment`."""

from isoglot.aligners.adversarial.muse import Muse as Muse
from isoglot.aligners.alignment import (
    ALIGNMENT_FOLDER as ALIGNMENT_FOLDER,
    Alignment as Alignment,
    LinearAlignment as LinearAlignment,
    Side as Side,
    onto_target as onto_target,
)
from isoglot.aligners.alignment_card import (
    method_text as method_text,
    side_sources as side_sources,
    warnings_of as warnings_of,
)
from isoglot.aligners.auto.auto import Auto as Auto
from isoglot.aligners.auto.candidates import EFFORTS as EFFORTS, spelled as spelled
from isoglot.aligners.auto.trials import parts_for as parts_for
from isoglot.aligners.base import Aligner as Aligner, Method as Method, Problem as Problem, method as method
from isoglot.aligners.closed_form.anchored import (
    Anchored as Anchored,
    anchored_map as anchored_map,
    anchored_rotation as anchored_rotation,
)
from isoglot.aligners.closed_form.anchored_local import AnchoredLocal as AnchoredLocal, LocalAlignment as LocalAlignment
from isoglot.aligners.closed_form.cca import CCA as CCA, cca as cca
from isoglot.aligners.closed_form.gbdd import GBDD as GBDD
from isoglot.aligners.closed_form.identity import Identity as Identity
from isoglot.aligners.closed_form.least_squares import LeastSquares as LeastSquares, least_squares as least_squares
from isoglot.aligners.closed_form.mean_shift import MeanShift as MeanShift
from isoglot.aligners.closed_form.normalization import Normalization as Normalization
from isoglot.aligners.closed_form.procrustes import Procrustes as Procrustes, procrustes as procrustes
from isoglot.aligners.flows.bootstrap import Bootstrap as Bootstrap
from isoglot.aligners.flows.dema import DemaBWE as DemaBWE
from isoglot.aligners.flows.fcnn import FCNN as FCNN
from isoglot.aligners.flows.flow_alignment import FlowAlignment as FlowAlignment
from isoglot.aligners.flows.gan_realnvp import GanRealNVP as GanRealNVP
from isoglot.aligners.flows.network_alignment import NetworkAlignment as NetworkAlignment
from isoglot.aligners.flows.realnvp import RealNVP as RealNVP
from isoglot.aligners.flows.residual_network import ResidualNetwork as ResidualNetwork
from isoglot.aligners.held_out import folds as folds, within_one_error as within_one_error
from isoglot.aligners.registry import (
    aligner as aligner,
    find_method as find_method,
    methods as methods,
    read_settings as read_settings,
)
from isoglot.aligners.remembered import remembering as remembering
from isoglot.aligners.self_learning.cognates import Cognates as Cognates
from isoglot.aligners.self_learning.minivec2vec import MiniVec2Vec as MiniVec2Vec
from isoglot.aligners.self_learning.portfolio import Portfolio as Portfolio, align_without_pairs as align_without_pairs
from isoglot.aligners.self_learning.refinement import MuseSupervised as MuseSupervised, induce as induce
from isoglot.aligners.self_learning.spelling import (
    SPELLING_FEATURES as SPELLING_FEATURES,
    latin as latin,
    spelling_features as spelling_features,
)
from isoglot.aligners.self_learning.vecmap import (
    VecMap as VecMap,
    VecMapIdentical as VecMapIdentical,
    VecMapSemi as VecMapSemi,
    VecMapUnsupervised as VecMapUnsupervised,
)
from isoglot.aligners.transport.gromov import GromovWasserstein as GromovWasserstein
from isoglot.aligners.transport.plans import load_pot as load_pot, transport_plan as transport_plan
from isoglot.aligners.transport.wasserstein import WassersteinProcrustes as WassersteinProcrustes
from isoglot.aligners.tuned.contrastive import Contrastive as Contrastive
from isoglot.aligners.tuned.geomm import GeoMM as GeoMM, geomm_multi as geomm_multi
from isoglot.aligners.tuned.rcsls import RCSLS as RCSLS
from isoglot.aligners.verdict import judged_given as judged_given, judged_pairs as judged_pairs
