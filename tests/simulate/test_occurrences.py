"""The simulated occurrences move as their geometry says, and their splits fit together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.spatial.distance import pdist

from isoglot.errors import ConfigError
from isoglot.simulate import READINGS, simulate_occurrences

SPLITS = ("train", "validation", "test")


def moved(split):
    """Both sides of a split in the order of its pairs, and the word of each pair."""
    i, j = split.pairs.T
    np.testing.assert_array_equal(split.src_word[i], split.tgt_word[j])
    return split.src.vectors[i].astype(np.float64), split.tgt.vectors[j].astype(np.float64), split.src_word[i]


def best_rigid(X, Y):
    """The orthogonal map of centred X onto centred Y, and the largest error it leaves."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    U, _, Vt = np.linalg.svd(X.T @ Y)
    return U @ Vt, np.abs(X @ U @ Vt - Y).max()


@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("eps", [0.0, 2.0])
def test_one_group_is_exactly_one_orthogonal_map(dim, eps):
    pair = simulate_occurrences(k=10, t=1, eps=eps, words=6, dim=dim, seed=3)
    np.testing.assert_allclose(pair.rotation @ pair.rotation.T, np.eye(dim), atol=1e-12)
    for name in SPLITS:
        X, Y, _ = moved(getattr(pair, name))
        np.testing.assert_allclose(X @ pair.rotation, Y, atol=1e-5)


def test_the_orthogonal_map_is_a_rotation_or_a_reflection():
    signs = {round(np.linalg.det(simulate_occurrences(k=1, t=1, words=2, seed=seed).rotation)) for seed in range(12)}
    assert signs == {-1, 1}


@pytest.mark.parametrize("dim", [2, 5])
def test_groups_move_rigidly_and_each_in_its_own_way(dim):
    t = 4
    pair = simulate_occurrences(k=20, t=t, words=12, dim=dim, seed=1)
    assert sorted(set(pair.group.tolist())) == list(range(t))
    X, Y, words = moved(pair.train)
    turns = []
    for group in range(t):
        rows = pair.group[words] == group
        np.testing.assert_allclose(pdist(X[rows]), pdist(Y[rows]), atol=1e-4)
        turn, error = best_rigid(X[rows], Y[rows])
        assert error < 1e-4
        turns.append(turn)
    for one in range(t):
        for other in range(one):
            assert np.abs(turns[one] - turns[other]).max() > 1e-3
            assert np.abs(pair.shifts[one] - pair.shifts[other]).max() > 1e-3
    assert best_rigid(X, Y)[1] > 0.1, "no single rigid map may explain several groups"


def test_groups_are_of_neighbours_and_move_more_with_more_of_them():
    pair = simulate_occurrences(k=1, t=4, words=40, seed=0)
    to_centres = np.linalg.norm(pair.means[:, None] - pair.centres[None], axis=2)
    assert (to_centres.argmin(axis=1) == pair.group).mean() > 0.9
    lengths = [np.linalg.norm(simulate_occurrences(k=1, t=t, seed=0).shifts, axis=1) for t in (1, 2, 5)]
    assert lengths[0].max() == 0
    assert lengths[1].max() < lengths[2].min()


def test_eps_moves_validation_and_test_but_not_train():
    near, far = (simulate_occurrences(k=2000, t=3, eps=eps, words=4, dim=3, seed=5) for eps in (0.0, 1.5))
    np.testing.assert_array_equal(near.train.src.vectors, far.train.src.vectors)
    np.testing.assert_array_equal(near.train.tgt.vectors, far.train.tgt.vectors)
    for name, eps in zip(SPLITS, (0.0, 1.5, 1.5), strict=True):
        split = getattr(far, name)
        for word in range(4):
            cloud = split.src.vectors[split.src_word == word]
            np.testing.assert_allclose(cloud.mean(axis=0), far.means[word] + eps, atol=0.12)
            np.testing.assert_allclose(cloud.std(axis=0), 1, atol=0.08)


def test_the_affine_reading_is_one_rigid_map_with_a_shift():
    lengths = []
    for t in (1, 3, 5):
        pair = simulate_occurrences(k=10, t=t, words=8, seed=4, reading="affine")
        X, Y, _ = moved(pair.train)
        turn, error = best_rigid(X, Y)
        assert error < 1e-4
        lengths.append(np.linalg.norm(Y.mean(axis=0) - X.mean(axis=0) @ turn))
    np.testing.assert_allclose(lengths, [0, 1, 2], atol=1e-4)


