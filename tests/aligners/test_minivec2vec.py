"""mini-vec2vec: its parts against brute force, and two models that embed different samples of the same things."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from isoglot.aligners import MiniVec2Vec
from isoglot.aligners.self_learning.minivec2vec import cluster, counterparts, match_anchors, spread_seeds
from isoglot.errors import ConfigError


def clouds(n: int, d: int, k: int, seed: int) -> np.ndarray:
    """Points in k clusters of unequal size."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, d)) * 2
    member = rng.choice(k, size=n, p=np.linspace(2, 1, k) / np.linspace(2, 1, k).sum())
    return (centres[member] + 0.7 * rng.normal(size=(n, d))).astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_anchors_are_matched_as_well_as_by_any_permutation(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 4)).astype(np.float32)
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    B = ((A @ turn)[rng.permutation(6)] + 0.05 * rng.normal(size=(6, 4))).astype(np.float32)
    order, agreement = match_anchors(A, B, restarts=20, rng=np.random.default_rng(0))
    C, D = A @ A.T, B @ B.T
    value = {p: float(np.sum(C * D[np.ix_(p, p)])) for p in itertools.permutations(range(6))}
    assert float(np.sum(C * D[np.ix_(order, order)])) == pytest.approx(max(value.values()), abs=1e-5)
    above = np.triu_indices(6, 1)
    assert agreement == pytest.approx(np.corrcoef(C[above], D[np.ix_(order, order)][above])[0, 1], abs=1e-5)


def test_clusters_are_a_fixed_point_of_lloyds_steps():
    X = clouds(300, 6, 5, 0)
    centres = cluster(X, X[spread_seeds(X, 5)], steps=200)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    member = [max(range(5), key=lambda c: unit[i] @ centres[c]) for i in range(300)]
    for c in range(5):
        mean = np.mean([unit[i] for i in range(300) if member[i] == c], axis=0)
        np.testing.assert_allclose(centres[c], mean / np.linalg.norm(mean), atol=1e-4)


def test_a_centre_without_rows_stays_put():
    X = np.array([[1.0, 0.0], [1.0, 0.1]], dtype=np.float32)
    centres = cluster(X, np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32))
    np.testing.assert_allclose(centres[1], [-1, 0])


def test_seeds_turn_and_move_with_the_space():
    X = clouds(200, 6, 8, 1)
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0].astype(np.float32)
    order = np.random.default_rng(3).permutation(200)
    for run in (0, 3):
        there = spread_seeds(X, 12, run)
        assert len(set(there.tolist())) == 12
        np.testing.assert_array_equal(order[spread_seeds((X @ turn)[order], 12, run)], there)


def test_counterparts_are_means_of_csls_neighbours():
    rng = np.random.default_rng(0)
    shapes = ((15, 4), (12, 4), (15, 3), (12, 3))
    A, B, X, Y = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    unit_a, unit_b = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    cosines = unit_a @ unit_b.T
    r_a, r_b = np.sort(cosines, axis=1)[:, -10:].mean(axis=1), np.sort(cosines, axis=0)[-10:].mean(axis=0)
    csls = 2 * cosines - r_a[:, None] - r_b
    there, back = counterparts(A, B, X, Y, 3)
    np.testing.assert_allclose(there, [Y[np.argsort(-row)[:3]].mean(axis=0) for row in csls], atol=1e-5)
    np.testing.assert_allclose(back, [X[np.argsort(-column)[:3]].mean(axis=0) for column in csls.T], atol=1e-5)


def test_two_models_with_half_of_their_texts_in_common():
    """Each side embeds 600 texts, of which 300 are the other's too: no row has to have a twin."""
    X = clouds(900, 12, 25, 0)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    Y = X @ turn + 0.02 * np.random.default_rng(2).normal(size=X.shape)
    alignment = MiniVec2Vec(normalise="unit", runs=6).fit(X[:600], Y[300:])
    np.testing.assert_allclose(alignment.W_src, turn, atol=0.05)
    assert alignment.info["anchor_agreement"] > 0.5


@pytest.mark.parametrize("wrong", [{"anchors": 0}, {"memory": 1.0}, {"memory": -0.1}, {"runs": 0}])
def test_nonsense_settings_are_an_error(wrong):
    with pytest.raises(ConfigError):
        MiniVec2Vec(**wrong).fit(np.eye(5), np.eye(5))
