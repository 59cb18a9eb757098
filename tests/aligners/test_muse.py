"""The unsupervised MUSE: its start, its game, and that it says so when nothing was aligned."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import sqrtm

from isoglot import checkpoints as checkpoint
from isoglot.aligners import Muse, Problem, aligner
from isoglot.aligners.adversarial import discriminator as _adversarial, muse
from isoglot.aligners.adversarial.discriminator import SCHEDULES, Adversary
from isoglot.aligners.adversarial.muse import distribution_start, grid_start, principal_start
from isoglot.aligners.self_learning import rounds as self_learning
from isoglot.aligners.self_learning.refinement import nearest_rotation
from isoglot.aligners.verdict import chance_level, judge, judged, judged_mapped
from isoglot.errors import ConfigError

torch = pytest.importorskip("torch")

TINY = dataclasses.replace(SCHEDULES["quick"], hidden=16, batch=16, epochs=2, steps=5)


def twins(n=300, d=10, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.5, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return X.astype(np.float32), (X @ turn + noise * rng.normal(size=(n, d))).astype(np.float32), turn


def plane(reflected, n=400, seed=0, noise=0.0):
    """A mixture of 20 Gaussians in the plane, the same turned and shuffled, and the turn."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-5, 5, size=(20, 2))[rng.integers(0, 20, n)] + rng.normal(size=(n, 2))
    angle = rng.uniform(0, 2 * np.pi)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    if reflected:
        turn = turn @ np.diag([1, -1])
    Y = (X @ turn + noise * rng.normal(size=(n, 2)))[rng.permutation(n)]
    return X.astype(np.float32), Y.astype(np.float32), turn


def right(alignment, X, Y):
    A, B = alignment.transform(X), alignment.transform(Y, "tgt")
    A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    return ((A @ B.T).argmax(1) == np.arange(len(A))).mean()


def test_a_rotation_is_found_and_reported():
    X, Y, _ = twins()
    alignment = Muse().fit(X, Y)
    assert right(alignment, X, Y) > 0.97
    assert alignment.info["aligned"]
    assert "warning" not in alignment.info
    assert alignment.info["start"] == "distribution"
    assert [fact["start"] for fact in alignment.info["starts"]] == ["distribution"]


def test_spaces_that_have_nothing_in_common_are_reported_as_not_aligned(monkeypatch):
    monkeypatch.setattr(muse, "SCHEDULES", {"quick": TINY})
    rng = np.random.default_rng(0)
    alignment = Muse(restarts=2).fit(rng.normal(size=(400, 20)), rng.normal(size=(400, 20)))
    assert not alignment.info["aligned"]
    assert alignment.info["warning"].startswith("not aligned: ")
    assert "chance" in alignment.info["verdict"]
    starts = [fact["start"] for fact in alignment.info["starts"]]
    assert starts == ["distribution", "principal", "adversarial 0", "adversarial 1"]
    best = max(alignment.info["starts"], key=lambda fact: fact["semantic"])
    assert alignment.info["start"] == best["start"]


def test_chance_is_that_of_refined_maps():
    """A refined random rotation looks much better than a plain one; only the former is a fair comparison."""
    from isoglot.aligners import induce

    rng = np.random.default_rng(1)
    X, Y = (rng.normal(size=(400, 20)).astype(np.float32) for _ in range(2))
    chance = chance_level(X, Y, runs=2)
    plain = induce(X, Y, np.linalg.qr(rng.normal(size=(20, 20)))[0].astype(np.float32)).criterion
    assert (chance > plain + 0.02).all()
    assert not judge(float(chance.max()), chance).aligned
    assert judge(0.99, chance).aligned


def test_sorted_similarities_are_rows_of_the_matrix_root():
    X, _, _ = twins(40, 5)
    expected = np.sort(np.real(sqrtm(X.astype(np.float64) @ X.T)), axis=1)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    expected -= expected.mean(0)
    np.testing.assert_allclose(self_learning._sorted_similarities(X), expected, atol=1e-3)


def test_distribution_start_takes_vocabularies_of_different_size():
    X, Y, turn = twins(noise=0.0)
    np.testing.assert_allclose(distribution_start(X, Y), turn, atol=1e-3)
    assert distribution_start(X, Y[:200]).shape == (10, 10)


def test_principal_start_needs_no_common_words():
    """Two samples of one skewed density: no word has a twin, the shape alone tells the turn."""
    rng = np.random.default_rng(0)
    X, other = (rng.exponential(size=(3000, 4)) * [4, 3, 2, 1] for _ in range(2))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    found = principal_start(X.astype(np.float32), (other @ turn).astype(np.float32))
    assert np.trace(found.T @ turn) / 4 > 0.98


