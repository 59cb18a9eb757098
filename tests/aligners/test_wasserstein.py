"""Wasserstein-Procrustes: its parts against closed forms and slow, obvious versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linear_sum_assignment

from isoglot.aligners import WassersteinProcrustes, transport_plan
from isoglot.aligners.transport.wasserstein import _inner, convex_start, stochastic_epoch
from isoglot.errors import ConfigError


def twins(n: int, d: int, seed: int, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, its turned and shuffled copy Y, the turn, and the row of Y for each row of X."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.5, d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    order = rng.permutation(n)
    Y = (X @ turn + noise * rng.normal(size=(n, d)))[order]
    return X.astype(np.float32), Y.astype(np.float32), turn, np.argsort(order)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.integers(2, 30), st.integers(2, 30), st.sampled_from([0.02, 0.1, 1.0]))
def test_plans_have_uniform_marginals(seed, n, m, epsilon):
    cost = np.random.default_rng(seed).normal(size=(n, m)).astype(np.float32)
    plan = transport_plan(cost, epsilon, iterations=2000)
    assert np.isfinite(plan).all()
    np.testing.assert_allclose(plan.sum(axis=1), 1 / n, rtol=0.05)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / m, rtol=0.05)


def test_a_sharp_plan_is_the_best_assignment_and_a_blurred_one_is_uniform():
    cost = np.random.default_rng(0).normal(size=(12, 12)).astype(np.float32)
    rows, columns = linear_sum_assignment(cost)
    sharp = transport_plan(cost, 0.005, iterations=2000)
    assert (sharp.argmax(axis=1)[rows] == columns).all()
    np.testing.assert_allclose(transport_plan(cost, 1e4), 1 / 144, rtol=1e-2)


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_plans_survive_costs_that_overflow_an_exponential(shift):
    cost = np.random.default_rng(0).normal(size=(20, 20)) * 30
    cost[3] += shift
    plan = transport_plan(cost, 0.01)
    assert np.isfinite(plan).all()
    assert plan.sum() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.05])
def test_plans_are_those_of_pot_in_the_log_domain(epsilon):
    ot = pytest.importorskip("ot")
    cost = np.random.default_rng(0).normal(size=(40, 60)).astype(np.float32)
    weights = np.full(40, 1 / 40), np.full(60, 1 / 60)
    theirs = ot.sinkhorn(*weights, cost.astype(np.float64), epsilon, method="sinkhorn_log", numItermax=20_000)
    ours = transport_plan(cost, epsilon, iterations=20_000)
    assert np.abs(ours - theirs).sum() < 0.02


@pytest.mark.parametrize("epsilon", [0.01, 0.001])
def test_sharp_plans_cost_as_little_as_the_exact_one(epsilon):
    """Where POT's own Sinkhorn does not converge, linear programming tells."""
    ot = pytest.importorskip("ot")
    cost = np.random.default_rng(0).normal(size=(40, 60)).astype(np.float32)
    exact = ot.emd2(np.full(40, 1 / 40), np.full(60, 1 / 60), cost.astype(np.float64))
    plan = transport_plan(cost, epsilon, iterations=20_000)
    assert float((plan * cost).sum()) == pytest.approx(exact, abs=0.02)
    np.testing.assert_allclose(plan.sum(axis=1), 1 / 40, rtol=0.05)


def test_epsilon_must_be_above_zero():
    with pytest.raises(ConfigError, match="epsilon"):
        transport_plan(np.eye(2, dtype=np.float32), 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_convex_relaxation_finds_which_word_is_which(seed):
    X, Y, turn, _ = twins(200, 8, seed)
    np.testing.assert_allclose(convex_start(X, Y), turn, atol=0.1)


def test_products_of_plans_are_those_of_the_full_matrices():
    """The relaxation never builds K_X P - P K_Y; what it computes instead must be the same number."""
    rng = np.random.default_rng(0)
    A, B, P, Q = (rng.normal(size=shape) for shape in ((9, 3), (9, 4), (9, 9), (9, 9)))
    K, L = A @ A.T, B @ B.T
    expected = np.sum((K @ P - P @ L) * (K @ Q - Q @ L))
    assert _inner(A, B, A.T @ P, P @ B, A.T @ Q, Q @ B, A.T @ A, B.T @ B) == pytest.approx(expected)


def test_an_epoch_brings_a_nearby_rotation_home():
    X, Y, turn, _ = twins(300, 8, 0)
    near = np.linalg.qr(turn + 0.1 * np.random.default_rng(5).normal(size=(8, 8)))[0]
    near *= np.sign(np.diag(near.T @ turn))  # qr chooses its own signs
    start = near.astype(np.float32)
    options = {"learning_rate": 1.0, "epsilon": 0.02}
    W, similarity = stochastic_epoch(X, Y, start, batch=300, steps=40, rng=np.random.default_rng(0), **options)
    assert np.linalg.norm(W - turn) < 0.05 * np.linalg.norm(start - turn) + 0.02
    assert similarity > 0.9
    np.testing.assert_allclose(W @ W.T, np.eye(8), atol=1e-5)
    # Batches that hold different words on both sides still pull towards the same rotation.
    W, _ = stochastic_epoch(X, Y, start, batch=150, steps=40, rng=np.random.default_rng(0), **options)
    assert np.linalg.norm(W - turn) < 0.7 * np.linalg.norm(start - turn)


def test_partial_vocabularies_without_pairs():
    X, Y, turn, where = twins(400, 10, 1, noise=0.01)
    kept = Y[np.sort(where[:320])]
    alignment = WassersteinProcrustes(normalise="unit", epochs=2, steps=30).fit(X, kept)
    np.testing.assert_allclose(alignment.W_src, turn, atol=0.05)
    assert len(alignment.info["epochs"]) == 2


def test_nonsense_settings_are_an_error():
    X, Y, _, _ = twins(20, 3, 0)
    with pytest.raises(ConfigError):
        WassersteinProcrustes(batch=0).fit(X, Y)
