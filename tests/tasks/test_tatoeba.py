"""Sentence retrieval against double loops over the definitions."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.tasks import Result, paired_test, tatoeba

Matrix = npt.NDArray[np.float64]


def world(n: int = 60, d: int = 12, noise: float = 1.3, seed: int = 0) -> tuple[Matrix, Matrix]:
    """Translations that are found about half the time; a common direction keeps cosines above zero."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) + 0.7
    Y = X + noise * random.standard_normal((n, d)) * random.uniform(0.3, 1.5, (n, 1))
    return X * random.uniform(0.1, 10, (n, 1)), Y


def naive_scores(X: Matrix, Y: Matrix, score: str, k: int) -> Matrix:
    """score(x_i, y_j) for all i and j, one pair at a time."""
    n = len(X)
    cosine = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            cosine[i, j] = X[i] @ Y[j] / (np.linalg.norm(X[i]) * np.linalg.norm(Y[j]))
    if score == "cosine":
        return cosine
    scores = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            near_i = sum(sorted(cosine[i, :], reverse=True)[:k])
            near_j = sum(sorted(cosine[:, j], reverse=True)[:k])
            if score == "margin":
                scores[i, j] = cosine[i, j] / (near_i / (2 * k) + near_j / (2 * k))
            else:
                scores[i, j] = 2 * cosine[i, j] - near_i / k - near_j / k
    return scores


def values(results: list[Result]) -> dict[str, float]:
    return {result.metric: result.value for result in results}


@pytest.mark.parametrize(("score", "k"), [("cosine", 4), ("margin", 4), ("margin", 7), ("csls", 4), ("csls", 10)])
def test_both_directions_agree_with_a_double_loop(score: str, k: int) -> None:
    X, Y = world()
    scores = naive_scores(X, Y, score, k)
    mean, there, back = tatoeba(X, Y, score=score, neighbourhood=k, bootstrap=0)
    for result, matrix in ((there, scores), (back, scores.T)):
        assert [item["retrieved"] for item in result.per_item] == matrix.argmax(axis=1).tolist()
        assert [item["score"] for item in result.per_item] == pytest.approx(matrix.max(axis=1), abs=2e-6)
        assert [item["gold_score"] for item in result.per_item] == pytest.approx(np.diag(scores), abs=2e-6)
        assert result.value == np.mean(matrix.argmax(axis=1) == np.arange(len(X)))
        assert 0.2 < result.value < 0.9
    # The case must tell the directions apart.
    assert there.value != back.value
    assert mean.value == pytest.approx((there.value + back.value) / 2)
    assert [r.metric for r in (mean, there, back)] == ["P@1", "P@1 src->tgt", "P@1 tgt->src"]


def test_the_scores_really_differ() -> None:
    X, Y = world()
    found = {}
    for score in ("cosine", "margin", "csls"):
        found[score] = [item["retrieved"] for item in tatoeba(X, Y, score=score, bootstrap=0)[1].per_item]
    assert found["cosine"] != found["margin"] != found["csls"]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = world(n=45)
    X[31], Y[40] = X[2], Y[3]  # ties across blocks
    whole = tatoeba(X, Y, score="margin", bootstrap=0)
    steps: list[float] = []
    for rows in (1, 7, 44):
        # The package's attribute of that name is the function.
        monkeypatch.setattr(importlib.import_module("isoglot.tasks.tatoeba"), "_BLOCK", rows * 45)
        assert tatoeba(X, Y, score="margin", bootstrap=0, progress=lambda _, done, __: steps.append(done)) == whole
    assert steps[-2:] == [44, 45]
    retrieved = [item["retrieved"] for item in whole[2].per_item]
    assert retrieved[40] == retrieved[3]
    assert 31 not in retrieved


