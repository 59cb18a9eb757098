"""The criteria of an alignment: values worked out by hand, and the default that must not change."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.criteria import confident_pairs, measure, semantic_criterion, structural_criterion
from isoglot.errors import ConfigError
from isoglot.retrieval import EUCLIDEAN_SCORES


def matrix(*rows):
    return np.array(rows, dtype=np.float32)


@pytest.mark.parametrize("score", EUCLIDEAN_SCORES)
def test_concordance_by_hand(score):
    A, B = matrix([0, 0], [2, 0]), matrix([0, 1], [2, 1])
    # Mean (1, .5): each row lies 1.25 squared from it, 5 in all; the pairs are 1 squared apart, 2 in all.
    assert semantic_criterion(A, B, score) == pytest.approx(1 - 2 / 5)
    assert semantic_criterion(A, A, score) == 1.0
    # Exchanged rows lie 4 squared apart, 8 in all; the mean is (1, 0) and the spread 4.
    assert semantic_criterion(A, A[::-1], score) == pytest.approx(-1.0)
    # Where the origin is does not matter.
    assert semantic_criterion(A + 100, B + 100, score) == pytest.approx(1 - 2 / 5)


def test_concordance_of_rows_that_are_all_the_same_is_none():
    A = matrix([3, 4], [3, 4])
    assert semantic_criterion(A, A, "euclidean") == 0.0
    assert structural_criterion(A, A, "euclidean") == 0.0


def test_concordance_of_centred_unit_rows_is_their_mean_cosine():
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=(500, 3)) for _ in range(2))
    A, B = (np.concatenate([M, -M]) for M in (A, B + A))
    A, B = ((M / np.linalg.norm(M, axis=1, keepdims=True)).astype(np.float32) for M in (A, B))
    assert semantic_criterion(A, B, "csls-euclidean") == pytest.approx(semantic_criterion(A, B), abs=1e-6)


def test_default_criteria_go_by_direction():
    A, B = matrix([1, 0], [0, 2]), matrix([3, 0], [1, 1])
    assert semantic_criterion(A, B) == pytest.approx((1 + 0.5**0.5) / 2)
    assert semantic_criterion(A, B) == semantic_criterion(A, B, "csls") == semantic_criterion(A, B, "cosine")
    assert structural_criterion(A, 3 * A) == pytest.approx(0.0, abs=1e-6)


def test_structure_of_centred_rows_by_hand():
    A = matrix([1, 0], [-1, 0], [0, 2], [0, -2])  # singular values sqrt(8) and sqrt(2)
    B = matrix([2, 0], [-2, 0], [0, 2], [0, -2])  # sqrt(8) twice
    expected = (8**0.5 - 2**0.5) / 2 / ((3 * 8**0.5 + 2**0.5) / 4)
    assert structural_criterion(A, B, "euclidean") == pytest.approx(expected)
    assert structural_criterion(A + 7, B - 3, "euclidean") == pytest.approx(expected, rel=1e-5)


def test_pairs_by_distance_where_all_directions_are_the_same():
    X = np.arange(1, 71, dtype=np.float32)[:, None] * matrix([1, 1])
    order = np.random.default_rng(0).permutation(70)
    pairs, mutual = confident_pairs(X, X[order], score="euclidean")
    np.testing.assert_array_equal(order[pairs[:, 1]], pairs[:, 0])
    assert mutual == 1.0
    measured = measure(X, X[order], score="euclidean")
    assert (measured.semantic, measured.pairs, measured.mutual) == (1.0, 70, 1.0)
    assert measured.structural == pytest.approx(0.0, abs=1e-6)
    assert measure(X, X[order]).mutual < 0.5


def test_in_a_crowded_plane_the_criterion_tells_a_wrong_turn_from_the_right_one():
    """Over nearest neighbours both look nearly perfect: there is always a point nearby."""
    rng = np.random.default_rng(0)
    X = (rng.exponential(size=(400, 2)) * [3, 1]).astype(np.float32)
    Y = (rng.exponential(size=(400, 2)) * [3, 1]).astype(np.float32)
    wrong = ((X - X.mean(axis=0)) @ matrix([0, -1], [1, 0]) + X.mean(axis=0)).astype(np.float32)
    figures = [measure(M, Y, score="csls-euclidean").semantic for M in (X, wrong)]
    assert figures[0] > 0.95
    assert figures[0] - figures[1] > 0.2


def test_criteria_of_many_rows_of_a_plane_are_taken_over_some(monkeypatch):
    monkeypatch.setattr("isoglot.criteria.alignment.PERMUTED", 50)
    X = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    found = measure(X, X[::-1], score="euclidean")
    assert found.pairs == 50
    assert found.mutual == 1.0


def test_unknown_scores_are_refused():
    for criterion in (semantic_criterion, structural_criterion):
        with pytest.raises(ConfigError, match="unknown score"):
            criterion(matrix([1, 0]), matrix([1, 0]), "nothing like it")
