"""Criteria: what can be told of spaces and alignments without a dictionary.

`alignment`: how good an alignment is, to choose a model. `isomorphism`: how alike two spaces are before aligning, and
which methods will probably work. `inspection`: both put together into a verdict.
"""

from isoglot.criteria.alignment import (
    Criteria,
    confident_pairs,
    measure,
    semantic_criterion,
    structural_criterion,
)
from isoglot.criteria.inspection import PairReport, inspect_pair
from isoglot.criteria.isomorphism import (
    eigenvector_similarity,
    gromov_hausdorff,
    relational_similarity,
    singular_value_gap,
)

__all__ = [
    "Criteria",
    "PairReport",
    "confident_pairs",
    "eigenvector_similarity",
    "gromov_hausdorff",
    "inspect_pair",
    "measure",
    "relational_similarity",
    "semantic_criterion",
    "singular_value_gap",
    "structural_criterion",
]