def test_the_smooth_reading_bends_without_folding():
    pair = simulate_occurrences(k=200, t=5, words=8, seed=4, reading="smooth")
    X, Y, _ = moved(pair.train)
    assert best_rigid(X, Y)[1] > 0.2, "no rigid map may explain it"
    # Invertible: the sign of the Jacobian's determinant is that of the rotation everywhere, far outside too.
    points = np.random.default_rng(0).uniform(-15, 15, (2000, 2))
    step, none = 1e-2, np.zeros(2000, dtype=int)
    columns = [
        (pair.move(points + shift, none).astype(float) - pair.move(points - shift, none)) / (2 * step)
        for shift in np.eye(2) * step
    ]
    signs = np.sign(np.linalg.det(np.stack(columns, axis=1)))
    assert set(signs.tolist()) == {round(np.linalg.det(pair.rotation))}
    straight = simulate_occurrences(k=5, t=1, words=8, seed=4, reading="smooth")
    assert best_rigid(*moved(straight.train)[:2])[1] < 1e-4


@pytest.mark.parametrize("reading", READINGS)
def test_a_bound_keeps_the_rotation_small_and_unreflected(reading):
    for seed in range(8):
        rotation = simulate_occurrences(k=1, t=2, words=4, seed=seed, reading=reading, bound=30).rotation
        assert np.linalg.det(rotation) == pytest.approx(1)
        assert abs(np.degrees(np.arctan2(rotation[0, 1], rotation[0, 0]))) <= 30


def test_what_is_written_says_how_to_make_it_again(tmp_path):
    pair = simulate_occurrences(k=4, t=3, words=6, seed=1, reading="smooth", bound=45)
    facts = pair.save(tmp_path / "out")
    assert (facts["reading"], facts["bound"]) == ("smooth", 45)
    X, Y, words = moved(pair.train)
    waves = {name: np.array(value) for name, value in facts["waves"].items()}
    X = X + np.sin(X @ waves["directions"] + waves["phases"]) @ waves["heights"]
    group = np.array(facts["group"])[words]
    centres, turns, shifts = (np.array(facts[name])[group] for name in ("centres", "turns", "shifts"))
    expected = (np.einsum("nd,nde->ne", X - centres, turns) + centres + shifts) @ np.array(facts["rotation"])
    np.testing.assert_allclose(expected, Y, atol=1e-5)


def test_seeds_repeat_and_differ():
    first, again, other = (simulate_occurrences(k=5, seed=seed) for seed in (7, 7, 8))
    for name in SPLITS:
        one, same, different = (getattr(pair, name) for pair in (first, again, other))
        assert one.src.fingerprint() == same.src.fingerprint()
        assert one.tgt.fingerprint() == same.tgt.fingerprint()
        np.testing.assert_array_equal(one.pairs, same.pairs)
        assert one.src.fingerprint() != different.src.fingerprint()
    assert len({getattr(first, name).src.fingerprint() for name in SPLITS}) == 3


def test_further_splits_can_be_drawn():
    pair = simulate_occurrences(k=5, t=2, words=4, seed=2)
    one, same, other = (pair.draw(0.5, number, k=3) for number in (9, 9, 10))
    assert len(one.src) == 12
    np.testing.assert_array_equal(one.src.vectors, same.src.vectors)
    assert one.src.fingerprint() != other.src.fingerprint()
    X, Y, words = moved(one)
    np.testing.assert_allclose(pair.move(X, words), Y, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.data(), st.integers(1, 6), st.integers(1, 15), st.integers(2, 7), st.floats(-3, 3), st.integers(0, 2**32))
def test_everything_fits_together_at_any_size(data, k, words, dim, eps, seed):
    t = data.draw(st.integers(1, words))
    pair = simulate_occurrences(k, t, eps, words=words, dim=dim, seed=seed)
    assert pair.group.shape == (words,)
    assert set(pair.group.tolist()) == set(range(t))
    for name in SPLITS:
        split = getattr(pair, name)
        assert len(split.src) == len(split.tgt) == len(split.pairs) == k * words
        assert split.src.vectors.shape == split.tgt.vectors.shape == (k * words, dim)
        assert (np.bincount(split.src_word, minlength=words) == k).all()
        assert (np.sort(split.pairs, axis=0) == np.arange(k * words)[:, None]).all()
        X, Y, of = moved(split)
        np.testing.assert_allclose(pair.move(X, of), Y, atol=1e-5)
        np.testing.assert_array_equal(split.lexicon.indices(split.src, split.tgt), split.pairs)


def test_the_target_comes_in_another_order():
    pairs = simulate_occurrences(k=10).train.pairs
    assert (pairs[:, 0] != pairs[:, 1]).mean() > 0.9


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"t": 0},
        {"t": 21},
        {"words": 0, "t": 1},
        {"dim": 1},
        {"eps": float("nan")},
        {"eps": float("inf")},
    ],
)
def test_bad_sizes_are_config_errors(wrong):
    with pytest.raises(ConfigError, match="cannot simulate") as error:
        simulate_occurrences(**wrong)
    assert error.value.remedy


def test_an_unknown_reading_and_an_impossible_bound_are_refused():
    with pytest.raises(ConfigError, match="did you mean 'smooth'"):
        simulate_occurrences(reading="smoth")
    with pytest.raises(ConfigError, match="between 0 and 180"):
        simulate_occurrences(bound=-1)
