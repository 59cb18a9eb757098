"""Brute force in double precision, to hold every backend against, and vectors that look like word vectors."""

from __future__ import annotations

import numpy as np
import pytest


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def brute_force(X, Y, score, *, neighbourhood=10, temperature=30.0):
    """All scores X -> Y (n, m) and Y -> X (m, n)."""
    cosine = unit(X) @ unit(Y).T
    if score == "cosine":
        return cosine, cosine.T
    if score == "csls":
        of_rows = np.sort(cosine, axis=1)[:, -neighbourhood:].mean(axis=1)
        of_columns = np.sort(cosine, axis=0)[-neighbourhood:].mean(axis=0)
        csls = 2 * cosine - of_rows[:, None] - of_columns
        return csls, csls.T
    weights = temperature * cosine
    return weights - np.logaddexp.reduce(weights, axis=0), weights.T - np.logaddexp.reduce(weights, axis=1)


def assert_top(found, scores, k, *, tolerance=2e-6):
    """Scores are those of the chosen targets, and none better was left out."""
    k = min(k, scores.shape[1])
    assert found.indices.shape == found.scores.shape == (len(scores), k)
    assert found.indices.dtype == np.int64
    assert found.scores.dtype == np.float32
    assert all(len(set(row)) == k for row in found.indices.tolist())
    np.testing.assert_allclose(found.scores, np.take_along_axis(scores, found.indices, axis=1), atol=tolerance, rtol=0)
    np.testing.assert_allclose(found.scores, -np.sort(-scores, axis=1)[:, :k], atol=tolerance, rtol=0)


def recall(truth, found):
    return float((truth.indices[:, :, None] == found.indices[:, None, :]).any(axis=2).mean())


@pytest.fixture(scope="session")
def word_like():
    """Two sides of 3,000 and 4,100 rows: clusters, a falling spectrum, a shared mean, shared words with noise."""
    generator = np.random.default_rng(5)
    centres = generator.standard_normal((300, 100))
    spectrum = np.arange(1, 101) ** -0.4

    def side(n):
        rows = 0.7 * centres[generator.integers(0, 300, n)] + 0.7 * generator.standard_normal((n, 100))
        return (rows * spectrum + 0.1).astype(np.float32)

    X, Y = side(3000), side(4100)
    Y[:2000] = X[:2000] + 0.1 * generator.standard_normal((2000, 100))
    return X, Y
