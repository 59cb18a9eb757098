"""Features of the re-ranker against slow, obvious computations."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.aligned import Aligned
from isoglot.aligned.rerank_features import GEOMETRIC_FEATURES, WORD_FEATURES, CandidateSearch, Queries, feature_names
from isoglot.aligned.rerank_model import RankingModel, _loss, choose_penalty
from isoglot.aligners import SPELLING_FEATURES, LinearAlignment, latin, spelling_features
from isoglot.errors import LexiconError, ShapeError
from isoglot.spaces import Space


def edit_distance(a: str, b: str) -> int:
    @functools.cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]))

    return distance(len(a), len(b))


def spelled(a: str, b: str) -> dict[str, float]:
    values = spelling_features([a], [b], [0], [0])[0]
    return dict(zip(SPELLING_FEATURES, values.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(st.text("abcdee1", min_size=1, max_size=9), st.text("abcdee1", min_size=1, max_size=9))
def test_letters_are_compared_as_by_hand(a, b):
    got = spelled(a, b)
    longer = max(len(a), len(b))
    assert got["edit similarity"] == pytest.approx(1 - edit_distance(a, b) / longer)
    prefix = next((i for i in range(min(len(a), len(b))) if a[i] != b[i]), min(len(a), len(b)))
    assert got["common prefix"] == pytest.approx(prefix / longer)
    suffix = next((i for i in range(min(len(a), len(b))) if a[-1 - i] != b[-1 - i]), min(len(a), len(b)))
    assert got["common suffix"] == pytest.approx(suffix / longer)
    for n, name in ((2, "shared bigrams"), (3, "shared trigrams")):
        grams = [{f"^{w}$"[i : i + n] for i in range(len(w) + 3 - n)} for w in (a, b)]
        assert got[name] == pytest.approx(2 * len(grams[0] & grams[1]) / (len(grams[0]) + len(grams[1])))
    assert got["identical"] == (a == b)
    assert got["length ratio"] == pytest.approx(math.log(len(a) / len(b)))
    assert got["digits agree"] == (("1" in a) == ("1" in b))
    bones = ["".join(c for c in w if c not in "ae") or w for w in (a, b)]
    assert got["edit similarity of consonants"] == pytest.approx(1 - edit_distance(*bones) / max(map(len, bones)))


@pytest.mark.parametrize(
    ("a", "b"), [("telephone", "телефон"), ("Tokyo", "東京"), ("", "x"), ("ﬁn", "fin"), ("😀", "ok"), ("q", "ー")]
)
def test_any_script_gives_finite_numbers(a, b):
    values = np.array(list(spelled(a, b).values()))
    assert np.isfinite(values).all()
    assert latin(a).isascii()


def test_scripts_meet_in_latin_letters():
    assert spelled("radio", "радио")["identical"] == 1
    assert spelled("Paris", "ПАРИЖ")["capitals agree"] == 1
    assert spelled("paris", "Париж")["capitals agree"] == 0
    assert spelled("telefon", "телефон")["edit similarity of long words"] == 0.5


def small_views(seed: int = 0, views: int = 2) -> list[Aligned]:
    random = np.random.default_rng(seed)
    spaces = []
    for _ in range(views):
        X, Y = random.normal(size=(30, 5)) + 0.3, random.normal(size=(25, 5)) + 0.3
        src = Space("a", [f"w{i}" for i in range(30)], X, counts=np.arange(30) + 1)
        tgt = Space("b", [f"v{i}" for i in range(25)], Y)
        spaces.append(Aligned.pair(LinearAlignment.learned(), src, tgt))
    return spaces


def test_geometry_against_brute_force():
    views, k, depth = small_views(), 3, 6
    rows = np.array([4, 17, 29])
    queries = Queries([f"w{i}" for i in rows], rows, [view.spaces["a"].vectors[rows] for view in views])
    found = CandidateSearch.run(views, ("a", "b"), queries, candidates=depth, neighbourhood=k, words=False, threads=1)
    measured = found.features()
    assert measured.shape == (3, depth, 2 * len(GEOMETRIC_FEATURES))
    for number, view in enumerate(views):
        X, Y = (view.spaces[name].vectors.astype(np.float64) for name in ("a", "b"))
        cosines = (X / np.linalg.norm(X, axis=1)[:, None]) @ (Y / np.linalg.norm(Y, axis=1)[:, None]).T
        csls = 2 * cosines
        csls -= np.sort(cosines, axis=1)[:, -k:].mean(axis=1)[:, None] + np.sort(cosines, axis=0)[-k:].mean(axis=0)
        for i, x in enumerate(rows):
            for j, y in enumerate(found.candidates[i]):
                score, row, column = csls[x, y], csls[x], csls[:, y]
                rank, back = (row > score).sum(), (column > score).sum()
                best_column = np.sort(column)[::-1][:depth]
                among = best_column if back < depth else np.append(best_column, score)
                best_row = np.sort(row)[::-1][:depth]
                expected = [
                    cosines[x, y],
                    score,
                    np.log1p(min(rank, depth)),
                    np.log1p(min(back, depth)),
                    score - np.delete(row, y).max(),
                    score - np.delete(column, x).max(),
                    20 * score - np.log(np.exp(20 * best_row).sum()),
                    20 * score - np.log(np.exp(20 * among).sum()),
                ]
                got = measured[i, j, number * 8 : number * 8 + 8]
                np.testing.assert_allclose(got, expected, atol=2e-4)


def test_candidates_come_from_all_views_by_rank():
    views = small_views()
    queries = Queries(["w3"], np.array([3]), [view.spaces["a"].vectors[[3]] for view in views])
    found = CandidateSearch.run(views, ("a", "b"), queries, candidates=4, threads=1)
    firsts = [near.indices[0].tolist() for near in found.found]
    interleaved = [target for pair in zip(*firsts, strict=True) for target in pair]
    assert found.candidates[0].tolist() == list(dict.fromkeys(interleaved))[:4]
    assert found.names == feature_names(2, words=True)
    assert found.features().shape == (1, 4, len(found.names))


def test_word_features_know_frequency_and_forms():
    random = np.random.default_rng(1)
    src = Space("a", ["chair", "table"], random.normal(size=(2, 4)))
    tgt = Space("b", ["tables", "tablez", "chaise"], random.normal(size=(3, 4)), counts=[5, 50, 500])
    view = Aligned.pair(LinearAlignment.learned(), src, tgt)
    queries = Queries(["table"], np.array([1]), [src.vectors[[1]]])
    found = CandidateSearch.run([view], ("a", "b"), queries, candidates=3, neighbourhood=1, threads=1)
    values = found.features()[0, :, len(GEOMETRIC_FEATURES) :]
    for candidate, row in zip(found.candidates[0], values, strict=True):
        word = dict(zip(WORD_FEATURES, row.tolist(), strict=True))
        gap = math.log(10 + [2, 1, 0][candidate]) - math.log(10 + 1)
        assert word["frequency difference"] == pytest.approx(gap, abs=1e-5)
        assert word["frequency gap"] == pytest.approx(abs(gap), abs=1e-5)
        assert word["forms among candidates"] == pytest.approx(math.log([2, 2, 1][candidate]), abs=1e-5)
        distance = edit_distance("table", tgt.words[candidate])
        assert word["edit similarity"] == pytest.approx(1 - distance / 6, abs=1e-5)


def ranking_task(seed: int = 0, queries: int = 60) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    features = random.normal(size=(queries, 5, 3)).astype(np.float32)
    labels = np.zeros((queries, 5), dtype=bool)
    labels[np.arange(queries), (features @ [2.0, -1.0, 0.0]).argmax(axis=1)] = True
    return features, labels


def test_the_models_gradient_is_that_of_its_loss():
    features, labels = ranking_task()
    labels[:, 0] = True  # several right candidates a query
    weights = np.array([0.3, -0.7, 1.1])
    _, gradient = _loss(weights, features.astype(np.float64), labels, 0.05)
    for i in range(3):
        step = np.eye(3)[i] * 1e-5
        ends = [_loss(weights + sign * step, features.astype(np.float64), labels, 0.05)[0] for sign in (1, -1)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_the_model_learns_the_order_and_ignores_what_does_not_matter():
    features, labels = ranking_task()
    model = RankingModel.fit(("a", "b", "c"), features, labels, 0.003)
    new, right = ranking_task(seed=9)
    assert (model.shares(new).argmax(axis=1) == right.argmax(axis=1)).mean() > 0.9
    assert abs(model.weights[2]) < 0.2 * abs(model.weights[1])
    np.testing.assert_allclose(model.shares(new).sum(axis=1), 1)
    assert RankingModel.from_record(model.record()).shares(new).tolist() == model.shares(new).tolist()


def test_noise_gets_a_large_penalty_and_signal_a_small_one():
    features, labels = ranking_task()
    parts = np.arange(len(labels)) % 5
    names = ("a", "b", "c")
    noise = np.random.default_rng(3).permutation(labels)
    assert choose_penalty(names, features, labels, parts) < choose_penalty(names, features, noise, parts)


def test_a_model_refuses_what_it_cannot_learn_from():
    features, labels = ranking_task()
    with pytest.raises(LexiconError, match="no query has a right candidate"):
        RankingModel.fit(("a", "b", "c"), features, np.zeros_like(labels), 0.1)
    with pytest.raises(ShapeError, match="do not fit"):
        RankingModel.fit(("a", "b"), features, labels, 0.1)
