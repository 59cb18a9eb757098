"""The contrastive loss against autograd, and what mining, self-learning and held-out seeds do for the maps."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligners import Contrastive, aligner
from isoglot.aligners.held_out import hold_out, ranked_by_csls
from isoglot.aligners.tuned.contrastive import contrastive_loss
from isoglot.aligners.tuned.mining import Translations
from isoglot.errors import ConfigError


def noisy_pair(n: int = 800, d: int = 20, noise: float = 1.0, stretch: float = 5.0, seed: int = 0):
    """A turned, stretched, noisy twin that no rotation fits well; row i translates row i."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2)]
    Y = X @ turns[0] @ np.diag(np.geomspace(1 / stretch, stretch, d)) @ turns[1] + noise * rng.normal(size=(n, d))
    return X.astype(np.float32), Y.astype(np.float32), np.stack([np.arange(n)] * 2, axis=1)


def rank(alignment, X, Y, pairs) -> float:
    return float(ranked_by_csls(alignment.transform(X), alignment.transform(Y, "tgt"), pairs).mean())


def test_loss_and_gradients_agree_with_autograd():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(7, 5)).astype(np.float32), rng.normal(size=(11, 5)).astype(np.float32)
    W, V = rng.normal(size=(5, 4)).astype(np.float32), rng.normal(size=(5, 4)).astype(np.float32)
    right = rng.random((7, 11)) < 0.2
    right[:, 0] |= ~right.any(axis=1)
    weights, bias = rng.random(7).astype(np.float32), rng.random(11).astype(np.float32)
    loss, g_W, g_V = contrastive_loss(W, V, X, Y, right, weights, bias, 0.2)

    x, y, w, v = (torch.tensor(M, dtype=torch.float64) for M in (X, Y, W, V))
    w.requires_grad_()
    v.requires_grad_()
    cosines = torch.nn.functional.normalize(x @ w, dim=1) @ torch.nn.functional.normalize(y @ v, dim=1).T
    scores = (cosines - torch.tensor(bias, dtype=torch.float64)) / 0.2
    of_right = scores.masked_fill(~torch.tensor(right), -torch.inf).logsumexp(dim=1)
    expected = ((scores.logsumexp(dim=1) - of_right) * torch.tensor(weights)).sum()
    expected.backward()
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    np.testing.assert_allclose(g_W, w.grad.numpy(), atol=1e-4)
    np.testing.assert_allclose(g_V, v.grad.numpy(), atol=1e-4)


def test_a_hopeless_word_gives_finite_numbers():
    X = np.array([[1, 0]], dtype=np.float32)
    Y = np.array([[1, 0], [-1, 0], [0, 0]], dtype=np.float32)
    E = np.eye(2, dtype=np.float32)
    right = np.array([[False, True, False]])
    result = contrastive_loss(E, E, X, Y, right, np.ones(1, np.float32), np.zeros(3, np.float32), 0.001)
    assert all(np.isfinite(part).all() for part in result)


def test_batches_hold_all_right_answers_and_the_mined_rivals():
    pairs = np.array([[4, 0], [2, 1], [4, 3], [9, 0], [2, 5]])
    side = Translations.of(pairs, seeds=3, induced_weight=0.5)
    assert side.words.tolist() == [4, 2, 9]
    assert side.weights.tolist() == [1, 1, 0.5]
    lists = np.tile(np.array([[7, 0]]), (10, 1))
    words, candidates, right, weights = side.batch(np.array([2, 1]), lists)
    assert words.tolist() == [9, 2]
    assert candidates.tolist() == [0, 1, 5, 7]
    assert right.tolist() == [[True, False, False, False], [False, True, True, False]]
    assert weights.tolist() == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize("start", ["procrustes", "cca"])
def test_better_than_its_start_where_no_rotation_fits(start):
    X, Y, pairs = noisy_pair()
    # Ten times the default: the toy has two batches a pass where real spaces have dozens.
    tuned = Contrastive(start=start, refinements=0, lr=1e-2).fit(X, Y, pairs[:400])
    before = aligner(start).fit(X, Y, pairs[:400])
    assert rank(tuned, X, Y, pairs[400:]) > rank(before, X, Y, pairs[400:]) + 0.02


def test_self_learning_makes_up_for_few_seeds():
    X, Y, pairs = noisy_pair(noise=0.1, stretch=1.5)
    few = pairs[:12]
    with_it, without = (Contrastive(self_learning=learn, rounds=1).fit(X, Y, few) for learn in (True, False))
    assert rank(with_it, X, Y, pairs[12:]) > rank(without, X, Y, pairs[12:]) + 0.3


def test_held_out_seeds_choose_the_round():
    X, Y, pairs = noisy_pair()
    # Far too long steps spoil the maps, which the held-out seeds must notice.
    alignment = Contrastive(lr=1.0, refinements=1, rounds=2).fit(X, Y, pairs[:400])
    history = [facts["held_out_rank"] for facts in alignment.info["history"]]
    assert history[-1] < max(history) - 0.2
    _, kept = hold_out(pairs[:400], 0.1, 0)
    assert alignment.info["held_out_words"] == 40
    assert rank(alignment, X, Y, kept) == pytest.approx(max(history), abs=0.05)


def test_pulls_hold_the_maps():
    X, Y, pairs = noisy_pair()

    def distance(alignment):
        return np.abs(alignment.W_src.T @ alignment.W_src - np.eye(20)).max()

    free = Contrastive(held_out=0, lr=1e-2).fit(X, Y, pairs[:400])
    orthogonal = Contrastive(held_out=0, lr=1e-2, orthogonality=100.0).fit(X, Y, pairs[:400])
    held = Contrastive(held_out=0, lr=1e-2, keep_start=100.0).fit(X, Y, pairs[:400])
    assert distance(orthogonal) < 0.5 * distance(free)
    assert distance(held) < 0.5 * distance(free)


def test_source_only_leaves_the_target_as_it_is():
    X, Y, pairs = noisy_pair(n=300)
    alignment = Contrastive(both_sides=False, held_out=0).fit(X, Y, pairs)
    np.testing.assert_array_equal(alignment.W_tgt, np.eye(20, dtype=np.float32))


def test_cutoff_keeps_the_seeds_in():
    X, Y, pairs = noisy_pair(n=400)
    alignment = Contrastive(cutoff=100, rounds=1).fit(X, Y, pairs[200:])
    assert rank(alignment, X, Y, pairs[:200]) > 0.5


@pytest.mark.parametrize("start", ["gbdd-nonsense", "contrastive", "realnvp"])
def test_start_must_be_another_linear_method(start):
    X, Y, pairs = noisy_pair(n=50)
    with pytest.raises(ConfigError, match=r"cannot start|unknown method"):
        Contrastive(start=start).fit(X, Y, pairs)


@pytest.mark.parametrize(
    "settings",
    [
        {"refinements": -1},
        {"epochs": 0},
        {"temperature": 0.0},
        {"lr": -1.0},
        {"induced_weight": -1.0},
        {"held_out": 1.0},
        {"cutoff": 0},
    ],
)
def test_settings_are_checked(settings):
    X, Y, pairs = noisy_pair(n=50)
    with pytest.raises(ConfigError, match=next(iter(settings))):
        Contrastive(**settings).fit(X, Y, pairs)
