"""Figures against scipy, words that are missing, phrases, and vectors of an encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import hmean, pearsonr, spearmanr

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.spaces import Space, SubwordTable
from isoglot.tasks import Result, WordPair, encode_words, paired_test, similarity
from isoglot.tasks._similarity_figures import _spearman, similarity_figures

Matrix = npt.NDArray[np.float64]


def judged(n: int = 150, seed: int = 0, d: int = 6) -> tuple[list[WordPair], Space, Matrix, Matrix]:
    """Pairs among few words, some of them twice, with coarse scores: ties on both sides. Also cosines and scores."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((40, d)) * random.uniform(0.1, 9, (40, 1))
    space = Space("en", [f"w{i}" for i in range(40)], X)
    rows = random.integers(0, 40, (n, 2))
    U = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    cosines = (U[rows[:, 0]] * U[rows[:, 1]]).sum(axis=1).astype(np.float64)
    scores = np.round(2 * cosines + random.standard_normal(n), 0)
    pairs = [WordPair(f"w{i}", f"w{j}", float(s)) for (i, j), s in zip(rows.tolist(), scores, strict=True)]
    return pairs, space, cosines, scores


def named(results: list[Result], denominator: str = "in-vocabulary") -> dict[str, Result]:
    return {result.metric: result for result in results if result.protocol["denominator"] == denominator}


def expected(x: npt.ArrayLike, y: npt.ArrayLike) -> dict[str, float]:
    pearson, spearman = pearsonr(x, y).statistic, spearmanr(x, y).statistic
    return {"harmonic": hmean([pearson, spearman]), "Pearson": pearson, "Spearman": spearman}


def test_figures_are_those_of_scipy() -> None:
    pairs, space, cosines, scores = judged()
    assert len({(p.word1, p.word2) for p in pairs}) < len(pairs)
    results = similarity(pairs, space, bootstrap=0)
    assert [result.metric for result in results] == ["harmonic", "Pearson", "Spearman"] * 2
    assert [result.protocol["denominator"] for result in results] == ["in-vocabulary"] * 3 + ["full"] * 3
    wanted = expected(np.round(cosines, 6), scores)
    for denominator in ("in-vocabulary", "full"):
        for metric, result in named(results, denominator).items():
            assert result.value == pytest.approx(wanted[metric], abs=1e-6)
            assert (result.n, result.coverage, result.interval) == (len(pairs), 1.0, None)
    record = results[0].per_item[7]
    assert (record["word1"], record["word2"], record["gold"]) == (pairs[7].word1, pairs[7].word2, scores[7])
    assert record["score"] == pytest.approx(cosines[7], abs=1e-6)
    assert (record["index"], record["status"], record["missing"]) == (7, "asked", [])
    assert "id" not in record


