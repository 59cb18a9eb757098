"""Frequency ranks of a space's words: the order in which dictionaries are split and errors are read."""

from __future__ import annotations

import numpy as np

from isoglot.spaces import IntVector, Space


def frequency_ranks(space: Space) -> IntVector:
    """Rank of each row, 0 for the most frequent word: by counts where there are any, else the row itself.

    >>> frequency_ranks(Space("en", ["a", "b", "c"], np.eye(3), counts=[5, 9, 5])).tolist()
    [1, 0, 2]
    """
    ranks = np.arange(len(space), dtype=np.int64)
    if space.counts is not None:
        order = np.argsort(-space.counts, kind="stable")
        ranks[order] = np.arange(len(space), dtype=np.int64)
    return ranks
