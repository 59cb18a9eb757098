"""Starting from spelling: candidates against brute force, chance sorted out by vectors, errors, resuming."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from isoglot import checkpoints as checkpoint
from isoglot.aligners import Cognates, aligner, latin
from isoglot.aligners.self_learning.spelling import sound
from isoglot.aligners.self_learning.spelling_start import (
    Candidates,
    agreeing_pairs,
    best_pairs,
    spelling_candidates,
)
from isoglot.errors import ConfigError, InputError
from isoglot.spaces import Space

LETTERS = list("abdefgiklmnoprstu")


def words(n, seed, length=7):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(LETTERS, length)) for _ in range(n)]


def planted(n=600, d=12, alike=0.3, noise=0.1, seed=0):
    """Two languages, one rotation; only a part of the translations is written alike, the rest is not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0].astype(np.float32)
    Y = X @ turn + noise * rng.normal(size=(n, d)).astype(np.float32)
    left, unlike = words(n, seed + 1), words(n, seed + 2)
    right = [word[:-2] + "um" if rng.random() < alike else other for word, other in zip(left, unlike, strict=True)]
    order = rng.permutation(n)
    return Space("aa", left, X), Space("bb", [right[i] for i in order], Y[order]), np.argsort(order)


def hits(alignment, src, tgt, truth):
    A, B = alignment.transform(src.vectors), alignment.transform(tgt.vectors, "tgt")
    A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    return float(np.mean((A @ B.T).argmax(axis=1) == truth))


def test_finds_the_rotation_from_words_alone():
    src, tgt, truth = planted()
    alignment = Cognates().fit(src, tgt)
    assert hits(alignment, src, tgt, truth) > 0.99
    assert alignment.info["aligned"]
    assert alignment.info["start"]["pairs"] <= alignment.info["start"]["candidates"]


def test_says_so_when_spelling_leads_nowhere():
    src, tgt, truth = planted(alike=0.0, n=800, d=40, noise=1.0)
    alignment = Cognates().fit(src, tgt)
    assert hits(alignment, src, tgt, truth) < 0.05
    assert not alignment.info["aligned"]
    assert "not aligned" in alignment.info["warning"]


def test_candidates_are_those_of_a_slow_count():
    left, right = words(40, 1, 5), [*words(30, 2, 5), *[w[:-1] for w in words(40, 1, 5)[:10]]]

    def vectors(written):
        grams = [{f"^{w}$"[i : i + n] for n in (2, 3, 4) for i in range(len(w) + 3 - n)} for w in written]
        return grams

    def cosines(a, b):
        share = {}
        for side in (a, b):
            for grams in side:
                for gram in grams:
                    share[gram] = share.get(gram, 0) + 0.5 / len(side)
        weight = {gram: max(0.0, -np.log(value)) for gram, value in share.items()}
        length = [[np.sqrt(sum(weight[g] ** 2 for g in grams)) or 1.0 for grams in side] for side in (a, b)]
        return np.array(
            [
                [sum(weight[g] ** 2 for g in x & y) / (length[0][i] * length[1][j]) for j, y in enumerate(b)]
                for i, x in enumerate(a)
            ]
        )

    spelled = cosines(vectors([latin(w) for w in left]), vectors([latin(w) for w in right]))
    heard = cosines(vectors([sound(w) for w in left]), vectors([sound(w) for w in right]))
    slow = (spelled + heard) / 2
    found = spelling_candidates(left, right, neighbours=3)
    assert len(found) > 10
    np.testing.assert_allclose(found.likeness, slow[found.pairs[:, 0], found.pairs[:, 1]], atol=1e-5)
    for i in range(len(left)):
        best = slow[i].argmax()
        assert slow[i, best] < 0.2001 or [i, best] in found.pairs.tolist()


def test_best_pairs_agree_with_a_slow_search():
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 15, size=(60, 2)), axis=0)
    scores = rng.permutation(len(pairs)).astype(float)
    slow = [
        k
        for k, (i, j) in enumerate(pairs)
        if scores[k] == scores[pairs[:, 0] == i].max() == scores[pairs[:, 1] == j].max()
    ]
    assert best_pairs(pairs, scores).tolist() == sorted(slow, key=lambda k: -scores[k])


def test_vectors_sort_out_false_friends():
    """Spelling prefers a wrong pair for most words; the right one, a little less alike, agrees with the map."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 8)).astype(np.float32)
    Y = X @ np.linalg.qr(rng.normal(size=(8, 8)))[0].astype(np.float32)
    own, false = np.arange(300), rng.permutation(300)
    pairs = np.concatenate([np.stack([own, own], axis=1), np.stack([own, false], axis=1)])
    prefer_false = rng.random(300) < 0.6
    likeness = np.concatenate([np.where(prefer_false, 0.5, 0.6), np.where(prefer_false, 0.6, 0.5)])
    by_spelling = pairs[best_pairs(pairs, likeness)]
    chosen = agreeing_pairs(X, Y, Candidates(pairs, likeness), np.random.default_rng(0), keep=200)
    right = (chosen[:, 0] == chosen[:, 1]).mean()
    assert (by_spelling[:, 0] == by_spelling[:, 1]).mean() < 0.7
    assert right > 0.95


@pytest.mark.parametrize(("a", "b"), [("telephone", "телефон"), ("taxi", "такси"), ("lampa", "λάμπα")])
def test_borrowed_words_sound_alike(a, b):
    short = min(len(sound(a)), len(sound(b))) - 1
    assert sound(a)[:short] == sound(b)[:short]


def test_needs_words_that_can_be_compared():
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(InputError, match="matrices have none"):
        Cognates().fit(X, X)
    with pytest.raises(InputError, match="written alike"):
        Cognates().fit(Space("aa", [f"{'b' * (i + 3)}" for i in range(30)], X), Space("bb", ["1"] + ["x"] * 29, X))


@pytest.mark.parametrize("setting", [{"available": 0.0}, {"seeds": 0}, {"learning_rounds": -1}])
def test_bad_settings_are_named(setting):
    src, tgt, _ = planted(n=50)
    with pytest.raises(ConfigError):
        aligner("cognates", **setting).fit(src, tgt)


@pytest.mark.parametrize("stop_at", [1, 8, 14])
def test_resumes_to_the_same_bits(tmp_path, monkeypatch, stop_at):
    monkeypatch.setattr(checkpoint.Checkpoint, "seconds", 0.0)
    src, tgt, _ = planted(n=200, d=6)
    settings = Cognates(learning_rounds=10)
    unbroken = settings.fit(src, tgt)
    saves = 0
    save = checkpoint.Checkpoint.save

    def save_and_stop(self, *args, **kwargs):
        nonlocal saves
        save(self, *args, **kwargs)
        saves += 1
        if saves == stop_at:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Checkpoint, "save", save_and_stop)
    with pytest.raises(KeyboardInterrupt):
        settings.fit(src, tgt, checkpoint=tmp_path / "state")
    monkeypatch.setattr(checkpoint.Checkpoint, "save", save)
    resumed = settings.fit(src, tgt, checkpoint=tmp_path / "state")
    np.testing.assert_array_equal(resumed.W_src, unbroken.W_src)
    assert dataclasses.asdict(resumed)["info"]["history"] == dataclasses.asdict(unbroken)["info"]["history"]
