"""GeoMM against its loss written out with the label matrix, finite differences, and three languages."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from isoglot.aligners import GeoMM, geomm_multi
from isoglot.aligners.tuned.geomm import PairLoss, geomm_loss
from isoglot.errors import ConfigError, LexiconError, MissingExtraError, ShapeError


def rotation(d: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def random_point(languages: int, d: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    return [rotation(d, rng) for _ in range(languages)] + [root @ root.T / d + 0.1 * np.eye(d)]


def several_targets(seed: int = 0):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(30, 5)).astype(np.float32), rng.normal(size=(25, 5)).astype(np.float32)
    pairs = np.array([[0, 3], [0, 4], [7, 3], [12, 20], [29, 24], [0, 3]])
    return X, Y, pairs


def test_loss_is_that_of_the_label_matrix():
    X, Y, pairs = several_targets()
    U, V, B = random_point(2, 5)
    words, targets = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
    labels = np.zeros((len(words), len(targets)))
    labels[np.searchsorted(words, pairs[:, 0]), np.searchsorted(targets, pairs[:, 1])] = 1
    written_out = np.sum((X[words] @ U @ B @ V.T @ Y[targets].T - labels) ** 2) - np.sum(labels)
    loss, _ = geomm_loss([U, V, B], [PairLoss.of(0, 1, X, Y, pairs)], 0.3)
    assert loss == pytest.approx(written_out / labels.sum() + 0.3 * np.sum(B**2), rel=1e-6)


def test_gradients_agree_with_finite_differences():
    X, Y, pairs = several_targets()
    losses = [PairLoss.of(0, 1, X, Y, pairs), PairLoss.of(2, 1, X, Y, pairs), PairLoss.of(2, 0, X[:25], X, pairs[:4])]
    point = random_point(3, 5)
    _, gradients = geomm_loss(point, losses, 0.2)
    rng = np.random.default_rng(3)
    step = 1e-6
    for part in range(4):
        direction = rng.normal(size=(5, 5))
        moved = [[M + sign * step * direction * (i == part) for i, M in enumerate(point)] for sign in (1, -1)]
        above, below = (geomm_loss(p, losses, 0.2)[0] for p in moved)
        assert np.sum(gradients[part] * direction) == pytest.approx((above - below) / (2 * step), rel=1e-4)


def test_fit_is_two_rotations_and_a_shared_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8)) * np.linspace(2, 0.5, 8)
    Y = X @ rotation(8, rng) + 0.3 * rng.normal(size=X.shape)
    alignment = GeoMM(held_out=0).fit(X, Y, np.stack([np.arange(200)] * 2, axis=1))
    # U B U^T of both sides: the same eigenvalues, those of B.
    spectra = [np.linalg.svd(W, compute_uv=False) for W in (alignment.W_src, alignment.W_tgt)]
    np.testing.assert_allclose(spectra[0], spectra[1], rtol=1e-4)
    assert spectra[0].max() > 1.05 * spectra[0].min()
    losses = [facts["loss"] for facts in alignment.info["history"]]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 1e-3


def test_end_is_a_minimum_no_nearby_point_beats():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4)).astype(np.float32)
    Y = (X @ rotation(4, rng) + 0.4 * rng.normal(size=X.shape)).astype(np.float32)
    pairs = np.stack([np.arange(80)] * 2, axis=1)
    maps = geomm_multi({"aa": X, "bb": Y}, {("aa", "bb"): pairs}, ridge=0.05, iterations=400)
    root = maps["aa"][1]
    losses = [PairLoss.of(0, 1, X, Y, pairs)]
    point = [maps["aa"][0], maps["bb"][0], root @ root]
    least, _ = geomm_loss(point, losses, 0.05)
    for _ in range(50):
        turns = [np.linalg.qr(U + 1e-3 * rng.normal(size=(4, 4)))[0] for U in point[:2]]
        turns = [Q * np.sign(np.diag(Q.T @ U)) for Q, U in zip(turns, point, strict=False)]
        nudge = 1e-3 * rng.normal(size=(4, 4))
        assert geomm_loss([*turns, point[2] + nudge + nudge.T], losses, 0.05)[0] >= least - 1e-9


def test_three_languages_meet_although_two_share_no_dictionary():
    rng = np.random.default_rng(1)
    latent = rng.normal(size=(300, 10)) * np.linspace(2, 0.5, 10)
    spaces = {
        name: (latent @ rotation(10, rng) + 0.05 * rng.normal(size=latent.shape)).astype(np.float32)
        for name in ("aa", "bb", "cc")
    }
    rows = np.stack([np.arange(150)] * 2, axis=1)
    # One dictionary in each direction; aa and cc meet only through bb.
    maps = geomm_multi(spaces, {("aa", "bb"): rows, ("cc", "bb"): rows})
    for U, root in maps.values():
        np.testing.assert_allclose(U.T @ U, np.eye(10), atol=1e-8)
        np.testing.assert_allclose(root, root.T, atol=1e-10)
        assert np.linalg.eigvalsh(root).min() > 0
        assert root is maps["aa"][1]
    mapped = {name: spaces[name] @ U @ root for name, (U, root) in maps.items()}
    A, C = (mapped[name] / np.linalg.norm(mapped[name], axis=1, keepdims=True) for name in ("aa", "cc"))
    assert ((A @ C.T).argmax(axis=1) == np.arange(300))[150:].mean() > 0.97


def test_multilingual_input_is_checked():
    X = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    rows = [[i, i] for i in range(20)]
    with pytest.raises(LexiconError, match="no dictionary connects aa with cc"):
        geomm_multi({"aa": X, "bb": X, "cc": X}, {("bb", "cc"): rows})
    with pytest.raises(LexiconError, match="'dd'"):
        geomm_multi({"aa": X, "bb": X}, {("aa", "dd"): rows})
    with pytest.raises(ShapeError, match="outside"):
        geomm_multi({"aa": X, "bb": X}, {("aa", "bb"): [[0, 20]]})
    with pytest.raises(ShapeError, match="dimensions"):
        geomm_multi({"aa": X, "bb": X[:, :3]}, {("aa", "bb"): rows})
    with pytest.raises(ShapeError, match="shape"):
        geomm_multi({"aa": X, "bb": X}, {("aa", "bb"): [0, 1]})


@pytest.mark.parametrize("settings", [{"ridge": -1.0}, {"iterations": 0}, {"held_out": 1.0}])
def test_settings_are_checked(settings):
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(ConfigError, match=next(iter(settings))):
        GeoMM(**settings).fit(X, X, [[i, i] for i in range(20)])


def test_says_which_extra_is_missing(monkeypatch):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pymanopt"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(MissingExtraError, match="pymanopt"):
        GeoMM().fit(X, X, [[i, i] for i in range(20)])
