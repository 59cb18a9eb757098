"""Each step does what its paper says, and replaying it on new rows gives what fitting gave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, ShapeError
from isoglot.spaces import Normaliser, parse_steps, unit_rows
from isoglot.spaces.normalise import STEPS


def anisotropic(n: int = 400, d: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * np.linspace(3, 0.3, d) + rng.normal(size=d)).astype(np.float32)


ALL = [name + (":4" if name in ("reduce", "abtt") else "") for name in STEPS]


@pytest.mark.parametrize(
    "steps", [[name] for name in ALL] + [["unit", "centre", "unit"], ["centre", "whiten", "reduce:5"]]
)
def test_replay_equals_fit_and_leaves_input_alone(steps):
    X = anisotropic()
    before = X.copy()
    normaliser, fitted = Normaliser.fit_transform(steps, X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_allclose(normaliser.transform(X), fitted, atol=1e-6)
    np.testing.assert_allclose(normaliser.transform(X[7:9]), fitted[7:9], atol=1e-5)
    assert fitted.dtype == np.float32


def test_unit_centre_and_iterative_against_plain_formulas():
    X = anisotropic()
    unit = X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    np.testing.assert_allclose(Normaliser.fit_transform("unit", X)[1], unit, atol=1e-6)
    np.testing.assert_allclose(Normaliser.fit_transform("centre", X)[1], X - X.mean(0), atol=1e-5)
    current = X.astype(np.float64)
    for _ in range(5):
        current /= np.linalg.norm(current, axis=1, keepdims=True)
        current -= current.mean(0)
    result = Normaliser.fit_transform("iterative", X)[1]
    np.testing.assert_allclose(result, current, atol=1e-5)
    # The point of it: rows are of (nearly) equal length and centred at once.
    assert np.abs(result.mean(0)).max() < 1e-6
    assert np.ptp(np.linalg.norm(result, axis=1)) < 0.01


def test_standardising_gives_every_dimension_unit_variance_and_leaves_flat_ones_flat():
    X = anisotropic()
    X[:, 3] *= 1000
    X[:, 5] = 7
    even = Normaliser.fit_transform("standardise", X)[1].astype(np.float64)
    np.testing.assert_allclose(even.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(np.delete(even.std(axis=0), 5), 1, atol=1e-4)
    np.testing.assert_array_equal(even[:, 5], 0)


def test_whitening_gives_identity_covariance_and_ignores_flat_directions():
    X = anisotropic(2000)
    white = Normaliser.fit_transform("whiten", X)[1].astype(np.float64)
    np.testing.assert_allclose(white.T @ white / len(white), np.eye(12), atol=1e-3)
    flat = X.copy()
    flat[:, 3] = flat[:, 4]
    assert np.isfinite(Normaliser.fit_transform("whiten", flat)[1]).all()
    assert np.abs(Normaliser.fit_transform("whiten", flat)[1]).max() < 20


def test_all_but_the_top_removes_the_leading_directions():
    X = anisotropic(2000)
    centred = X.astype(np.float64) - X.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    result = Normaliser.fit_transform("abtt:2", X)[1]
    assert np.abs(result @ directions[:2].T).max() < 1e-3
    np.testing.assert_allclose(result @ directions[2:].T, centred @ directions[2:].T, atol=1e-3)


def test_reduce_keeps_the_most_energy():
    X = anisotropic()
    _, singular, _ = np.linalg.svd(X.astype(np.float64), full_matrices=False)
    reduced = Normaliser.fit_transform("reduce:4", X)[1]
    assert reduced.shape == (400, 4)
    assert np.square(reduced).sum() == pytest.approx(np.square(singular[:4]).sum(), rel=1e-5)


@settings(deadline=None, max_examples=50)
@given(st.floats(1e-30, 1e30), st.integers(0, 10_000))
def test_unit_rows_survive_any_scale(scale, seed):
    X = (np.random.default_rng(seed).normal(size=(5, 7)) * scale).astype(np.float32)
    X[2] = 0
    lengths = np.linalg.norm(unit_rows(X), axis=1)
    np.testing.assert_allclose(np.delete(lengths, 2), 1, atol=1e-5)
    assert lengths[2] == 0


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="did you mean 'centre'"):
        parse_steps("unit,center")
    for wrong in ("unit:3", "abtt:x", "reduce", "iterative:0"):
        with pytest.raises(ConfigError):
            parse_steps(wrong)
    with pytest.raises(ShapeError):
        Normaliser.fit("centre", anisotropic()).transform(np.ones((2, 5), dtype=np.float32))
    with pytest.raises(ShapeError):
        Normaliser.fit("reduce:13", anisotropic())
    assert parse_steps("none") == ()
