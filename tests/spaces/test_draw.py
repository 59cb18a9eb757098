"""Rows drawn at random, whatever their order."""

from __future__ import annotations

import numpy as np

from isoglot.spaces import drawn_rows


def test_the_same_vectors_are_drawn_in_whatever_order_they_come():
    X = np.random.default_rng(0).normal(size=(100, 5)).astype(np.float32)
    order = np.random.default_rng(1).permutation(100)
    one, other = X[drawn_rows(X, 20, 3)], X[order][drawn_rows(X[order], 20, 3)]
    np.testing.assert_array_equal(one, other)
    assert len(np.unique(one, axis=0)) == 20
    assert not np.array_equal(one, X[drawn_rows(X, 20, 4)])


def test_they_are_not_the_first_ones():
    X = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    rows = drawn_rows(X, 200, 0)
    assert 350 < rows.mean() < 650
    assert rows.max() > 900
