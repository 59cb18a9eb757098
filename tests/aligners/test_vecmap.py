"""Mapping steps, dictionary induction and the similarity start against slow, obvious computations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from isoglot.aligners import aligner
from isoglot.aligners.closed_form.mapping_steps import MappingSteps, map_in_steps
from isoglot.aligners.self_learning.rounds import SelfLearning, _induce_by_pairs, induce_pairs, similarity_start
from isoglot.errors import ConfigError, LexiconError
from isoglot.spaces import Space


def matched(n=300, d=10, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.4, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return X.astype(np.float32), (X @ turn + noise * rng.normal(size=(n, d))).astype(np.float32)


@pytest.mark.parametrize("dewhiten", ["none", "src", "tgt"])
def test_steps_one_after_the_other(dewhiten):
    """Whiten, rotate, re-weight, de-whiten, each on the vectors themselves, as the paper writes them."""
    X, Y = (M.astype(np.float64) for M in matched())
    Wx, Wy = (scipy.linalg.fractional_matrix_power(M.T @ M, -0.5).real for M in (X, Y))
    U, s, Vt = np.linalg.svd((X @ Wx).T @ (Y @ Wy))
    s /= s[0]
    A, B = X @ Wx @ U * s**0.5, Y @ Wy @ Vt.T * s**0.5
    undo = {
        "none": np.eye(10),
        "src": U.T @ np.linalg.inv(Wx) @ U,
        "tgt": Vt @ np.linalg.inv(Wy) @ Vt.T,
    }[dewhiten]
    steps = MappingSteps(src_dewhiten=dewhiten, tgt_dewhiten=dewhiten)
    W_src, W_tgt = map_in_steps(X.astype(np.float32), Y.astype(np.float32), steps)
    # Singular vectors are defined up to a sign shared by both sides: compare what does not depend on it.
    np.testing.assert_allclose((X @ W_src) @ (Y @ W_tgt).T, (A @ undo) @ (B @ undo).T, rtol=1e-3, atol=1e-3)


def test_without_whitening_and_reweighting_it_is_procrustes():
    X, Y = matched()
    U, _, Vt = np.linalg.svd(X.T.astype(np.float64) @ Y)
    W_src, W_tgt = map_in_steps(X, Y, MappingSteps(whiten=False, src_reweight=0, tgt_reweight=0))
    np.testing.assert_allclose(W_src @ W_tgt.T, U @ Vt, atol=1e-4)


def test_weights_count_pairs_several_times():
    X, Y = matched(40)
    twice = np.concatenate([X, X[:10]]), np.concatenate([Y, Y[:10]])
    weights = np.ones(40, dtype=np.float32)
    weights[:10] = 2
    one, other = map_in_steps(X, Y, MappingSteps(), weights), map_in_steps(*twice, MappingSteps())
    np.testing.assert_allclose(one[0] @ one[1].T, other[0] @ other[1].T, atol=1e-3)


def test_dimensions_are_cut_and_checked():
    X, Y = matched()
    assert map_in_steps(X, Y, MappingSteps(dimensions=4))[0].shape == (10, 4)
    for wrong in (MappingSteps(dimensions=11), MappingSteps(src_dewhiten="trg")):  # type: ignore[arg-type]
        with pytest.raises(ConfigError):
            map_in_steps(X, Y, wrong)


def brute_force(X, Y, available_y, available_x, k):
    """Forward and backward CSLS translations with loops and full sorting, in float64."""

    def best(A, B, available):
        A = A.astype(np.float64) / np.linalg.norm(A, axis=1, keepdims=True)
        B = (B.astype(np.float64) / np.linalg.norm(B, axis=1, keepdims=True))[available]
        cosines = A @ B.T
        of_candidates = np.sort(cosines, axis=0)[-k:].mean(axis=0)
        return available[(2 * cosines - of_candidates).argmax(axis=1)]

    return best(X, Y, available_y), best(Y, X, available_x)


@pytest.mark.parametrize("keep", [0.2, 1.0])
def test_induced_dictionaries_are_those_of_the_obvious_way(keep):
    X, Y = matched(250, noise=0.8)
    Y = Y[:200]
    settings = SelfLearning(neighbourhood=5, backend="exact")
    pairs, similarity = induce_pairs(X, Y, keep, np.random.default_rng(7), settings)
    rng = np.random.default_rng(7)
    if keep < 1:
        available_y = np.sort(rng.choice(200, 40, replace=False))
        available_x = np.sort(rng.choice(250, 50, replace=False))
    else:
        available_y, available_x = np.arange(200), np.arange(250)
    there, back = brute_force(X, Y, available_y, available_x, 5)
    np.testing.assert_array_equal(pairs[:250], np.stack([np.arange(250), there], axis=1))
    np.testing.assert_array_equal(pairs[250:], np.stack([back, np.arange(200)], axis=1))
    A, B = X[pairs[:, 0]].astype(np.float64), Y[pairs[:, 1]].astype(np.float64)
    cosines = (A * B).sum(1) / np.linalg.norm(A, axis=1) / np.linalg.norm(B, axis=1)
    assert similarity == pytest.approx(cosines.mean(), abs=1e-6)


@pytest.mark.parametrize("keep", [0.3, 1.0])
def test_pairs_left_out_by_themselves_leave_the_best_of_the_others(keep):
    """Against the paper's way, a draw for each pair: how often a word gets its best, second, third, ... candidate."""
    X, Y = matched(400, noise=0.8)
    settings = SelfLearning(neighbourhood=5, backend="exact", drop="pairs")
    rng = np.random.default_rng(0)
    cosines = (X / np.linalg.norm(X, axis=1, keepdims=True)) @ (Y / np.linalg.norm(Y, axis=1, keepdims=True)).T
    scores = cosines - np.sort(cosines, axis=0)[-5:].mean(axis=0) / 2
    place = (-scores).argsort(axis=1).argsort(axis=1)
    ours, theirs = np.zeros(6), np.zeros(6)
    for _ in range(20):
        pairs, similarity = _induce_by_pairs(X, Y, keep, rng, settings)
        assert pairs[:400, 0].tolist() == pairs[400:, 1].tolist() == list(range(400))
        ours += np.bincount(np.minimum(place[np.arange(400), pairs[:400, 1]], 5), minlength=6)
        masked = np.where(rng.random(scores.shape) < keep, scores, -np.inf).argmax(axis=1)
        theirs += np.bincount(np.minimum(place[np.arange(400), masked], 5), minlength=6)
    np.testing.assert_allclose(ours / 8000, theirs / 8000, atol=0.025)
    # The objective does not depend on what was left out.
    assert similarity == pytest.approx((cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2, abs=1e-5)


def test_the_paper_is_one_preset():
    paper = aligner("vecmap-semi", preset="paper")
    assert (paper.patience, paper.drop, paper.keep_seeds, paper.keep, paper.grow) == (50, "pairs", False, 0.1, 2.0)
    X, Y = matched(300, noise=0.05)
    pairs = np.stack([np.arange(30)] * 2, axis=1)
    alignment = aligner("vecmap-semi", preset="paper", patience=2).fit(X, Y, pairs)
    A, B = alignment.transform(X, "src"), alignment.transform(Y, "tgt")
    A, B = A / np.linalg.norm(A, axis=1, keepdims=True), B / np.linalg.norm(B, axis=1, keepdims=True)
    assert ((A @ B.T).argmax(axis=1) == np.arange(300)).mean() > 0.95
    with pytest.raises(ConfigError, match="did you mean 'paper'"):
        aligner("vecmap-semi", preset="papers")
    with pytest.raises(ConfigError, match="no preset 'paper'"):
        aligner("procrustes", preset="paper")


def test_the_quick_backend_agrees_with_the_exact_one():
    X, Y = matched(3000, d=64, noise=1.0)
    chosen = [
        induce_pairs(X, Y, 1.0, np.random.default_rng(0), SelfLearning(backend=backend))[0]
        for backend in ("exact", "auto")
    ]
    assert (chosen[0] == chosen[1]).all(axis=1).mean() > 0.998


def test_similarity_start_finds_many_translations_without_any_pair():
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(20, 16)) * np.linspace(2, 0.5, 16)
    X = centres[rng.integers(0, 20, 400)] + 0.6 * rng.normal(size=(400, 16))
    turn = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    Y = X @ turn + 0.01 * rng.normal(size=X.shape)
    pairs = similarity_start(X.astype(np.float32), Y.astype(np.float32))
    assert (pairs[:, 0] == pairs[:, 1]).mean() > 0.5


def test_identical_words_start_and_their_absence():
    X, Y = matched(300, noise=0.05)
    words = [f"w{i}" for i in range(300)]
    src = Space("a", words, X)
    tgt = Space("b", [word if i % 10 == 0 else f"x{i}" for i, word in enumerate(words)], Y)
    alignment = aligner("vecmap-identical").fit(src, tgt)
    A, B = alignment.transform(X, "src"), alignment.transform(Y, "tgt")
    A, B = A / np.linalg.norm(A, axis=1, keepdims=True), B / np.linalg.norm(B, axis=1, keepdims=True)
    assert ((A @ B.T).argmax(axis=1) == np.arange(300)).mean() > 0.95
    with pytest.raises(LexiconError, match="share no word"):
        aligner("vecmap-identical").fit(src, Space("c", [f"y{i}" for i in range(300)], Y))


def test_settings_out_of_range_are_refused():
    for wrong in ({"keep": 0.0}, {"grow": 1.0}, {"cutoff": 0}, {"patience": 0}):
        with pytest.raises(ConfigError):
            SelfLearning(**wrong)
