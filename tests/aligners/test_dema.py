"""Density matching: its loss against scipy, seeds from spelling, and what the training is good for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from isoglot.aligners import DemaBWE, aligner
from isoglot.aligners.flows.dema import mixture_loss, rank_log_weights, word_weights
from isoglot.errors import ConfigError, LexiconError
from isoglot.spaces import Space

torch = pytest.importorskip("torch")


def twins(n=300, d=10, noise=0.1, same=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.5, d)
    Y = X @ np.linalg.qr(rng.normal(size=(d, d)))[0] + noise * rng.normal(size=(n, d))
    words = [f"w{i}" if i < same else f"b{i}" for i in range(n)]
    return Space("aa", [f"w{i}" for i in range(n)], X), Space("bb", words, Y)


def right(alignment, src, tgt):
    A, B = alignment.transform(src.vectors), alignment.transform(tgt.vectors, "tgt")
    A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    return ((A @ B.T).argmax(1) == np.arange(len(A))).mean()


def test_loss_is_that_of_a_gaussian_mixture():
    rng = np.random.default_rng(0)
    points, centres = rng.normal(size=(5, 3)), rng.normal(size=(7, 3))
    weights = word_weights(7, 0.5)
    assert weights.sum() == pytest.approx(1)
    squares = ((points[:, None] - centres[None]) ** 2).sum(2)
    expected = -logsumexp(-squares / (2 * 0.3), b=weights, axis=1).mean()
    found = mixture_loss(*(torch.from_numpy(a) for a in (points, centres, np.log(weights))), 0.3)
    assert float(found) == pytest.approx(expected)


def test_components_weigh_by_how_near_their_rank_is():
    found = rank_log_weights(torch.tensor([0, 3]), 6).numpy()
    ranks = np.log(np.arange(1, 7))
    for row, own in zip(found, (0, 3), strict=True):
        weights = np.exp(-np.abs(ranks - ranks[own]) / 2)
        np.testing.assert_allclose(np.exp(row), weights / weights.sum(), rtol=1e-5)


def test_the_paper_is_one_preset_which_learns_a_turn_too():
    paper = aligner("dema-bwe", preset="paper")
    assert paper.epochs * paper.steps == 150_000
    assert (paper.batch, paper.looks, paper.noise, paper.alike_ranks) == (2048, 0, 0.01, True)
    # Weights of the loss are told in units of the density's squared distances.
    assert paper.supervision / (2 * paper.variance) == pytest.approx(10)
    src, tgt = twins(noise=0.3)
    pairs = [[i, i] for i in range(8)]
    started = DemaBWE(epochs=0, rounds=0).fit(src, tgt, pairs)
    short = aligner("dema-bwe", preset="paper", epochs=2, steps=40, batch=256, rate=0.01, rounds=0)
    assert right(short.fit(src, tgt, pairs), src, tgt) > right(started, src, tgt) + 0.05


def test_words_spelt_alike_are_seeds():
    src, tgt = twins(same=15)
    alignment = DemaBWE(epochs=2, steps=20).fit(src, tgt)
    assert alignment.info["seeds"] == "identical strings"
    assert alignment.info["seed_pairs"] == 15
    assert right(alignment, src, tgt) > 0.95


def test_given_pairs_win_over_spelling():
    src, tgt = twins(same=15)
    alignment = DemaBWE(epochs=1, steps=2).fit(src, tgt, [[i, i] for i in range(40)])
    assert alignment.info["seeds"] == "given pairs"
    assert alignment.info["seed_pairs"] == 40


def test_neither_pairs_nor_common_words_is_an_error():
    src, tgt = twins()
    with pytest.raises(LexiconError, match="spelt alike"):
        DemaBWE().fit(src, tgt)
    with pytest.raises(LexiconError, match="spelt alike"):
        DemaBWE().fit(src.vectors, tgt.vectors)


def test_density_improves_on_the_rotation_of_few_seeds():
    src, tgt = twins(noise=0.3)
    pairs = [[i, i] for i in range(8)]  # fewer than dimensions
    started = DemaBWE(epochs=0, rounds=0).fit(src, tgt, pairs)
    trained = DemaBWE(epochs=4, rounds=0, rate=0.01).fit(src, tgt, pairs)
    assert right(trained, src, tgt) > right(started, src, tgt) + 0.05
    assert max(fact["semantic"] for fact in trained.info["epochs"]) > started.info["semantic"]


@pytest.mark.parametrize("wrong", [{"variance": 0.0}, {"steps": 0}, {"rate": 0.0}, {"supervision": -1.0}])
def test_settings_are_checked(wrong):
    src, tgt = twins(40)
    with pytest.raises(ConfigError):
        DemaBWE(**wrong).fit(src, tgt, [[0, 0]])
