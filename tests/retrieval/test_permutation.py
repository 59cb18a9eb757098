"""The best permutation: exact while small, nearly so among candidates, the same for any order of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from isoglot.retrieval import best_permutation


def clouds(n=300, d=12, noise=0.8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X.astype(np.float32), (X + noise * rng.normal(size=(n, d))).astype(np.float32)


def cosines(X, Y):
    A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (X, Y))
    return A @ B.T


def negative_distances(X, Y):
    return -np.square(X[:, None] - Y[None]).sum(axis=2) / 2


@pytest.mark.parametrize(("score", "by_hand"), [("csls", cosines), ("csls-euclidean", negative_distances)])
def test_the_exact_one_is_scipys_best_sum_of_similarities(score, by_hand):
    X, Y = clouds()
    pairs = best_permutation(X, Y, score=score)
    scores = by_hand(X, Y)
    rows, columns = linear_sum_assignment(scores, maximize=True)
    assert sorted(pairs[:, 0]) == sorted(pairs[:, 1]) == list(range(300))
    assert scores[pairs[:, 0], pairs[:, 1]].sum() == pytest.approx(scores[rows, columns].sum(), rel=1e-4)


@pytest.mark.parametrize(("score", "by_hand"), [("csls", cosines), ("csls-euclidean", negative_distances)])
@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_among_candidates_nearly_nothing_is_lost(score, by_hand, noise):
    X, Y = clouds(n=600, noise=noise)
    scores = by_hand(X, Y)
    rows, columns = linear_sum_assignment(scores, maximize=True)
    pairs = best_permutation(X, Y, score=score, dense=0)
    assert sorted(pairs[:, 0]) == sorted(pairs[:, 1]) == list(range(600))
    chance = scores.mean()
    best = scores[rows, columns].mean() - chance
    assert scores[pairs[:, 0], pairs[:, 1]].mean() - chance > 0.999 * best


@pytest.mark.parametrize("dense", [10_000, 0])
def test_sides_of_unequal_size_leave_rows_over(dense):
    X, Y = clouds(n=80, noise=0.05)
    pairs = best_permutation(X[:50], Y, dense=dense)
    assert len(pairs) == len(np.unique(pairs[:, 1])) == 50
    assert (pairs[:, 0] == pairs[:, 1]).mean() > 0.95
    turned = best_permutation(Y, X[:50], dense=dense)
    assert {tuple(row) for row in turned[:, ::-1].tolist()} == {tuple(row) for row in pairs.tolist()}


@pytest.mark.parametrize("dense", [1_000_000, 0])
def test_the_order_of_rows_does_not_matter(dense):
    X, Y = clouds(n=200)
    order = np.random.default_rng(1).permutation(200)
    one = best_permutation(X, Y, dense=dense)
    other = best_permutation(X[order], Y, dense=dense)
    assert {(int(order[i]), int(j)) for i, j in other} == {(int(i), int(j)) for i, j in one}


def test_hubs_get_one_row_only():
    """Nearest neighbours would all choose the one target in the middle."""
    X, Y = clouds(n=100, d=5)
    Y[7] = X.mean(axis=0)
    assert len(np.unique(best_permutation(X, Y, score="csls-euclidean")[:, 1])) == 100