def test_the_adversarial_game_finds_a_turn_in_the_plane():
    """Three unequal clusters: one turn alone makes the densities agree."""
    rng = np.random.default_rng(0)
    centres = np.array([[2.0, 0.0], [-0.5, 1.0], [-1.0, -1.5]])
    X = centres[rng.choice(3, 600, p=[0.5, 0.3, 0.2])] + 0.1 * rng.normal(size=(600, 2))
    turn = np.array([[np.cos(0.7), np.sin(0.7)], [-np.sin(0.7), np.cos(0.7)]])
    X, Y = X.astype(np.float32), (X @ turn).astype(np.float32)
    schedule = dataclasses.replace(SCHEDULES["quick"], hidden=32, batch=64, steps=150, critic_steps=3, map_rate=1)
    game = Adversary(X, Y, schedule, (0,))
    for epoch in range(4):
        game.epoch(epoch, 0.1)
    found = nearest_rotation(game.W)
    assert np.trace(found.T @ turn) / 2 > 0.9  # cosine of the angle that is left; .76 at the start
    assert np.abs(game.W @ game.W.T - np.eye(2)).max() < 0.2


def test_the_map_is_judged_without_dropout_and_only_its_own_rate_changes(monkeypatch):
    """As the paper has it. At rate 0 the map stays and the discriminator learns all the same."""
    X, Y, _ = twins()
    game = Adversary(X, Y, TINY, (0,))
    before, asked = game.tensors["critic0"].copy(), []
    original = Adversary._judge

    def judged(self, batch, random=None):
        asked.append(random is None)
        return original(self, batch, random)

    monkeypatch.setattr(Adversary, "_judge", judged)
    game.epoch(0, 0.0)
    assert asked == ([False] * TINY.critic_steps + [True]) * TINY.steps
    assert not np.array_equal(before, game.tensors["critic0"])
    np.testing.assert_allclose(game.W, np.eye(10), atol=1e-6)


def test_the_rate_is_halved_from_the_second_fall_of_the_criterion_on(monkeypatch):
    schedule = dataclasses.replace(TINY, epochs=6, rate=1.0, decay=1.0)
    monkeypatch.setattr(muse, "SCHEDULES", {"quick": schedule})
    criteria = iter([0.5, 0.4, 0.6, 0.5, 0.4, 0.7])
    rates = []
    monkeypatch.setattr(muse._Search, "_figure", lambda self, W: next(criteria))
    monkeypatch.setattr(Adversary, "epoch", lambda self, number, rate, progress, **_: rates.append(rate))
    X, Y, _ = twins()
    Muse(starts="adversarial", restarts=1).fit(X, Y)
    assert rates == [1, 1, 1, 1, 0.5, 0.25]


@pytest.mark.parametrize("rescale", [True, False])
def test_the_discriminator_sees_vectors_as_they_are_if_told(monkeypatch, rescale):
    monkeypatch.setattr(muse, "SCHEDULES", {"quick": TINY})
    seen = []
    original = Adversary.__init__

    def built(self, X, Y, *rest, **more):
        seen.append(X)
        original(self, X, Y, *rest, **more)

    monkeypatch.setattr(Adversary, "__init__", built)
    X, Y, _ = twins()
    Muse(starts="adversarial", restarts=1, normalise="none", rescale=rescale).fit(X, Y)
    if rescale:
        assert seen[0].std() == pytest.approx(muse.SPREAD, rel=1e-4)
    else:
        np.testing.assert_array_equal(seen[0], X)


def test_a_game_taken_up_from_its_state_goes_on_the_same_way():
    X, Y, _ = twins()
    unbroken = Adversary(X, Y, TINY, (3,))
    unbroken.epoch(0, 0.1)
    taken_up = Adversary(X, Y, TINY, (3,), {name: array.copy() for name, array in unbroken.tensors.items()})
    for game in (unbroken, taken_up):
        game.epoch(1, 0.1)
    for name, array in unbroken.tensors.items():
        np.testing.assert_array_equal(taken_up.tensors[name], array)
    assert not np.array_equal(Adversary(X, Y, TINY, (4,)).tensors["critic0"], unbroken.tensors["critic0"])


def test_a_game_taken_up_within_an_epoch_goes_on_the_same_way(monkeypatch):
    monkeypatch.setattr(_adversarial, "BLOCK", 2)
    X, Y, _ = twins()
    kept = {}
    unbroken = Adversary(X, Y, TINY, (3,))
    unbroken.epoch(0, 0.1, after=lambda steps: kept.update({steps: {k: a.copy() for k, a in unbroken.tensors.items()}}))
    assert list(kept) == [2, 4, 5]
    for steps in (2, 4):
        taken_up = Adversary(X, Y, TINY, (3,), kept[steps])
        taken_up.epoch(0, 0.1, first=steps)
        for name, array in unbroken.tensors.items():
            np.testing.assert_array_equal(taken_up.tensors[name], array)


def test_bfloat16_plays_nearly_the_same_game_and_keeps_float32_weights():
    X, Y, _ = twins(noise=0.5)
    games = [Adversary(X, Y, dataclasses.replace(TINY, steps=20), (0,), half=half) for half in (False, True)]
    for game in games:
        game.epoch(0, 0.1)
    exact, rough = (game.tensors for game in games)
    assert all(array.dtype == np.float32 for array in rough.values())
    assert any(not np.array_equal(exact[name], rough[name]) for name in exact)
    for name, array in exact.items():
        np.testing.assert_allclose(rough[name], array, atol=0.02)


