"""Gromov-Wasserstein: cost and plan against sums over all quadruples and all permutations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from isoglot.aligners import GromovWasserstein
from isoglot.aligners.transport.gromov import gromov_cost, gromov_plan, relations
from isoglot.errors import ConfigError


def test_cost_is_the_sum_over_all_quadruples():
    rng = np.random.default_rng(0)
    C, D = (relations(rng.normal(size=(n, 3)).astype(np.float32)) for n in (5, 6))
    plan = rng.random((5, 6)).astype(np.float32)
    plan /= plan.sum()
    expected = sum(
        (C[i, j] - D[k, m]) ** 2 * plan[i, k] * plan[j, m]
        for i, j in itertools.product(range(5), repeat=2)
        for k, m in itertools.product(range(6), repeat=2)
    )
    assert gromov_cost(C, D, plan) == pytest.approx(expected, rel=1e-4)


def test_relations_are_standardised_products():
    X = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    C = relations(X)
    assert C.mean() == pytest.approx(0, abs=1e-5)
    assert C.std() == pytest.approx(1, abs=1e-5)
    assert np.corrcoef(C.ravel(), (X @ X.T).ravel())[0, 1] == pytest.approx(1, abs=1e-5)
    assert not relations(np.ones((3, 2), np.float32)).any()


@pytest.mark.parametrize("seed", range(4))
def test_plan_of_a_few_words_is_the_best_permutation(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 3)).astype(np.float32)
    order = rng.permutation(6)
    Y = X[order] + 0.05 * rng.normal(size=(6, 3)).astype(np.float32)
    C, D = relations(X), relations(Y)
    costs = {p: gromov_cost(C, D, np.eye(6, dtype=np.float32)[list(p)] / 6) for p in itertools.permutations(range(6))}
    best = min(costs, key=costs.__getitem__)
    plan = None
    for epsilon in np.geomspace(0.5, 0.01, 6):
        plan = gromov_plan(C, D, epsilon, plan)
    assert tuple(plan.argmax(axis=1)) == best
    assert gromov_cost(C, D, plan) <= costs[best] + 0.05


def test_a_turned_space_costs_nothing_and_another_one_much():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 8)) * np.linspace(2, 0.5, 8)).astype(np.float32)
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0].astype(np.float32)
    settings = {"normalise": "unit", "stages": 4, "rounds": 2}
    same = GromovWasserstein(**settings).fit(X, (X @ turn)[::-1].copy())
    assert same.info["plan_cost"] < 0.05
    np.testing.assert_allclose(same.W_src, turn, atol=0.01)
    other = GromovWasserstein(**settings).fit(X, rng.normal(size=(200, 8)))
    assert other.info["plan_cost"] > 4 * same.info["plan_cost"] + 0.1
    assert other.info["mutual"] < same.info["mutual"] == 1.0


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"epsilon": 1.0}, {"stages": 0}, {"words": 1}])
def test_nonsense_settings_are_an_error(wrong):
    with pytest.raises(ConfigError):
        GromovWasserstein(**wrong).fit(np.eye(5), np.eye(5))
