"""Joint-Align: vectors trained together, words reallocated, the rest aligned (Wang et al. 2020)."""

from isoglot.joint.refinement import Refined as Refined, between as between, refine as refine
from isoglot.joint.space import GAMMAS as GAMMAS, JointSpace as JointSpace
