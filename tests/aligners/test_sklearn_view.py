"""Aligners under scikit-learn's own functions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from isoglot.aligners import aligner, methods
from isoglot.aligners.sklearn_view import AlignedTransformer
from isoglot.errors import ConfigError


@pytest.fixture(scope="module")
def matched():
    """Rows and their turned, shifted, noisy twins."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    return X, X @ turn + 2 + 0.05 * rng.normal(size=X.shape)


@pytest.mark.parametrize("name", methods())
def test_every_method_can_be_cloned(name):
    one = aligner(name, seed=3)
    again = clone(one)
    assert again is not one
    assert again == one
    assert one.get_params()["seed"] == 3


def test_set_params_gives_a_new_aligner():
    one = aligner("least-squares")
    other = one.set_params(ridge=0.5, seed=2)
    assert (one.ridge, other.ridge, other.seed) == (type(one)().ridge, 0.5, 2)
    with pytest.raises(ConfigError, match="did you mean 'ridge'"):
        one.set_params(rigde=1.0)
    with pytest.raises(ConfigError, match="at least 0"):
        one.set_params(ridge=-1.0)


def test_the_transformer_keeps_the_rules_of_scikit_learn():
    reason = "vectors are float32, of which matrix products in another order differ in the last digit"
    expected = {"check_methods_sample_order_invariance": reason}
    view = aligner("least-squares").as_transformer()
    results = check_estimator(view, expected_failed_checks=expected, on_skip=None)
    assert sum(row["status"] == "passed" for row in results) > 30


def test_both_sides_end_in_one_space(matched):
    X, Y = matched
    src = aligner("cca").as_transformer().fit(X, Y[:, :5])
    tgt = aligner("cca").as_transformer("tgt").fit(X, Y[:, :5])
    np.testing.assert_array_equal(src.transform(X), src.alignment_.transform(X))
    assert tgt.n_features_in_ == 5
    assert tgt.transform(Y[:, :5]).shape == src.transform(X).shape
    assert tgt.score(X, Y[:, :5]) == src.score(X, Y[:, :5]) > 0.9
    with pytest.raises(ConfigError, match="side"):
        aligner("cca").as_transformer("left").fit(X, Y)


def test_in_a_pipeline_and_in_cross_validation(matched):
    X, Y = matched
    pipeline = make_pipeline(StandardScaler(), AlignedTransformer("procrustes"))
    assert pipeline.fit(X, Y).score(X, Y) > 0.9
    assert pipeline.transform(X).shape == X.shape
    assert cross_val_score(pipeline, X, Y, cv=3).min() > 0.9
    # Rows that belong to others teach nothing: else the figures above would say little.
    assert cross_val_score(pipeline, X, Y[::-1], cv=3).max() < 0.5


def test_a_grid_search_reaches_the_settings_of_the_aligner(matched):
    X, Y = matched
    search = GridSearchCV(
        AlignedTransformer("least-squares"), {"aligner": [aligner("identity"), aligner("procrustes")]}
    )
    assert search.fit(X, Y).best_params_["aligner"].method.name == "procrustes"
    view = aligner("least-squares").as_transformer()
    search = GridSearchCV(view, {"aligner__ridge": [1e9, 0.0], "aligner__normalise": ["none"]})
    assert search.fit(X, Y).best_params_ == {"aligner__ridge": 0.0, "aligner__normalise": "none"}
    assert search.best_estimator_.aligner.ridge == 0.0
    assert view.aligner == aligner("least-squares")


def test_methods_without_pairs_learn_from_all_rows(matched):
    X, Y = matched
    assert aligner("normalization").as_transformer().fit(X, Y).alignment_.info["pairs"] == 0