@pytest.mark.parametrize("score", ["cosine", "margin", "csls"])
def test_equal_vectors_are_told_apart_by_their_order_or_their_text(score: str) -> None:
    X, Y = world(n=20, noise=0.0)
    X[13], Y[13] = X[5], Y[5]
    mean, there, back = tatoeba(X, Y, score=score, bootstrap=0)
    assert values([mean, there, back]) == {"P@1": 0.95, "P@1 src->tgt": 0.95, "P@1 tgt->src": 0.95}
    for result in (there, back):
        assert result.per_item[13]["retrieved"] == 5
        assert not result.per_item[13]["hit"]
    sources = [f"source {i}" for i in range(20)]
    targets = [f"target {i}" for i in range(20)]
    targets[13] = targets[5]
    mean, there, back = tatoeba(X, Y, score=score, sentences=(sources, targets), bootstrap=0)
    # The source texts differ: from target to source it is still wrong.
    assert values([mean, there, back]) == {"P@1": 0.975, "P@1 src->tgt": 1.0, "P@1 tgt->src": 0.95}
    assert there.per_item[13] == {
        **there.per_item[13],
        "retrieved": 5,
        "hit": True,
        "source": "source 13",
        "gold": "target 5",
        "prediction": "target 5",
    }
    assert (back.per_item[13]["source"], back.per_item[13]["prediction"]) == ("target 5", "source 5")
    assert (mean.per_item[13]["value"], mean.per_item[13]["hit"]) == (0.5, False)
    assert "right text is a hit" in mean.protocol["identical_text"]
    assert "only the very row" in tatoeba(X, Y, bootstrap=0)[0].protocol["identical_text"]


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 40), st.sampled_from(["cosine", "margin", "csls"]), st.integers(0, 10**6))
def test_perfect_translations_and_the_order_of_rows(n: int, score: str, seed: int) -> None:
    X, Y = world(n, seed=seed)
    X, Y = np.abs(X), np.abs(Y)
    # Margin and CSLS may prefer an outsider to the very same vector, but not where all are equally far from each other.
    alike = np.eye(n) + np.random.default_rng(seed).uniform(0.1, 2)
    assert set(values(tatoeba(alike, 3 * alike, score=score, bootstrap=0)).values()) == {1.0}
    assert set(values(tatoeba(X, 3 * X, bootstrap=0)).values()) == {1.0}
    order = np.random.default_rng(seed).permutation(n)
    before, after = (tatoeba(*pair, score=score, bootstrap=0) for pair in ((X, Y), (X[order], Y[order])))
    assert values(before) == values(after)
    hits = [item["hit"] for item in before[1].per_item]
    assert [hits[i] for i in order] == [item["hit"] for item in after[1].per_item]
    swapped = tatoeba(Y, X, score=score, bootstrap=0)
    assert (swapped[1].value, swapped[2].value) == (before[2].value, before[1].value)


def test_empty_sentences_are_no_trouble() -> None:
    X, Y = world(n=12, noise=0.0)
    X[3] = Y[3] = 0
    Y[7] = 0
    for score in ("cosine", "margin", "csls"):
        _, there, _ = tatoeba(X, Y, score=score, bootstrap=0)
        assert not there.per_item[7]["hit"]
        assert sum(item["hit"] for item in there.per_item) >= 10
        assert all(np.isfinite([item["score"], item["gold_score"]]).all() for item in there.per_item)


def test_systems_are_compared_by_index() -> None:
    X, Y = world()
    good, bad = tatoeba(X, X, bootstrap=0)[0], tatoeba(X, Y, bootstrap=0)[0]
    test = paired_test(good, bad, key="index")
    assert test.difference == pytest.approx(1 - bad.value)
    assert test.p_value < 0.01


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"X": np.ones((3, 2)), "Y": np.ones((4, 2))}, ShapeError, r"\(3, 2\) and \(4, 2\)"),
        ({"X": np.ones(3), "Y": np.ones(3)}, ShapeError, "two matrices"),
        ({"X": np.ones((0, 2)), "Y": np.ones((0, 2))}, InputError, "no sentences"),
        ({"score": "cosin"}, ConfigError, "unknown score 'cosin'"),
        ({"score": "margin", "neighbourhood": 0}, ConfigError, "at least 1"),
        ({"sentences": (["a"] * 3, ["b"] * 2)}, ShapeError, "3 vectors a side, but texts of 3 and 2"),
        ({"X": np.array([[1.0, 0], [np.nan, 0], [0, 1]])}, InputError, "row 1"),
        ({"bootstrap": -1}, ConfigError, "bootstrap"),
        ({"score": "margin", "Y": -np.ones((3, 2))}, InputError, "not defined.*csls"),
    ],
)
def test_what_cannot_be_evaluated_is_a_clear_error(arguments: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        tatoeba(**{"X": np.ones((3, 2)), "Y": np.ones((3, 2)), **arguments})


def test_the_own_mean_of_a_language_is_taken_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    Y = X + 0.3 * rng.normal(size=X.shape)
    # Each language lies somewhere else, which is all that a cosine sees.
    X, Y = X + 8 * rng.normal(size=8), Y + 8 * rng.normal(size=8)
    plain, own = (tatoeba(X, Y, normalise=steps, bootstrap=0)[0] for steps in ("", "unit,centre"))
    assert plain.value < 0.5
    assert own.value > 0.8
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (X, Y)]
    by_hand = tatoeba(*(side - side.mean(axis=0) for side in unit), bootstrap=0)[0]
    assert own.value == by_hand.value
