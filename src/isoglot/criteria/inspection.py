"""Two spaces looked at before aligning: how alike they are, and which methods will probably work.

The measures are those of `isoglot.criteria.isomorphism`. What their values mean was calibrated on pairs of which we
know how they align: see docs/reliability.md, "What `isoglot inspect` was calibrated on".
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isoglot.criteria.isomorphism import (
    eigenvector_similarity,
    gromov_hausdorff,
    relational_similarity,
    singular_value_gap,
)
from isoglot.errors import InputError
from isoglot.lexicons import Lexicon, check_direction
from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix, IntVector, Normaliser, Space

#: Calibrated, see above: an eigenvector similarity below it means one shape.
ONE_SHAPE = 1.0
#: Relational similarities from which on spaces are close, workable, and related at all.
CLOSE, WORKABLE, RELATED = 0.9, 0.2, 0.1
#: So many pairs make relational similarity trustworthy, and so many teach a rotation.
FEW_PAIRS, TEACHING_PAIRS = 50, 500
#: So many words written alike can stand for a lexicon.
IDENTICAL = 500


@dataclasses.dataclass(frozen=True)
class PairReport:
    """What `inspect_pair` found. Measures: see `isoglot.criteria.isomorphism`; None where there was nothing to measure.

    Args:
        words: words of both sides. dimensions: of both sides.
        identical: words that both vocabularies write alike, numbers and punctuation left out.
        pairs: of the lexicon, that both spaces hold; 0 without one.
        closeness: "close", "workable", "distant" or "unrelated"; without a lexicon "one shape" or "unknown".
        supervised, unsupervised: what to expect of the two kinds of methods: "well", "partly", "hardly", "unknown".
        verdict: the same in plain words, a sentence each.
    """

    words: tuple[int, int]
    dimensions: tuple[int, int]
    identical: int
    pairs: int
    eigenvector_similarity: float
    gromov_hausdorff: float
    singular_value_gap: float
    relational_similarity: float | None
    closeness: str
    supervised: str
    unsupervised: str
    verdict: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return dataclasses.asdict(self)


def inspect_pair(
    src: Space,
    tgt: Space,
    lexicon: Lexicon | None = None,
    *,
    words: int = 2000,
    progress: Progress = silent,
) -> PairReport:
    """Measure how alike two spaces are and say which methods will probably work.

    `words`: how many frequent words of each side the costly measures look at; thresholds were calibrated with the
    default.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(400, 5))
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    >>> words = [f"word{i}" for i in range(400)]
    >>> report = inspect_pair(Space("a", words, X), Space("b", words, X @ turn))
    >>> report.closeness, report.unsupervised
    ('one shape', 'well')
    """
    for space in (src, tgt):
        if len(space) < 3:
            raise InputError(f"has {len(space)} words, too few to compare", where=space.source or space.lang or None)
    if lexicon is not None:
        check_direction(lexicon, src, tgt)
    steps = 5
    progress("inspecting", 0, steps)
    X, Y = (Normaliser.fit_transform("unit,centre,unit", space.vectors)[1] for space in (src, tgt))
    progress("inspecting", 1, steps)
    eigen = eigenvector_similarity(X, Y, words=words)
    progress("inspecting", 2, steps)
    hausdorff = gromov_hausdorff(X, Y, words=words)
    progress("inspecting", 3, steps)
    gap = singular_value_gap(X, Y)
    progress("inspecting", 4, steps)
    pairs = np.zeros((0, 2), dtype=np.int64) if lexicon is None else lexicon.indices(src, tgt)
    relational = _relational(X, Y, pairs)
    progress("inspecting", steps, steps)
    identical = len(_spelled(src) & _spelled(tgt))
    closeness = _closeness(eigen, relational)
    supervised, unsupervised = _EXPECTED[closeness]
    return PairReport(
        words=(len(src), len(tgt)),
        dimensions=(src.dim, tgt.dim),
        identical=identical,
        pairs=len(pairs),
        eigenvector_similarity=eigen,
        gromov_hausdorff=hausdorff,
        singular_value_gap=gap,
        relational_similarity=relational,
        closeness=closeness,
        supervised=supervised,
        unsupervised=unsupervised,
        verdict=tuple(_verdict(closeness, len(pairs), identical, src.dim == tgt.dim, lexicon is not None)),
    )


#: What to expect of supervised and unsupervised methods.
_EXPECTED = {
    "close": ("well", "well"),
    "workable": ("partly", "hardly"),
    "distant": ("hardly", "hardly"),
    "unrelated": ("hardly", "hardly"),
    "one shape": ("well", "well"),
    "unknown": ("unknown", "unknown"),
}

_SENTENCES = {
    "close": "The two spaces have nearly the same shape: a rotation will translate most words.",
    "workable": "The two spaces are related but differ in shape: expect a rotation to get about half of the words "
    "right or fewer, and methods that bend or re-weight the space to add some points.",
    "distant": "The two spaces have little in common: expect few right translations from any linear method, and "
    "consider vectors trained on more, or more similar, text.",
    "unrelated": "Words that the lexicon pairs are not related in the two spaces: check that lexicon, languages and "
    "vectors belong together before aligning anything.",
    "one shape": "The two neighbourhood graphs have the same spectrum: the spaces probably have one shape.",
    "unknown": "Without translations it cannot be told whether these spaces are hard to align or unrelated: give a "
    "lexicon, a small one will do.",
}


def _closeness(eigen: float, relational: float | None) -> str:
    if relational is None:
        return "one shape" if eigen < ONE_SHAPE else "unknown"
    if relational >= CLOSE:
        return "close"
    if relational >= WORKABLE:
        return "workable"
    return "distant" if relational >= RELATED else "unrelated"


def _verdict(closeness: str, pairs: int, identical: int, equal_dimensions: bool, asked: bool) -> list[str]:
    said = [_SENTENCES[closeness]]
    if asked and pairs < FEW_PAIRS:
        said.append(f"Only {pairs} pairs of the lexicon are in both spaces: too few for a verdict to trust.")
    if closeness in ("close", "one shape"):
        said.append(
            "Unsupervised methods should work (wasserstein-procrustes, gromov-wasserstein, vecmap-unsupervised)."
        )
    elif closeness != "unknown":
        said.append(
            "Without pairs, methods that look at vectors alone will probably fail; cognates starts from spelling. "
            "All of them say whether they worked."
        )
    if closeness not in ("close", "one shape", "unrelated"):
        if pairs >= TEACHING_PAIRS:
            said.append("The lexicon is large enough for procrustes, and for vecmap, rcsls or geomm on top.")
        elif pairs >= FEW_PAIRS:
            said.append("The lexicon is small: let vecmap-semi or muse-supervised grow it.")
        if identical >= IDENTICAL:
            said.append(f"{identical:,} words are written the same: cognates and vecmap-identical can start from them.")
    if not equal_dimensions:
        said.append("Dimensions differ: use `match_dimensions`, or a method that takes both (cca, least-squares).")
    return said


def _relational(X: FloatMatrix, Y: FloatMatrix, pairs: IntVector, most: int = 1000) -> float | None:
    """Over the pairs of the most frequent source words, one target each: the lexicon's first."""
    _, first = np.unique(pairs[:, 0], return_index=True)
    sample = pairs[first][:most]
    return relational_similarity(X[sample[:, 0]], Y[sample[:, 1]]) if len(sample) >= 3 else None


def _spelled(space: Space) -> set[str]:
    return {word for word in space.words if word.isalpha()}
