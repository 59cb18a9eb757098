"""The plan of `ot`: against the one that training computes, against POT, and what must hold of any plan."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError
from isoglot.wordalign import word_align
from isoglot.wordalign.transport import word_ot, word_ot_plan

SEEDS = st.integers(0, 10_000)
SIZES = st.integers(1, 14)


def words(n: int, m: int, seed: int, scale: float = 1.0, dim: int = 8) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return scale * random.standard_normal((n, dim)), scale * random.standard_normal((m, dim))


def costs(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return ((X[:, None] - Y) ** 2).sum(-1) / 2


def furthest(plan: np.ndarray, other: np.ndarray) -> float:
    """The largest difference of two plans, as a share of the lighter word."""
    return float(np.abs(plan - other).max()) * max(plan.shape)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES, scale=st.sampled_from([0.1, 1, 5]), blur=st.sampled_from([0.05, 0.3, 1.0]))
def test_the_plan_is_that_of_the_training(seed, n, m, scale, blur):
    import torch

    from isoglot.finetuning import TransportSettings, transport_plan

    X, Y = words(n, m, seed, scale)
    masks = [torch.ones(1, size, dtype=torch.bool) for size in (n, m)]
    exact = TransportSettings(blur=blur, iterations=2000, tolerance=1e-6)
    theirs = transport_plan(torch.from_numpy(X)[None], torch.from_numpy(Y)[None], *masks, exact)
    assert furthest(word_ot_plan(X @ Y.T, blur), theirs[0].numpy()) < 0.01


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES, blur=st.sampled_from([0.5, 1.0, 3.0]))
def test_the_plan_is_that_of_pot(seed, n, m, blur):
    """At blurs for which its iterations come to an end."""
    import ot

    X, Y = words(n, m, seed)
    a, b = np.full(n, 1 / n), np.full(m, 1 / m)
    theirs = ot.sinkhorn(a, b, costs(X, Y), blur**2, method="sinkhorn_log", numItermax=20_000, stopThr=1e-9, warn=False)
    assert furthest(word_ot_plan(X @ Y.T, blur), theirs) < 0.01


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES, scale=st.sampled_from([0.1, 1, 30]), blur=st.sampled_from([1e-300, 0.05, 0.3]))
def test_the_plan_costs_little_more_than_the_best_one(seed, n, m, scale, blur):
    import ot

    X, Y = words(n, m, seed, scale)
    a, b, C = np.full(n, 1 / n), np.full(m, 1 / m), costs(X, Y)
    plan = word_ot_plan(X @ Y.T, blur)
    assert plan.min() >= 0
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), b, rtol=1e-12)
    # The blur costs epsilon times the largest entropy at most; a thousandth of each word may go anywhere.
    best = float((ot.emd(a, b, C) * C).sum())
    assert best - 1e-9 * C.max() <= float((plan * C).sum()) <= best + blur**2 * np.log(n * m) + 2e-3 * C.max()


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES)
def test_what_changes_no_plan(seed, n, m):
    X, Y = words(n, m, seed, 3)
    S = X @ Y.T
    plan = word_ot_plan(S, 0.3)
    if n != m:
        np.testing.assert_array_equal(word_ot_plan(S.T, 0.3).T, plan)
    # Whole rows and columns may be raised, so vectors may be moved together.
    assert furthest(word_ot_plan(S + np.arange(n)[:, None] - np.arange(m), 0.3), plan) < 0.01
    assert furthest(word_ot_plan((X - 5) @ (Y - 5).T, 0.3), plan) < 0.01
    # Distances and blur have one unit.
    assert furthest(word_ot_plan(100 * S, 3), plan) < 1e-6


def test_extremes_of_the_blur():
    X, Y = words(4, 7, 0)
    np.testing.assert_allclose(word_ot_plan(X @ Y.T, 1e200), np.full((4, 7), 1 / 28))
    order = np.random.default_rng(0).permutation(9)
    X, _ = words(9, 1, 1)
    np.testing.assert_allclose(word_ot_plan(X @ X[order].T, 1e-300), np.eye(9)[:, order] / 9, atol=1e-4)
    np.testing.assert_allclose(word_ot_plan(1e8 * X @ X[order].T, 0.05), np.eye(9)[:, order] / 9, atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, n=SIZES, m=SIZES, scale=st.sampled_from([0.1, 1]))
def test_links_are_the_cells_that_carry_most(seed, n, m, scale):
    X, Y = words(n, m, seed, scale)
    S = X @ Y.T
    shares = word_ot_plan(S, 0.2) * max(n, m)
    found = [word_ot(S, blur=0.2, threshold=threshold) for threshold in (0.3, 0.6, 0.8, 1.0)]
    for links, threshold in zip(found, (0.3, 0.6, 0.8, 1.0), strict=True):
        assert links.scores == {(i, j): shares[i, j] for i, j in links.sure}
        assert all(threshold - 0.002 < score < 1.002 for score in links.scores.values())
        assert not links.possible
    assert found[0].sure >= found[1].sure >= found[2].sure >= found[3].sure
    # Of the longer sentence, no word has two partners that carry most of it.
    longer = Counter(i if n >= m else j for i, j in found[1].sure)
    assert not longer or max(longer.values()) == 1


def test_one_word_is_carried_to_all():
    X, Y = words(1, 5, 0)
    assert word_align(X @ Y.T, "ot").sure == {(0, j) for j in range(5)}
    assert word_align(Y @ X.T, "ot").sure == {(i, 0) for i in range(5)}
    assert word_align(X @ Y[:1].T, "ot").scores == {(0, 0): 1.0}


def test_a_sentence_twice_as_long_fills_every_word_twice():
    X, _ = words(4, 1, 2, scale=3)
    both = np.concatenate([X, X[::-1] + 0.01])
    assert word_align(X @ both.T, "ot").sure == {(i, j) for i in range(4) for j in (i, 7 - i)}


def test_repeated_words_share_their_partners():
    X, _ = words(3, 1, 3, scale=3)
    src, tgt = X[[0, 0, 1, 2]], X[[0, 0, 2, 1]]
    assert word_align(src @ tgt.T, "ot").sure == {(2, 3), (3, 2)}
    halves = word_align(src @ tgt.T, "ot", threshold=0.5)
    assert halves.sure == {(0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (3, 2)}
    assert halves.scores[0, 1] == pytest.approx(0.5)
    # In context no two are quite the same, and a difference beyond the blur tells them apart.
    src[1] += 0.5
    tgt[1] += 0.5
    assert word_align(src @ tgt.T, "ot").sure == {(0, 0), (1, 1), (2, 3), (3, 2)}


@pytest.mark.parametrize(
    ("name", "value"),
    [("blur", 0), ("blur", -1), ("blur", float("nan")), ("blur", float("inf")), ("threshold", -0.1), ("threshold", 2)],
)
def test_settings_are_checked(name, value):
    with pytest.raises(ConfigError, match=name):
        word_align(np.eye(3), "ot", **{name: value})
