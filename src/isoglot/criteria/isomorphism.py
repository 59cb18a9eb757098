"""How alike the shapes of two spaces are, before any alignment: four measures of the literature.

- *eigenvector similarity* (Søgaard et al. 2018): spectra of the two nearest-neighbour graphs. Lower is closer.
- *relational similarity* (Vulić et al. 2020): do pairs of words that are close in one language have translations that
  are close in the other? Needs translations. Higher is closer, at most 1.
- *Gromov-Hausdorff* (Patra et al. 2019): how differently the two clouds of points fall into clusters. Lower is closer.
- *singular-value gap* (Dubossarsky et al. 2020): the two spectra. Lower is closer.

All take rows as vectors of words, most frequent first, and look at directions only: rows are brought to unit length.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isoglot.criteria.alignment import singular_values
from isoglot.errors import InputError, ShapeError
from isoglot.spaces import FloatMatrix, unit_rows

Doubles = npt.NDArray[np.float64]


def eigenvector_similarity(X: FloatMatrix, Y: FloatMatrix, *, words: int = 2000, neighbours: int = 10) -> float:
    """Mean squared difference of the leading Laplacian eigenvalues of both nearest-neighbour graphs.

    Each of the `words` most frequent words is tied to its nearest `neighbours` (Søgaard et al. 2018, section 4). As
    many eigenvalues are compared as make up 90% of the sum, in the space that needs fewer. The paper takes the sum of
    the squares; their mean does not grow with the number of words.

    >>> X = np.random.default_rng(0).normal(size=(100, 5)).astype(np.float32)
    >>> eigenvector_similarity(X, X[:, ::-1])
    0.0
    """
    n = min(len(X), len(Y), words)
    first, second = (_laplacian_spectrum(unit_rows(M[:n]), neighbours) for M in (X, Y))
    k = min(_leading(first), _leading(second))
    return float(np.square(first[:k] - second[:k]).mean()) if k else 0.0


def relational_similarity(A: FloatMatrix, B: FloatMatrix) -> float:
    """Correlation between cosines of any two words and cosines of their translations; A (p, d), B (p, e) matched.

    >>> A = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    >>> round(relational_similarity(A, A[:, ::-1]), 6)
    1.0
    """
    if len(A) != len(B):
        raise ShapeError(f"{len(A)} rows and {len(B)} rows are not matched pairs")
    if len(A) < 3:
        raise InputError(f"relational similarity needs at least 3 pairs, not {len(A)}")
    above = np.triu_indices(len(A), 1)
    first, second = (_centred((unit @ unit.T)[above].astype(np.float64)) for unit in (unit_rows(A), unit_rows(B)))
    scale = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / scale if scale else 0.0


def gromov_hausdorff(X: FloatMatrix, Y: FloatMatrix, *, words: int = 2000) -> float:
    """Bottleneck distance of the two spaces' 0-dimensional persistence diagrams, over their most frequent words.

    Balls grow around all points; when two clusters meet, one of them dies. The lengths at which that happens are the
    edges of the minimum spanning tree (Patra et al. 2019, section 3). The distance bounds Gromov-Hausdorff from below.

    >>> X = np.random.default_rng(0).normal(size=(100, 5)).astype(np.float32)
    >>> gromov_hausdorff(X, X[::-1])
    0.0
    """
    n = min(len(X), len(Y), words)
    return bottleneck(_deaths(X[:n]), _deaths(Y[:n]))


def bottleneck(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The bottleneck distance of two persistence diagrams whose points are all born at 0, given by their deaths.

    A point is matched with one of the other diagram, at the difference of their deaths, or with the diagonal, at half
    its own death. The costliest match counts, and is made as cheap as can be.

    >>> bottleneck([4.0, 1.0], [3.5])
    0.5
    """
    # If a point goes to the diagonal, so may every smaller one without loss: hence the k longest-lived of both
    # diagrams are matched in order for some k, and the rest goes to the diagonal.
    a, b = (np.sort(np.asarray(deaths, dtype=np.float64).ravel())[::-1] for deaths in (first, second))
    k = min(len(a), len(b))
    matched = np.concatenate([[0.0], np.maximum.accumulate(np.abs(a[:k] - b[:k]))])
    left = [np.append(deaths, np.zeros(k + 1))[: k + 1] / 2 for deaths in (a, b)]
    return float(np.maximum(matched, np.maximum(*left)).min())


def singular_value_gap(X: FloatMatrix, Y: FloatMatrix) -> float:
    """Mean squared difference of the logarithms of the two ordered lists of singular values.

    Spectra are scaled to one mean square first, so that sizes of vocabularies do not count. Values below a
    thousandth of the largest are raised to that: dimensions that a space does not use would swamp all others. The
    paper (Dubossarsky et al. 2020, section 3.1) takes the sum of the squares.

    >>> X = np.random.default_rng(0).normal(size=(100, 5)).astype(np.float32)
    >>> singular_value_gap(X, 3 * X[:, ::-1])
    0.0
    """
    first, second = (_spectrum(unit_rows(M)) for M in (X, Y))
    k = min(len(first), len(second))
    return round(float(np.square(np.log(first[:k]) - np.log(second[:k])).mean()), 12) if k else 0.0


def _spectrum(M: FloatMatrix) -> Doubles:
    values = singular_values(M)
    if not values[0]:
        return np.ones_like(values)
    scaled: Doubles = np.maximum(values, values[0] * 1e-3) / np.sqrt(np.square(values).mean())
    return scaled


def _laplacian_spectrum(unit: FloatMatrix, neighbours: int) -> Doubles:
    """Eigenvalues of the graph Laplacian, largest first."""
    n = len(unit)
    k = min(neighbours, n - 1)
    if k < 1:
        return np.zeros(n)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
    ties = np.zeros((n, n))
    ties[np.arange(n)[:, None], nearest] = 1
    ties = np.maximum(ties, ties.T)
    laplacian = np.diag(ties.sum(axis=1)) - ties
    values: Doubles = np.clip(np.linalg.eigvalsh(laplacian), 0, None)[::-1]
    return values


def _leading(values: Doubles, share: float = 0.9) -> int:
    """How many of the values, largest first, make up this share of their sum."""
    return int(np.searchsorted(np.cumsum(values), share * values.sum())) + 1 if values.any() else 0


def _deaths(X: FloatMatrix) -> Doubles:
    """Lengths of the edges of the minimum spanning tree of unit rows."""
    if len(X) < 2:
        return np.zeros(0)
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    # Clusters that merge by their nearest points do so along the minimum spanning tree.
    lengths: Doubles = linkage(pdist(unit_rows(X).astype(np.float64)), "single")[:, 2]
    return lengths


def _centred(values: Doubles) -> Doubles:
    centred: Doubles = values - values.mean()
    return centred