def test_two_languages_and_the_order_of_pairs() -> None:
    pairs, space, _, _ = judged(seed=1)
    random = np.random.default_rng(0)
    other = Space("de", [f"W{i}" for i in range(40)], space.vectors + random.standard_normal(space.vectors.shape))
    crossed = [WordPair(p.word1, p.word2.upper(), p.score) for p in pairs]
    results = similarity(crossed, space, other, bootstrap=0)
    assert results[0].protocol["languages"] == ["en", "de"]
    at = {"en": space, "de": other}
    cosines = []
    for pair in crossed:
        x, y = at["en"].vector(pair.word1).astype(float), at["de"].vector(pair.word2).astype(float)
        cosines.append(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
    wanted = expected(np.round(cosines, 6), [p.score for p in crossed])
    assert {m: r.value for m, r in named(results).items()} == pytest.approx(wanted, abs=1e-6)
    shuffled = [crossed[i] for i in random.permutation(len(crossed))]
    again = similarity(shuffled, space, other, bootstrap=0)
    assert [r.value for r in again] == pytest.approx([r.value for r in results])
    # Words of the other language are not looked up in the first.
    with pytest.raises(InputError, match="none of the 150 pairs"):
        similarity(pairs, space, other, lower=False)


def test_missing_pairs_under_both_denominators() -> None:
    pairs, space, cosines, scores = judged()
    gone = {f"w{i}" for i in range(5)}
    fewer = space.take([i for i, word in enumerate(space.words) if word not in gone])
    kept = np.array([not gone & {p.word1, p.word2} for p in pairs])
    results = similarity(pairs, fewer, bootstrap=50)
    inside, full = named(results), named(results, "full")
    wanted = expected(np.round(cosines[kept], 6), scores[kept])
    assert {m: r.value for m, r in inside.items()} == pytest.approx(wanted, abs=1e-6)
    assert {r.n for r in inside.values()} == {kept.sum()}
    assert {r.n for r in full.values()} == {len(pairs)}
    assert {r.coverage for r in results} == {kept.mean()}
    filled = np.where(kept, np.round(cosines, 6), cosines[kept].mean())
    assert {m: r.value for m, r in full.items()} == pytest.approx(expected(filled, scores), abs=1e-6)
    fixed = named(similarity(pairs, fewer, missing=0.5, bootstrap=0), "full")["harmonic"]
    assert fixed.value == pytest.approx(
        expected(np.where(kept, np.round(cosines, 6), 0.5), scores)["harmonic"], abs=1e-6
    )
    assert fixed.protocol["missing"] == 0.5
    assert full["harmonic"].protocol["missing"] == "the mean of the cosines found"
    assert inside["harmonic"].protocol["missing"] == "left out"
    assert [item["index"] for item in inside["Pearson"].per_item] == np.flatnonzero(kept).tolist()
    for item in full["Spearman"].per_item:
        lacking = [name for name in ("word1", "word2") if item[name] in gone]
        assert item["status"] == (f"{' and '.join(lacking)} missing" if lacking else "asked")
        assert item["missing"] == [item[name] for name in lacking]


def test_intervals_are_those_of_a_plain_bootstrap() -> None:
    pairs, space, cosines, scores = judged(80, seed=3)
    random = np.random.default_rng(5)
    plain = []
    for _ in range(600):
        drawn = random.integers(0, 80, 80)
        plain.append(list(expected(np.round(cosines[drawn], 6), scores[drawn]).values()))
    wanted = np.quantile(plain, [0.025, 0.975], axis=0).T
    for result, interval in zip(similarity(pairs, space, bootstrap=2000, seed=9), wanted, strict=False):
        assert result.interval == pytest.approx(tuple(interval), abs=0.03)


def test_each_resampled_spearman_is_exact() -> None:
    random = np.random.default_rng(2)
    x, y = random.integers(0, 9, 30) / 3, random.standard_normal(30)
    drawn = random.integers(0, 30, (8, 30))
    counts = np.array([np.bincount(row, minlength=30) for row in drawn], dtype=np.float64)
    assert _spearman(counts, x, y) == pytest.approx([spearmanr(x[row], y[row]).statistic for row in drawn])
    # One item over and over has no rank correlation.
    alone = np.zeros((1, 30))
    alone[0, 3] = 30
    assert np.isnan(_spearman(alone, x, y)).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 30), st.floats(1e-150, 1e150), st.integers(0, 10**6))
def test_the_figure_is_the_mean_of_what_items_add(n: int, scale: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    x, y = np.round(random.standard_normal(n), 1) * scale, random.permutation(n) * 1.0
    if not np.ptp(x) > 0:
        return
    found = similarity_figures(x, y, 20, seed)
    assert [values.mean() for values in found.values] == pytest.approx(list(found.figures), abs=1e-9)
    harmonic, pearson, spearman = found.figures
    assert (pearson, spearman) == pytest.approx((pearsonr(x, y).statistic, spearmanr(x, y).statistic))
    assert min(pearson, spearman, 0) <= harmonic <= max(pearson, spearman, 0)
    assert harmonic == pytest.approx(hmean([pearson, spearman]) if min(pearson, spearman) > 0 else 0)
    perfect = similarity_figures(y, y * 3, 20, seed)
    assert list(perfect.figures) == pytest.approx([1, 1, 1])
    assert list(similarity_figures(y, -y, 0, 0).figures) == pytest.approx([0, -1, -1])


def test_words_are_looked_up_as_they_stand_then_lower_cased() -> None:
    space = Space("en", ["us", "US", "fbi", "cat"], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 2]])
    pairs = [WordPair("US", "cat", 1), WordPair("us", "US", 0), WordPair("FBI", "cat", 3)]
    scores = [item["score"] for item in similarity(pairs, space, bootstrap=0)[0].per_item]
    assert scores == pytest.approx([6**-0.5, 0, 2 * 6**-0.5])
    strict = similarity(pairs, space, lower=False, bootstrap=0)
    assert (strict[0].n, strict[3].n) == (2, 3)
    assert strict[3].per_item[2]["missing"] == ["FBI"]


def test_phrases() -> None:
    words = ["New_York", "new", "york", "ice cream", "ice", "cream", "snow", "left", "right"]
    X = np.vstack([np.eye(7), [[0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, -1]]])
    space = Space("en", words, X)
    judgements = [
        ("New York", "New_York", 1.0),  # its own vector, whichever way it is written
        ("ice_cream", "ice cream", 1.0),
        ("Snow ice", "ice", 2**-0.5),  # the mean of its words
        ("snow_of_ice", "snow", 2**-0.5),  # as far as they are known
        ("new_york", "york", 2**-0.5),
        ("ice", "new", 0.0),
        ("nothing known", "ice", None),
        ("left_right", "ice", None),  # no direction left
    ]
    pairs = [WordPair(a, b, i) for i, (a, b, _) in enumerate(judgements)]
    results = similarity(pairs, space, bootstrap=0)
    assert [item["score"] for item in results[0].per_item] == pytest.approx(
        [c for _, _, c in judgements if c is not None]
    )
    lacking = [item["missing"] for item in results[3].per_item]
    assert lacking == [[], [], [], ["of"], [], [], ["nothing", "known"], ["left", "right"]]
    assert results[0].per_item[3]["status"] == "asked"


