"""Isomorphism measures against slow, obvious implementations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.criteria import eigenvector_similarity, gromov_hausdorff, relational_similarity, singular_value_gap
from isoglot.criteria.isomorphism import bottleneck
from isoglot.errors import InputError, ShapeError


def cloud(n: int, d: int, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(2, 0.5, d)).astype(np.float32)


def unit(X: np.ndarray) -> np.ndarray:
    return X.astype(np.float64) / np.linalg.norm(X, axis=1, keepdims=True)


def slow_bottleneck(first: list[float], second: list[float]) -> float:
    """All matchings: each point with one of the other diagram or with the diagonal."""
    a, b = first + [None] * len(second), second + [None] * len(first)

    def cost(x, y):
        if x is None or y is None:
            return (x or y or 0.0) / 2
        return abs(x - y)

    return min(max([cost(x, y) for x, y in zip(a, order, strict=True)]) for order in itertools.permutations(b))


def slow_tree(X: np.ndarray) -> list[float]:
    """Kruskal: the shortest edges that join two components."""
    component = list(range(len(X)))
    lengths = []
    edges = sorted((np.linalg.norm(X[i] - X[j]), i, j) for i, j in itertools.combinations(range(len(X)), 2))
    for length, i, j in edges:
        if component[i] != component[j]:
            lengths.append(length)
            old, new = component[i], component[j]
            component = [new if c == old else c for c in component]
    return lengths


deaths = st.lists(st.floats(0.01, 2.0), min_size=1, max_size=3)


@settings(deadline=None, max_examples=60)
@given(deaths, deaths)
def test_bottleneck_is_the_best_of_all_matchings(first, second):
    assert bottleneck(first, second) == pytest.approx(slow_bottleneck(first, second))


def test_bottleneck_with_an_empty_diagram_goes_to_the_diagonal():
    assert bottleneck([], [0.5, 3.0]) == 1.5
    assert bottleneck([], []) == 0.0


def test_gromov_hausdorff_is_the_bottleneck_of_two_minimum_spanning_trees():
    X, Y = cloud(4, 3, 0), cloud(4, 3, 1) ** 3
    expected = slow_bottleneck(slow_tree(unit(X)), slow_tree(unit(Y)))
    assert gromov_hausdorff(X, Y) == pytest.approx(expected, abs=1e-6)
    large, other = cloud(60, 5, 2), cloud(60, 5, 3) ** 3
    expected = bottleneck(slow_tree(unit(large)), slow_tree(unit(other)))
    assert gromov_hausdorff(large, other) == pytest.approx(expected, abs=1e-6)
    assert expected > 0


def test_words_written_twice_merge_at_once():
    X = cloud(20, 4, 0)
    assert gromov_hausdorff(np.vstack([X, X]), np.vstack([X, X[::-1]])) == pytest.approx(0, abs=1e-6)


def test_eigenvector_similarity_of_two_small_graphs():
    X, Y = cloud(30, 4, 0), cloud(30, 4, 1) ** 3

    def spectrum(M):
        cosines = unit(M) @ unit(M).T
        graph = np.zeros((30, 30))
        for i in range(30):
            others = sorted((j for j in range(30) if j != i), key=lambda j: -cosines[i, j])
            for j in others[:3]:
                graph[i, j] = graph[j, i] = 1
        return sorted(np.linalg.eigvals(np.diag(graph.sum(0)) - graph).real, reverse=True)

    first, second = spectrum(X), spectrum(Y)
    sizes = []
    for values in (first, second):
        k = 1
        while sum(values[:k]) < 0.9 * sum(values):
            k += 1
        sizes.append(k)
    k = min(sizes)
    expected = sum((a - b) ** 2 for a, b in zip(first[:k], second[:k], strict=True)) / k
    assert eigenvector_similarity(X, Y, neighbours=3) == pytest.approx(expected, rel=1e-6)
    assert expected > 0.01


def test_relational_similarity_is_the_correlation_of_all_cosines():
    A, B = cloud(25, 6, 0), cloud(25, 6, 0)[:, ::-1] + cloud(25, 6, 1)
    cosines = [[float(u[i] @ u[j]) for i, j in itertools.combinations(range(25), 2)] for u in (unit(A), unit(B))]
    assert relational_similarity(A, B) == pytest.approx(np.corrcoef(*cosines)[0, 1], abs=1e-6)
    assert relational_similarity(np.ones((4, 2), np.float32), np.eye(4, dtype=np.float32)) == 0.0
    with pytest.raises(ShapeError, match="matched"):
        relational_similarity(A, B[:-1])
    with pytest.raises(InputError, match="at least 3"):
        relational_similarity(A[:2], B[:2])


def test_singular_value_gap_is_that_of_the_singular_values():
    X, Y = cloud(200, 6, 0), cloud(300, 6, 1) ** 3
    spectra = [np.linalg.svd(unit(M), compute_uv=False) / np.sqrt(len(M)) for M in (X, Y)]
    expected = np.mean((np.log(spectra[0]) - np.log(spectra[1])) ** 2)
    assert singular_value_gap(X, Y) == pytest.approx(expected, rel=1e-4)
    assert expected > 0.001


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000))
def test_turning_and_shuffling_a_space_changes_no_measure(seed):
    X = cloud(80, 5, seed)
    turn = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(5, 5)))[0].astype(np.float32)
    order = np.random.default_rng(seed + 2).permutation(80)
    Y = (X @ turn)[order]
    assert eigenvector_similarity(X, Y) == pytest.approx(0, abs=1e-6)
    assert gromov_hausdorff(X, Y) == pytest.approx(0, abs=1e-5)
    assert singular_value_gap(X, Y) == pytest.approx(0, abs=1e-6)
    assert relational_similarity(X[order], Y) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("measure", [eigenvector_similarity, gromov_hausdorff, singular_value_gap])
def test_degenerate_spaces_give_numbers(measure):
    X = cloud(30, 4, 0)
    flat = np.zeros((30, 4), dtype=np.float32)
    flat[:, 0] = 1
    for other in (flat, np.zeros((30, 4), dtype=np.float32), X[:2], cloud(30, 2, 1)):
        assert np.isfinite(measure(X, other))
    assert np.isfinite(measure(X[:1], X[:1]))
