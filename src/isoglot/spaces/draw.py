"""Some rows of many, drawn at random: whatever their order, the same ones."""

from __future__ import annotations

import numpy as np

from isoglot.spaces.space import FloatMatrix, IntVector


def drawn_rows(X: FloatMatrix, most: int, *seed: int) -> IntVector:
    """All rows of X (n, d), or so many drawn at random: occurrences come in the order of a text, whose beginning is not
    like the rest. Which vectors are drawn does not depend on the order of the rows.

    >>> drawn_rows(np.eye(3, dtype=np.float32), 5, 0).tolist(), len(drawn_rows(np.eye(9, dtype=np.float32), 5, 0))
    ([0, 1, 2], 5)
    """
    if len(X) <= most:
        return np.arange(len(X))
    drawn: IntVector = own_order(X)[np.random.default_rng(seed).choice(len(X), most, replace=False)]
    return drawn


def own_order(X: FloatMatrix) -> IntVector:
    """What sorts the rows by their numbers: what is drawn must not depend on the order in which they came."""
    order: IntVector = np.lexsort(X.T[::-1][-min(3, X.shape[1]) :])
    return order