def test_the_paper_is_one_preset():
    paper = aligner("muse", preset="paper")
    assert (paper.normalise, paper.rescale, paper.schedule) == ("none", False, "paper")
    assert (paper.starts, paper.restarts, paper.frequent, paper.rounds) == ("adversarial", 1, 75_000, 5)
    assert aligner("muse", preset="paper", restarts=3).restarts == 3


def test_published_schedule():
    paper = SCHEDULES["paper"]
    assert (paper.hidden, paper.batch, paper.critic_steps, paper.rate, paper.orthogonality) == (2048, 32, 5, 0.1, 0.001)
    assert paper.map_rate == 1
    assert paper.steps * paper.batch == 1_000_000
    assert (_adversarial.DROPOUT, _adversarial.SMOOTHING) == (0.1, 0.1)


@pytest.mark.parametrize("reflected", [False, True])
@pytest.mark.parametrize("seed", [0, 4])
def test_a_turn_of_the_plane_is_found_by_distance(seed, reflected):
    X, Y, turn = plane(reflected, seed=seed)
    alignment = Muse(normalise="none", score="csls-euclidean").fit(X, Y)
    np.testing.assert_allclose(alignment.transform(np.eye(2)), turn, atol=1e-3)
    assert alignment.info["aligned"]
    assert "mean cosine" not in alignment.info["verdict"]


@pytest.mark.parametrize("reflected", [False, True])
def test_the_grid_start_is_the_nearest_of_its_turns(reflected):
    X, Y, turn = plane(reflected, noise=0.1)
    found = grid_start(X, Y, score="csls-euclidean")
    assert np.sign(np.linalg.det(found)) == np.sign(np.linalg.det(turn))
    assert np.trace(found.T @ turn) / 2 > np.cos(np.radians(2.6))
    alignment = Muse(normalise="none", score="csls-euclidean", starts="grid").fit(X, Y)
    assert np.trace(alignment.transform(np.eye(2)).T @ turn) / 2 > 0.9999
    assert alignment.info["start"] == "grid"


@pytest.mark.parametrize("score", ["csls", "csls-euclidean"])
def test_mapped_words_are_judged_like_the_map_itself(score):
    X, Y, turn = plane(False)
    given = Problem(X, Y, np.zeros((0, 2), dtype=np.int64), np.random.default_rng(0))
    W = turn.astype(np.float32)
    assert judged_mapped(given, X @ W, Y, seed=1, score=score) == judged(given, W, seed=1, score=score)


def test_planes_that_have_nothing_in_common_are_rarely_taken_for_aligned():
    """One in ten or so is, see `EUCLIDEAN_MARGIN`; with the margin for cosines it would be nearly all of them."""
    wrong = 0
    for seed in range(5):
        X, Y, turn = plane(False, seed=seed)[0], *plane(False, seed=seed + 50)[1:]
        given = Problem(X, Y, np.zeros((0, 2), dtype=np.int64), np.random.default_rng(0))
        wrong += judged(given, turn.astype(np.float32), score="csls-euclidean").aligned
    assert wrong <= 1


def test_the_grid_start_is_left_out_beyond_the_plane():
    X, Y, _ = twins(40)
    alignment = Muse(starts="grid,distribution").fit(X, Y)
    assert [fact["start"] for fact in alignment.info["starts"]] == ["distribution"]
    with pytest.raises(ConfigError, match="2 dimensions, not of 10"):
        Muse(starts="grid").fit(X, Y)


@pytest.mark.parametrize(
    "wrong", [{"starts": "luck"}, {"starts": ""}, {"restarts": 0}, {"schedule": "none"}, {"score": "luck"}]
)
def test_settings_are_checked(wrong):
    X, Y, _ = twins(40)
    with pytest.raises(ConfigError):
        Muse(**wrong).fit(X, Y)


@pytest.mark.parametrize("after", [1, 2, 4, 9, 14, 20])
def test_a_run_killed_among_its_restarts_goes_on_to_the_same_result(after, tmp_path, monkeypatch):
    monkeypatch.setattr(muse, "SCHEDULES", {"quick": TINY})
    monkeypatch.setattr(_adversarial, "BLOCK", 2)
    monkeypatch.setattr(checkpoint.Checkpoint, "seconds", 0.0)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(120, 6)), rng.normal(size=(120, 6))
    aligner = Muse(starts="adversarial", restarts=2, rounds=1)
    unbroken = aligner.fit(X, Y)
    save, saved = checkpoint.Checkpoint.save, []

    def save_then_stop(self, step, tensors, facts=None):
        save(self, step, tensors, facts)
        saved.append(step)
        if len(saved) == after:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Checkpoint, "save", save_then_stop)
    with pytest.raises(KeyboardInterrupt):
        aligner.fit(X, Y, checkpoint=tmp_path / "state")
    resumed = aligner.fit(X, Y, checkpoint=tmp_path / "state")
    np.testing.assert_array_equal(resumed.transform(X), unbroken.transform(X))
    assert resumed.info["starts"] == unbroken.info["starts"]
    assert resumed.info["history"] == unbroken.info["history"]
