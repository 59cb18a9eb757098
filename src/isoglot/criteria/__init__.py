"""Criteria: what can be told of spaces and alignments without a dictionary.

`alignment`: how good an alignment is, to choose a model. `isomorphism`: how alike two spaces are before aligning, and
which methods will probably work. `inspection`: both put together into a verdict.
"""

from isoglot.criteria.alignment import (
    PAIRS as PAIRS,
    PERMUTED as PERMUTED,
    Criteria as Criteria,
    confident_pairs as confident_pairs,
    measure as measure,
    semantic_criterion as semantic_criterion,
    structural_criterion as structural_criterion,
)
from isoglot.criteria.inspection import PairReport as PairReport, inspect_pair as inspect_pair
from isoglot.criteria.isomorphism import (
    eigenvector_similarity as eigenvector_similarity,
    gromov_hausdorff as gromov_hausdorff,
    relational_similarity as relational_similarity,
    singular_value_gap as singular_value_gap,
)
