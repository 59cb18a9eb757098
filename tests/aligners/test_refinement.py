"""Refinement: the induced dictionary against a slow one, the passes it costs, the choice of the round."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligners import MuseSupervised, Procrustes, induce, procrustes
from isoglot.aligners.self_learning.refinement import GAIN, balanced_procrustes, nearest_rotation, pair_weights, refine
from isoglot.errors import ConfigError
from isoglot.retrieval.exact import ExactBackend
from isoglot.simulate import simulate_pair
from isoglot.spaces import Normaliser


def noisy_twins(n=400, d=12, noise=0.35, seed=0):
    """Unit rows X, their rotated and disturbed twins Y in the same order, and the rotation."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.5, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    Y = X @ turn + noise * rng.normal(size=(n, d))
    X, Y = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (X, Y))
    return X.astype(np.float32), Y.astype(np.float32), turn.astype(np.float32)


def slow_csls(A, B, k=10):
    A, B = (M.astype(np.float64) / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    cosines = A @ B.T
    return 2 * cosines - np.sort(cosines)[:, -k:].mean(1)[:, None] - np.sort(cosines.T)[:, -k:].mean(1), cosines


@pytest.mark.parametrize("frequent", [150, 1000])
def test_induced_dictionary_and_criterion_are_those_of_an_obvious_implementation(frequent):
    X, Y, turn = noisy_twins()
    Y = Y[:320]
    found = induce(X, Y, turn, frequent=frequent, criterion_pairs=60)
    scores, cosines = slow_csls(X @ turn, Y)
    best, back = scores.argmax(1), scores.argmax(0)
    asked = range(min(frequent, len(X)))
    mutual = [i for i in asked if back[best[i]] == i]
    assert found.pairs.tolist() == [[i, best[i]] for i in mutual if best[i] < frequent]
    assert found.mutual == pytest.approx(len(mutual) / len(asked))
    confident = sorted(asked, key=lambda i: -scores[i, best[i]])[:60]
    assert found.criterion == pytest.approx(np.mean([cosines[i, best[i]] for i in confident]), abs=1e-5)


def test_a_round_costs_two_passes_over_the_vocabularies(monkeypatch):
    X, Y, turn = noisy_twins()
    passes = []
    for name in ("both", "forward"):
        original = getattr(ExactBackend, name)

        def counted(self, *args, original=original, **kwargs):
            passes.append(1)
            return original(self, *args, **kwargs)

        monkeypatch.setattr(ExactBackend, name, counted)
    refine(X, Y, turn, rounds=4)
    assert len(passes) == 2 * (4 + 1)  # the start is judged as well


def test_few_wrong_seeds_are_repaired():
    X, Y, _ = noisy_twins(noise=0.15)
    seeds = np.stack([np.arange(24), np.arange(24)], axis=1)
    seeds[:6, 1] += 100

    def right(alignment):
        scores, _ = slow_csls(alignment.transform(X), alignment.transform(Y, "tgt"))
        return (scores.argmax(1) == np.arange(len(X))).mean()

    plain, refined = Procrustes().fit(X, Y, seeds), MuseSupervised().fit(X, Y, seeds)
    assert right(refined) > right(plain) + 0.1
    assert refined.info["best_round"] > 0
    assert len(refined.info["history"]) == 6


def test_the_round_with_the_best_criterion_is_kept():
    X, Y, turn = noisy_twins(noise=0.6)
    state = refine(X, Y, turn, rounds=4)
    criteria = [fact["semantic"] for fact in state.history]
    assert state.criterion == max(criteria)
    assert induce(X, Y, state.best).criterion == pytest.approx(max(criteria), abs=1e-6)


def test_no_rounds_is_procrustes_and_kept_seeds_matter():
    X, Y, _ = noisy_twins()
    seeds = np.stack([np.arange(50), np.arange(50)], axis=1)
    none = MuseSupervised(rounds=0, balanced=False).fit(X, Y, seeds)
    np.testing.assert_allclose(none.transform(X), Procrustes().fit(X, Y, seeds).transform(X), atol=1e-5)
    heavy = MuseSupervised(rounds=3, keep_seeds=1e6, balanced=False).fit(X, Y, seeds)
    np.testing.assert_allclose(heavy.transform(X), none.transform(X), atol=1e-3)


def test_balance_counts_a_word_once_however_many_translations_it_has():
    pairs = np.array([[7, 0], [7, 1], [7, 2], [3, 1]])
    np.testing.assert_allclose(pair_weights(pairs, True), [1 / 3, 1 / 3, 1 / 3, 1])
    X, Y, _ = noisy_twins()
    a, b = X[:30], Y[:30]
    doubled = procrustes(np.vstack([a, a[:10]]), np.vstack([b, b[:10]]))
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    np.testing.assert_allclose(balanced_procrustes(a, b, weights), doubled, atol=1e-5)


def test_nearest_rotation():
    _, _, turn = noisy_twins()
    stretch = turn @ (turn.T @ np.diag(np.linspace(1, 2, 12)).astype(np.float32) @ turn)
    np.testing.assert_allclose(nearest_rotation(stretch), turn, atol=1e-5)


@pytest.mark.parametrize("wrong", [{"rounds": -1}, {"frequent": 0}, {"vocabulary": 0}, {"keep_seeds": -1.0}])
def test_settings_are_checked(wrong):
    X, Y, _ = noisy_twins(40)
    with pytest.raises(ConfigError):
        MuseSupervised(**wrong).fit(X, Y, [[0, 0], [1, 1]])


def test_a_refinement_with_patience_goes_on_while_the_criterion_rises_and_stops_when_it_stalls():
    """A start that is right for very few words: a few rounds leave most of it undone."""
    pair = simulate_pair(1500, 50, 0.5, 0)
    X, Y = (Normaliser.fit_transform("unit,centre,unit", space.vectors)[1] for space in (pair.src, pair.tgt))
    known = pair.lexicon.indices(pair.src, pair.tgt)
    start = procrustes(X[known[:5, 0]], Y[known[:5, 1]])
    cut, whole = refine(X, Y, start, rounds=5), refine(X, Y, start, rounds=100, patience=3)
    assert cut.criterion < 0.7 < 0.8 < whole.criterion
    assert 9 < len(whole.history) < 30
    values = [fact["semantic"] for fact in whole.history]
    assert max(values[-3:]) < max(values[:-3]) + GAIN  # nothing in the last three
    assert max(values[-4:-1]) >= max(values[:-4]) + GAIN  # but not one round earlier


def test_a_resumed_refinement_stalls_at_the_same_round():
    X, Y, turn = noisy_twins()
    states = []
    whole = refine(X, Y, turn, rounds=50, patience=2, after=states.append)
    again = refine(X, Y, states[1], rounds=50, patience=2)
    assert len(again.history) == len(whole.history) < 50
    np.testing.assert_array_equal(again.best, whole.best)


def test_select_says_which_round_is_kept():
    X, Y, _ = noisy_twins(noise=0.6)
    history = {}
    for select in ("semantic", "structural", "last"):
        alignment = MuseSupervised(rounds=4, select=select).fit(X, Y, [[i, i] for i in range(14)])
        history[select] = alignment.info["history"]
        figures = [row.get(select, row["round"]) for row in history[select]]
        best = min(figures) if select == "structural" else max(figures)
        assert alignment.info["best_round"] == figures.index(best)
    assert "structural" not in history["semantic"][0]
    with pytest.raises(ConfigError, match=r"select.*'validation'"):
        MuseSupervised(select="validation")
