"""CBLI against a search written down independently."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.simulate import simulate_occurrences
from isoglot.spaces import Space, occurrence_name
from isoglot.tasks import cbli

Rows = npt.NDArray[np.int64]


def world(n: int = 120, words: int = 15, noise: float = 0.8, seed: int = 0) -> tuple[Space, Space, Rows]:
    """Occurrences around their words' means; more rows than pairs on both sides, target rows in random order."""
    random = np.random.default_rng(seed)
    word = random.integers(0, words, n)
    X = random.standard_normal((words, 6))[word] + 0.5 * random.standard_normal((n, 6))
    Y = X + noise * random.standard_normal((n, 6))
    order = random.permutation(n)
    src = Space("en", [occurrence_name(f"s:{word[i]}", i, 0) for i in range(n)], X.astype(np.float32))
    tgt = Space("de", [occurrence_name(f"t@{word[i]}", i, 1) for i in order], Y[order].astype(np.float32))
    pairs = np.column_stack([order, np.arange(n)])
    return src, tgt, random.permutation(pairs)[: n * 3 // 4]


def brute_force(src: Space, tgt: Space, pairs: Rows, score: str, ks: tuple[int, ...], k: int = 10) -> dict[str, float]:
    X, Y = src.vectors.astype(float), tgt.vectors.astype(float)
    sources, targets = sorted(set(pairs[:, 0].tolist())), sorted(set(pairs[:, 1].tolist()))
    similarity = np.zeros((len(sources), len(targets)))
    for i, row in enumerate(sources):
        for j, column in enumerate(targets):
            x, y = X[row], Y[column]
            if score == "euclidean":
                similarity[i, j] = -np.linalg.norm(x - y)
            else:
                similarity[i, j] = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
    if score == "csls":
        of_src = np.sort(similarity, axis=1)[:, -k:].mean(axis=1)
        of_tgt = np.sort(similarity, axis=0)[-k:].mean(axis=0)
        similarity = 2 * similarity - of_src[:, None] - of_tgt
    hits: dict[str, list[bool]] = {}
    for row, column in pairs.tolist():
        near = np.argsort(-similarity[sources.index(row)], kind="stable")
        found = [tgt.words[targets[place]] for place in near]
        gold = tgt.words[column]
        for depth in ks:
            same = [name.rpartition("@")[0] == gold.rpartition("@")[0] for name in found[:depth]]
            hits.setdefault(f"P@{depth} word", []).append(any(same))
            hits.setdefault(f"P@{depth} occurrence", []).append(gold in found[:depth])
    return {metric: float(np.mean(column)) for metric, column in hits.items()}


@pytest.mark.parametrize("score", ["csls", "cosine", "euclidean"])
def test_figures_agree_with_brute_force(score: str) -> None:
    src, tgt, pairs = world()
    results = cbli(src, tgt, pairs, score=score, ks=(1, 5), bootstrap=0)
    expected = brute_force(src, tgt, pairs, score, (1, 5))
    assert [result.metric for result in results] == ["P@1 word", "P@1 occurrence", "P@5 word", "P@5 occurrence"]
    assert {result.metric: result.value for result in results} == expected
    assert 0.1 < expected["P@1 occurrence"] < expected["P@1 word"] < expected["P@5 word"] < 1
    assert results[0].protocol["candidates"] == len(pairs) < len(tgt)


def test_one_source_with_two_translations_is_two_items() -> None:
    src = Space("en", ["do@0:0", "not@0:1"], np.eye(3)[:2])
    tgt = Space("fr", ["ne@0:0", "pas@0:2", "pas@9:9"], np.array([[0, 1, 0], [0, 0.9, 0.1], [1, 0, 0]]))
    results = cbli(src, tgt, [[1, 0], [1, 1], [0, 2], [1, 0]], score="cosine", ks=(1, 2), bootstrap=0)
    figures = {result.metric: (result.value, result.n) for result in results}
    assert figures == {
        "P@1 word": (2 / 3, 3),
        "P@1 occurrence": (2 / 3, 3),
        "P@2 word": (1.0, 3),
        "P@2 occurrence": (1.0, 3),
    }
    assert results[0].protocol["pairs_given"] == 3
    assert results[0].protocol["candidate_words"] == 2
    # "pas" is right as a word wherever it stands, as an occurrence only in its place.
    moved = cbli(src, tgt, [[0, 1], [1, 2]], score="cosine", ks=(1,), bootstrap=0)
    assert [result.value for result in moved] == [1.0, 0.0]


def test_records_tell_words_and_sentences() -> None:
    src = Space("en", ["bank@3:1", "bank@4:2"], np.eye(2))
    tgt = Space("de", ["Ufer@7:0", "Bank@8:5"], np.eye(2))
    result = cbli(src, tgt, [[0, 1], [1, 0]], score="cosine", ks=(1,), bootstrap=0)[0]
    assert result.value == 0
    assert result.per_item[0] == {
        "index": 0,
        "source": "bank@3:1",
        "word": "bank",
        "sentence": 3,
        "gold": "Bank",
        "gold_occurrence": "Bank@8:5",
        "gold_sentence": 8,
        "prediction": "Ufer",
        "prediction_sentence": 7,
        "predictions": [("Ufer@7:0", 1.0)],
        "value": 0.0,
        "hit": False,
    }


def test_more_pairs_than_the_limit_are_drawn_with_the_seed() -> None:
    src, tgt, pairs = world()
    drawn = {}
    for seed in (0, 1):
        first, again = (cbli(src, tgt, pairs, limit=20, bootstrap=0, seed=seed)[0] for _ in range(2))
        assert first == again
        assert first.n == first.protocol["candidates"] == 20
        assert first.protocol["pairs_given"] == len(pairs)
        index = [item["index"] for item in first.per_item]
        assert index == sorted(set(index))
        assert [item["source"] for item in first.per_item] == [src.words[pairs[i, 0]] for i in index]
        drawn[seed] = index
    assert drawn[0] != drawn[1]
    assert cbli(src, tgt, pairs, limit=None, bootstrap=0)[0].n == len(pairs)
    for limit in (len(pairs) - 1, len(pairs)):
        assert cbli(src, tgt, pairs, limit=limit, bootstrap=0)[0].n == limit


@settings(max_examples=20, deadline=None)
@given(st.integers(8, 60), st.sampled_from(["csls", "cosine", "euclidean", "csls-euclidean"]), st.integers(0, 10**6))
def test_perfect_maps_and_the_order_of_rows(n: int, score: str, seed: int) -> None:
    src, tgt, pairs = world(n, seed=seed)
    exact = np.array(tgt.vectors)
    exact[pairs[:, 1]] = src.vectors[pairs[:, 0]]
    # CSLS may prefer an outsider to the very same vector.
    perfect = cbli(src, tgt.with_vectors(exact), pairs, score=score.removeprefix("csls-"), bootstrap=0)
    if score != "csls":
        assert {result.value for result in perfect} == {1.0}
    order = np.random.default_rng(seed).permutation(n)
    moved = np.column_stack([pairs[:, 0], np.argsort(order)[pairs[:, 1]]])[::-1]
    before, after = (
        {result.metric: result.value for result in cbli(src, space, rows, score=score, bootstrap=0)}
        for space, rows in ((tgt, pairs), (tgt.take(order), moved))
    )
    # One item may fall the other way where two float32 scores tie.
    assert after == pytest.approx(before, abs=1.01 / len(pairs))


def test_simulated_occurrences_fit_in() -> None:
    from isoglot.reproductions.density.simulation import word_precision

    split = simulate_occurrences(k=10, t=1, words=5, seed=3).test
    names = [occurrence_name(f"{word}", i, 0) for i, word in enumerate(split.src_word)]
    src = Space("a", names, split.src.vectors)
    tgt = Space("b", [occurrence_name(f"{w}", i, 0) for i, w in enumerate(split.tgt_word)], split.tgt.vectors)
    results = cbli(src, tgt, split.pairs, score="euclidean", ks=(1,), bootstrap=0)
    assert tuple(result.value for result in results) == pytest.approx(word_precision(split.src.vectors, split))
    assert 0 < results[0].value < 1


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"pairs": [[0, 2]]}, InputError, r"pairs, row 0: row 2 is outside the 2 occurrences of de"),
        ({"pairs": [[0, 0], [-1, 0]]}, InputError, "pairs, row 1: row -1"),
        ({"pairs": []}, InputError, "no pairs"),
        ({"pairs": [0, 1]}, ShapeError, r"\(p, 2\)"),
        ({"pairs": [[0.0, 1.0]]}, ShapeError, "whole numbers"),
        ({"ks": ()}, ConfigError, "positive"),
        ({"ks": (0,)}, ConfigError, "positive"),
        ({"limit": 0}, ConfigError, "limit"),
        ({"bootstrap": -3}, ConfigError, "bootstrap"),
        ({"score": "cosin"}, ConfigError, "did you mean 'cosine'"),
        ({"tgt": Space("de", ["a@0:0"], np.ones((1, 3)))}, ShapeError, "2 dimensions and de vectors 3"),
        ({"tgt": Space("de", ["Bank", "Ufer"], np.eye(2))}, InputError, "'Bank' is not the name of an occurrence"),
    ],
)
def test_what_cannot_be_evaluated_is_a_clear_error(arguments: dict[str, Any], error: type, words: str) -> None:
    src = Space("en", ["bank@3:1", "bank@4:2"], np.eye(2))
    tgt = Space("de", ["Ufer@7:0", "Bank@8:5"], np.eye(2))
    with pytest.raises(error, match=words):
        cbli(**{"src": src, "tgt": tgt, "pairs": [[0, 0]], **arguments})
