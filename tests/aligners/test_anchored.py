"""The anchored methods against brute force in float64, at the ends of their pull, and how they choose it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from isoglot.aligners import Anchored, AnchoredLocal, Procrustes, anchored_map, anchored_rotation
from isoglot.aligners.closed_form.anchored_local import GRID as LOCAL_GRID, kernel
from isoglot.aligners.closed_form.pull import pick
from isoglot.errors import ShapeError
from isoglot.spaces import Normaliser


def diagonal(n):
    return np.stack([np.arange(n)] * 2, axis=1)


def nearly_shared(n=300, d=12, noise=0.3, seed=0):
    """Two sides of one space, as an encoder has them: the second is the first, bent a little, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.3, d)
    bend = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    return X.astype(np.float32), (X @ bend + noise * rng.normal(size=(n, d))).astype(np.float32)


def gains(alignment, X, Y):
    return float(np.square(alignment.transform(X, "src") - alignment.transform(Y, "tgt")).sum())


@pytest.mark.parametrize("pull", [0.01, 0.3, 5.0])
def test_the_map_is_the_minimum_of_what_it_says(pull):
    """The gradient of ||XW - Y||² + l ||W - I||² vanishes there, and any step away from it is worse."""
    X, Y = (side.astype(np.float64) for side in nearly_shared())
    P = np.eye(12)
    W = anchored_map(X.T @ X, X.T @ Y, pull)
    weight = pull * np.linalg.svd(X.T @ Y)[1][0]
    np.testing.assert_allclose(W, np.linalg.inv(X.T @ X + weight * np.eye(12)) @ (X.T @ Y + weight * P), atol=1e-8)

    def loss(M):
        return np.square(X @ M - Y).sum() + weight * np.square(M - P).sum()

    rng = np.random.default_rng(2)
    assert all(loss(W + 1e-3 * rng.normal(size=W.shape)) > loss(W) for _ in range(20))


def test_the_rotation_is_the_best_of_many():
    X, Y = (side.astype(np.float64) for side in nearly_shared(d=3))
    W = anchored_rotation(X.T @ X, X.T @ Y, 0.5)
    weight = 0.5 * np.linalg.norm(X.T @ Y, 2)
    np.testing.assert_allclose(W @ W.T, np.eye(3), atol=1e-10)
    rng = np.random.default_rng(0)
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(500)]
    losses = [np.square(X @ M - Y).sum() + weight * np.square(M - np.eye(3)).sum() for M in (W, *turns)]
    assert np.argmin(losses) == 0


@pytest.mark.parametrize("orthogonal", [True, False])
def test_much_pull_is_the_identity_on_centred_rows_and_none_follows_the_pairs(orthogonal):
    X, Y = nearly_shared()
    much = Anchored(pull=1e6, orthogonal=orthogonal).fit(X, Y, diagonal(300))
    np.testing.assert_allclose(much.transform(X), much.normalise(X), atol=1e-4)
    none = Anchored(pull=0.0, orthogonal=orthogonal).fit(X, Y, diagonal(300))
    assert gains(none, X, Y) < gains(much, X, Y)
    if orthogonal:
        np.testing.assert_allclose(none.transform(X), Procrustes().fit(X, Y, diagonal(300)).transform(X), atol=1e-4)
        np.testing.assert_allclose(none.inverse_transform(none.transform(X)), none.normalise(X), atol=1e-4)


def test_dimensions_must_be_equal():
    X, Y = nearly_shared()
    for one in (Anchored(), AnchoredLocal()):
        with pytest.raises(ShapeError, match="needs equal dimensions, the source has 12 and the target 7"):
            one.fit(X, Y[:, :7], diagonal(300))


def test_the_safe_choice_takes_the_largest_pull_that_is_hardly_worse():
    rng = np.random.default_rng(0)
    hits = np.stack([rng.random(1000) < share for share in (0.70, 0.80, 0.795, 0.78, 0.5)]).astype(float)
    shares = hits.mean(axis=1)
    assert pick(hits, "best") == 1
    error = hits[1].std() / np.sqrt(1000)
    assert pick(hits, "safe") == max(np.flatnonzero(shares >= shares[1] - error))
    assert pick(hits, "safe", tolerance=0.99) == 3
    assert pick(np.ones((4, 50)), "safe") == 3


