"""The closed-form methods against independent computations in float64, and their saved folders against damage."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

from isoglot.aligners import (
    CCA,
    GBDD,
    Alignment,
    LeastSquares,
    MeanShift,
    Normalization,
    Procrustes,
    cca,
    least_squares,
    procrustes,
)
from isoglot.aligners.closed_form.least_squares import choose_ridge
from isoglot.errors import ConfigError, FormatError, InputError, IsoglotError


def matched(n=200, d=8, e=8, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.4, d)
    Y = X @ rng.normal(size=(d, e)) + noise * rng.normal(size=(n, e))
    return X.astype(np.float32), Y.astype(np.float32)


def diagonal(n):
    return np.stack([np.arange(n)] * 2, axis=1)


def test_procrustes_agrees_with_scipy():
    X, Y = matched()
    expected, _ = scipy.linalg.orthogonal_procrustes(X.astype(np.float64), Y.astype(np.float64))
    np.testing.assert_allclose(procrustes(X, Y), expected, atol=1e-5)


@settings(deadline=None, max_examples=25)
@given(d=st.integers(2, 24), seed=st.integers(0, 10**6))
def test_procrustes_recovers_any_rotation_and_beats_any_other(d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * d, d))
    turn, other = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    W = procrustes(X.astype(np.float32), (X @ turn).astype(np.float32))
    np.testing.assert_allclose(W, turn, atol=1e-4)
    np.testing.assert_allclose(W @ W.T, np.eye(d), atol=1e-5)
    Y = rng.normal(size=X.shape)
    best = procrustes(X.astype(np.float32), Y.astype(np.float32))
    assert np.linalg.norm(X @ best - Y) <= np.linalg.norm(X @ other - Y) + 1e-6


@pytest.mark.parametrize("ridge", [0.0, 0.5, 20.0])
def test_least_squares_agrees_with_the_normal_equations(ridge):
    X, Y = matched(e=5)
    X64, Y64 = X.astype(np.float64), Y.astype(np.float64)
    expected = np.linalg.solve(X64.T @ X64 + ridge * np.eye(8), X64.T @ Y64)
    np.testing.assert_allclose(least_squares(X, Y, ridge), expected, atol=1e-4)


def test_least_squares_with_fewer_pairs_than_dimensions_is_the_smallest_solution():
    X, Y = matched(n=5)
    expected = np.linalg.pinv(X.astype(np.float64)) @ Y
    np.testing.assert_allclose(least_squares(X, Y, 0.0), expected, atol=1e-4)


def test_ridge_is_chosen_by_real_leave_one_out_error():
    X, Y = matched(n=30, noise=3.0)

    def left_out(ridge):
        errors = [Y[i] - X[i] @ least_squares(np.delete(X, i, 0), np.delete(Y, i, 0), ridge) for i in range(len(X))]
        return float(np.square(errors).sum())

    chosen = choose_ridge(X, Y)
    assert chosen > 0
    assert left_out(chosen) <= min(left_out(chosen * 3), left_out(chosen / 3)) * 1.001


def test_cca_agrees_with_the_generalised_eigenproblem():
    X, Y = matched(d=6, e=4, noise=2.0)
    A, B, correlations = cca(X, Y)
    Xc, Yc = X - X.mean(0, dtype=np.float64), Y - Y.mean(0, dtype=np.float64)
    Cxx, Cyy, Cxy = Xc.T @ Xc, Yc.T @ Yc, Xc.T @ Yc
    squared = scipy.linalg.eigh(Cxy @ np.linalg.solve(Cyy, Cxy.T), Cxx, eigvals_only=True)[::-1][:4]
    np.testing.assert_allclose(correlations**2, squared, atol=1e-6)
    # Projections: unit variance, uncorrelated within a side, correlated pairwise by exactly these figures.
    U, V = Xc @ A / np.sqrt(len(X)), Yc @ B / np.sqrt(len(X))
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(U.T @ V, np.diag(correlations), atol=1e-6)


def test_cca_aligner_centres_and_keeps_a_share():
    X, Y = matched(d=10, e=10)
    alignment = CCA(normalise="none", keep=0.5, weight=0, ridge=0).fit(X, Y, diagonal(200))
    assert alignment.transform(X).shape == (200, 5)
    assert np.abs(alignment.transform(X).mean(axis=0)).max() < 1e-4


def test_normalization_and_mean_shift_by_their_definitions():
    X, Y = matched()
    X += 3
    alignment = Normalization().fit(X, Y)
    for side, M in (("src", X), ("tgt", Y)):
        expected = (M - M.mean(0, dtype=np.float64)) / M.std(0, dtype=np.float64)
        np.testing.assert_allclose(alignment.transform(M, side), expected, atol=1e-4)
    shifted = MeanShift().fit(X, Y, diagonal(100)).transform(X)
    np.testing.assert_allclose(shifted, X - (X[:100].mean(0) - Y[:100].mean(0)), atol=1e-4)


def test_gbdd_projects_out_the_first_right_singular_vector_of_the_differences():
    X, Y = matched()
    Y[:, 1] += 4
    alignment = GBDD().fit(X, Y, diagonal(100))
    bias = np.linalg.svd(X[:100] - Y[:100])[2][0]
    for side, M in (("src", X), ("tgt", Y)):
        mapped = alignment.transform(M, side)
        np.testing.assert_allclose(mapped, M - np.outer(M @ bias, bias), atol=1e-4)
        np.testing.assert_allclose(mapped @ bias, 0, atol=1e-4)


@pytest.mark.parametrize(
    ("cls", "wrong"),
    [
        (LeastSquares, {"ridge": -1}),
        (CCA, {"keep": 0}),
        (CCA, {"keep": 1.5}),
        (CCA, {"ridge": -0.1}),
        (Procrustes, {"normalise": "units"}),
    ],
)
def test_settings_out_of_range_are_refused(cls, wrong):
    with pytest.raises(ConfigError):
        cls(**wrong)


def test_a_folder_that_is_no_alignment_is_named(tmp_path):
    with pytest.raises(InputError, match="not a saved alignment"):
        Alignment.load(tmp_path)
    X, Y = matched()
    Procrustes().fit(X, Y, diagonal(200)).save(tmp_path / "a")
    config_path, tensors = tmp_path / "a" / "config.json", tmp_path / "a" / "alignment.safetensors"
    good, numbers = config_path.read_text("utf-8"), tensors.read_bytes()
    config = json.loads(good)
    for damaged in (
        "",
        "{}",
        "[]",
        '{"format": "isoglot-alignment"}',
        json.dumps({**config, "version": 99}),
        json.dumps({**config, "kind": "other"}),
        json.dumps({**config, "normalise": {"src": ["uint"], "tgt": []}}),
        json.dumps({**config, "normalise": {"src": ["centre"] * 9, "tgt": []}}),
    ):
        config_path.write_text(damaged, "utf-8")
        with pytest.raises(IsoglotError):
            Alignment.load(tmp_path / "a")
    config_path.write_text(good, "utf-8")
    for cut in (0, 7, len(numbers) // 2, len(numbers) - 1):
        tensors.write_bytes(numbers[:cut])
        with pytest.raises(FormatError):
            Alignment.load(tmp_path / "a")


def test_saving_replaces_an_alignment_but_nothing_else(tmp_path):
    X, Y = matched()
    alignment = Procrustes().fit(X, Y, diagonal(200))
    alignment.save(tmp_path / "a")
    alignment.save(tmp_path / "a")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("precious")
    with pytest.raises(InputError, match="will not be overwritten"):
        alignment.save(tmp_path / "thesis")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "thesis"]