def test_subwords_know_every_word_and_a_zero_vector_is_none() -> None:
    table = SubwordTable(3, 6, 50, np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32))
    pairs = [WordPair("cat", "dog", 3), WordPair("Dog", "unseen", 2), WordPair("a_cat", "void", 1)]
    space = Space("en", ["cat", "dog", "void"], [[1, 0, 0], [0, 1, 1], [0, 0, 0]])
    with pytest.raises(InputError, match="nothing to correlate: the cosines of the 1 pairs"):
        similarity(pairs, space)
    rich = Space("en", space.words, space.vectors, subwords=table)
    result = similarity(pairs, rich, bootstrap=0)[0]
    assert result.protocol["subwords"]
    assert result.n == 3
    x, y = np.array([0, 1, 1]), table.vector("unseen")
    assert result.per_item[1]["score"] == pytest.approx(x @ y / np.linalg.norm(x) / np.linalg.norm(y), abs=1e-6)


def test_two_systems_are_compared_pair_by_pair() -> None:
    pairs, space, _, _ = judged(seed=2)
    worse = space.with_vectors(space.vectors + 3 * np.random.default_rng(1).standard_normal(space.vectors.shape))
    a, b = (similarity(pairs, one, bootstrap=0)[0] for one in (space, worse))
    test = paired_test(a, b, key="index", repeats=200)
    assert test.difference == pytest.approx(a.value - b.value)
    assert test.n == len(pairs)


@pytest.mark.parametrize(
    ("pairs", "options", "error", "words"),
    [
        ([], {}, InputError, "pairs: there are no pairs"),
        ([WordPair("a", "b", 1), WordPair("a", "c", float("nan"))], {}, InputError, "pairs, item 1: nan is no score"),
        ([WordPair("x", "b", 1)], {}, InputError, r"none of the 1 pairs \(x - b, ...\).*check the languages"),
        ([WordPair("a", "b", 1), WordPair("a", "c", 1)], {}, InputError, "people's scores of the 2 pairs"),
        ([WordPair("a", "b", 1)], {"bootstrap": -1}, ConfigError, "bootstrap"),
        ([WordPair("a", "b", 1)], {"missing": float("inf")}, ConfigError, "missing: must be a number"),
        (
            [WordPair("a", "b", 1)],
            {"tgt": Space("de", ["b"], np.ones((1, 2)))},
            ShapeError,
            "3 dimensions.*de vectors 2",
        ),
        ([WordPair("a", "nan", 1)], {}, InputError, "the vector of 'nan' is not finite"),
    ],
)
def test_what_cannot_be_compared_is_a_clear_error(
    pairs: list[WordPair], options: dict[str, Any], error: type, words: str
) -> None:
    X = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1], [np.nan, 0, 0]])
    with pytest.raises(error, match=words):
        similarity(pairs, Space("en", ["a", "b", "c", "nan"], X), **options)


def test_words_of_an_encoder(tiny: Encoder, parallel: Any) -> None:
    words = sorted({word for sentence in parallel.src[:20] for word in sentence})[:6]
    phrase = f"{words[0]}_{words[1]}"
    space = encode_words(tiny, [*words, phrase, words[0], phrase.replace("_", " ")], lang="north")
    assert list(space.words) == [*words, phrase, phrase.replace("_", " ")]
    assert (space.lang, space.dim) == ("north", tiny.dim)
    alone = tiny.words([[word] for word in words]).vectors
    np.testing.assert_allclose(space.vectors[: len(words)], alone, atol=1e-5)
    # Both words of the phrase in each other's context, each token with the same weight.
    together = tiny.words([words[:2]]).vectors
    lengths = [len(tiny.model.tokenizer(word, add_special_tokens=False)["input_ids"]) for word in words[:2]]
    np.testing.assert_allclose(space.vector(phrase), np.average(together, axis=0, weights=lengths), atol=1e-5)
    np.testing.assert_allclose(space.vector(phrase), space.vector(phrase.replace("_", " ")), atol=1e-5)
    pairs = [WordPair(words[i], words[j], i + j) for i in range(6) for j in range(i)]
    assert similarity(pairs, space, bootstrap=0)[0].coverage == 1
    assert len(encode_words(tiny, [])) == 0


def test_other_pooling_takes_the_mean_of_a_phrases_words(tiny_folder: Any, parallel: Any) -> None:
    first = Encoder(tiny_folder, pooling="first")
    words = list(dict.fromkeys(parallel.src[0]))[:2]
    space = encode_words(first, [words[0], "_".join(words)])
    np.testing.assert_allclose(space.vectors[0], first.words([words[:1]]).vectors[0], atol=1e-5)
    np.testing.assert_allclose(space.vectors[1], first.words([words]).vectors.mean(axis=0), atol=1e-5)