@pytest.mark.parametrize("method", [Anchored, AnchoredLocal])
def test_cross_validation_chooses_little_pull_for_much_signal_and_much_for_noise(method):
    X, Y = nearly_shared(n=400, noise=0.05)
    followed = method(choice="best").fit(X, Y, diagonal(400))
    tried = followed.info["pull_choice"]["tried"]
    assert [row[0] for row in tried] == sorted(row[0] for row in tried)
    assert followed.info["pull_choice"]["P@1"] == max(row[1] for row in tried)
    assert followed.info["pull_choice"]["held_out"] == 400
    rng = np.random.default_rng(5)
    own = rng.normal(size=(400, 12)).astype(np.float32)
    # Nothing is to be learned where both sides are the same but for noise.
    safe = method().fit(own, own + 0.5 * rng.normal(size=own.shape), diagonal(400))
    assert safe.info["pull"] > followed.info["pull"]
    again = method().fit(own, own + 0 * own, diagonal(400))
    assert again.info["pull"] == tried[-1][0]


def test_few_pairs_choose_nothing_and_say_so():
    X, Y = nearly_shared(n=20)
    for one, pull in ((Anchored(), 0.1), (AnchoredLocal(), 1.0)):
        info = one.fit(X, Y, diagonal(20)).info
        assert (info["pull"], info["pull_choice"]) == (pull, {"choice": "too few pairs"})


def test_words_with_several_translations_are_found_by_any_of_them():
    X, Y = nearly_shared(n=200, noise=0.02)
    pairs = np.concatenate([diagonal(100), np.stack([np.arange(100), np.arange(100, 200)], axis=1)])
    Y[100:] = Y[:100]
    for one in (Anchored(choice="best"), AnchoredLocal(choice="best")):
        assert one.fit(X[:100], Y, pairs).info["pull_choice"]["P@1"] > 0.8


def test_the_local_map_is_kernel_ridge_regression_of_the_change():
    X, Y = nearly_shared(n=60)
    one = AnchoredLocal(pull=0.3, spread=1.5)
    found = one.fit(X, Y, diagonal(60))
    Xn, Yn = (found.normalise(side, name).astype(np.float64) for side, name in ((X, "src"), (Y, "tgt")))
    K = np.exp(-np.square(Xn[:, None] - Xn[None]).sum(axis=2) / 1.5)
    expected = Xn + K @ np.linalg.solve(K + 0.3 * np.eye(60), Yn - Xn)
    np.testing.assert_allclose(found.transform(X), expected, atol=1e-3)
    np.testing.assert_allclose(kernel(Xn.astype(np.float32), Xn.astype(np.float32), 1.5), K, atol=1e-5)


def test_the_local_map_leaves_alone_what_is_far_from_all_pairs():
    rng = np.random.default_rng(0)
    near, far = np.zeros((100, 8), dtype=np.float32), np.zeros((50, 8), dtype=np.float32)
    near[:, :4], far[:, 4:] = rng.normal(size=(100, 4)), rng.normal(size=(50, 4))
    turned = near[:, ::-1]
    found = AnchoredLocal(normalise="unit", spread=0.2, pull=0.1).fit(near, turned, diagonal(100))
    linear = Procrustes(normalise="unit").fit(near, turned, diagonal(100))
    np.testing.assert_allclose(found.transform(far), found.normalise(far), atol=0.01)
    assert np.abs(linear.transform(far) - linear.normalise(far)).max() > 0.3
    assert np.abs(found.transform(near) - found.normalise(near)).max() > 0.3


def test_few_centres_give_nearly_the_same_map_and_are_drawn_by_the_seed():
    X, Y = nearly_shared(n=400)
    full, part, other = (
        AnchoredLocal(pull=0.3, centres=number, seed=seed).fit(X, Y, diagonal(400))
        for number, seed in ((400, 0), (200, 0), (200, 1))
    )
    start = np.square(full.normalise(X) - full.transform(Y, "tgt")).sum()
    assert gains(full, X, Y) < gains(part, X, Y) < 0.8 * start
    assert part.centres.shape == (200, 12)
    assert not np.array_equal(part.centres, other.centres)


def test_a_local_map_with_wrong_shapes_is_refused():
    X, Y = nearly_shared(n=40)
    found = AnchoredLocal(pull=LOCAL_GRID[0]).fit(X, Y, diagonal(40))
    found._check_maps()
    for wrong in ({"moves": found.moves[:3]}, {"spread": np.zeros(1, dtype=np.float32)}, {"centres": X[0]}):
        with pytest.raises(ShapeError):
            dataclasses.replace(found, **wrong)._check_maps()
    with pytest.raises(ShapeError, match="vectors have 5 dimensions, the src map takes 12"):
        dataclasses.replace(found, src_normaliser=Normaliser()).transform(X[:, :5])
