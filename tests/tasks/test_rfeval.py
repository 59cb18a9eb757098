"""Word mover scores against an assignment, correlations against scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import kendalltau, pearsonr

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.tasks import content_words, rfeval, word_mover_scores

Matrix = npt.NDArray[np.float64]


def sentences(sizes: list[int], d: int = 7, seed: int = 0) -> list[Matrix]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((size, d)) * random.uniform(0.1, 9) for size in sizes]


def costs(U: Matrix, V: Matrix, cost: str) -> Matrix:
    work = np.zeros((len(U), len(V)))
    for i, u in enumerate(U):
        for j, v in enumerate(V):
            distance = np.linalg.norm(u / np.linalg.norm(u) - v / np.linalg.norm(v))
            work[i, j] = distance**2 if cost == "sqeuclidean" else distance
    return work


def assigned(U: Matrix, V: Matrix, cost: str) -> float:
    """Transport of equal weights as an assignment: each word is copied until both sides have as many."""
    size = np.lcm(len(U), len(V))
    work = costs(U, V, cost).repeat(size // len(U), axis=0).repeat(size // len(V), axis=1)
    rows, columns = linear_sum_assignment(work)
    return float(work[rows, columns].sum() / size)


@pytest.mark.parametrize("cost", ["sqeuclidean", "euclidean"])
def test_scores_are_the_least_work(cost: str) -> None:
    src, hyp = sentences([6, 6, 4, 1, 5], seed=1), sentences([6, 3, 6, 4, 7], seed=2)
    expected = [-assigned(x, y, cost) for x, y in zip(src, hyp, strict=True)]
    assert word_mover_scores(src, hyp, cost=cost) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("ngram", [2, 3])
def test_an_ngram_is_the_mean_of_its_words(ngram: int) -> None:
    src, hyp = sentences([6, 2, 1], seed=3), sentences([5, 7, 2], seed=4)

    def grams(words: Matrix) -> Matrix:
        if len(words) <= ngram:
            return np.array([sum(words) / len(words)])
        return np.array([sum(words[i : i + ngram]) / ngram for i in range(len(words) - ngram + 1)])

    expected = [-assigned(grams(x), grams(y), "sqeuclidean") for x, y in zip(src, hyp, strict=True)]
    assert word_mover_scores(src, hyp, ngram=ngram) == pytest.approx(expected, abs=1e-9)
    # Words in another order are the same bag of words, but not of bigrams.
    turned = [words[::-1] for words in hyp] if ngram == 3 else [np.roll(words, 2, axis=0) for words in hyp]
    assert word_mover_scores(src, hyp) == pytest.approx(word_mover_scores(src, turned))
    if ngram == 2:
        assert word_mover_scores(src, hyp, ngram=2)[0] != pytest.approx(word_mover_scores(src, turned, ngram=2)[0])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 10**6))
def test_a_distance_that_knows_no_order_and_no_length(n: int, m: int, seed: int) -> None:
    (x,), (y,) = sentences([n], seed=seed), sentences([m], seed=seed + 1)
    random = np.random.default_rng(seed)
    score = word_mover_scores([x], [y])[0]
    assert -4 <= score < 0
    moved = 5 * x[random.permutation(n)], y[random.permutation(m)] * random.uniform(0.1, 3, (m, 1))
    assert word_mover_scores([moved[0]], [moved[1]])[0] == pytest.approx(score)
    assert word_mover_scores([y], [x])[0] == pytest.approx(score)
    assert word_mover_scores([x], [x[::-1]])[0] == pytest.approx(0, abs=1e-9)


def test_opposite_words_are_the_worst() -> None:
    x = sentences([3])[0][:1]
    assert word_mover_scores([x], [-x])[0] == pytest.approx(-4)
    assert word_mover_scores([x], [-x], cost="euclidean")[0] == pytest.approx(-2)


def test_a_side_without_words_has_no_score() -> None:
    x = sentences([3])[0]
    scores = word_mover_scores([x, np.zeros((0, 7)), x], [np.zeros((0, 7)), x, x])
    assert np.isnan(scores).tolist() == [True, True, False]
    assert word_mover_scores([], []).shape == (0,)


@pytest.mark.parametrize(
    ("src", "hyp", "options", "error", "words"),
    [
        ([np.ones((2, 3))], [], {}, ShapeError, "1 sources, but 0 translations"),
        ([np.ones((2, 3))], [np.ones((2, 4))], {}, ShapeError, "segment 0: 3 dimensions against 4"),
        ([np.ones(3)], [np.ones((2, 3))], {}, ShapeError, "src, segment 0"),
        ([np.ones((1, 2))] * 2, [np.ones((1, 2)), [[1, np.inf]]], {}, InputError, "hyp, segment 1.*finite"),
        ([], [], {"ngram": 0}, ConfigError, "ngram"),
        ([], [], {"cost": "cosine"}, ConfigError, "unknown ground cost 'cosine'"),
    ],
)
def test_what_cannot_be_moved_is_a_clear_error(
    src: Any, hyp: Any, options: dict[str, Any], error: type, words: str
) -> None:
    with pytest.raises(error, match=words):
        word_mover_scores(src, hyp, **options)


def test_content_words() -> None:
    assert content_words(["„", "Ja", "“", "—", "U.S.", "5", "%", "¿", "،"]).tolist() == [1, 4, 5]
    pieces = ["un", "##believ", "##able", ",", "##!"]
    tails = [False, True, True, False, True]
    assert content_words(pieces, tails=tails).tolist() == [0]
    # Never everything: punctuation rather than nothing, and tails rather than nothing.
    assert content_words([",", "##x"], tails=[False, True]).tolist() == [0]
    assert content_words(["##x", "##y"], tails=[True, True]).tolist() == [0, 1]
    assert content_words([]).tolist() == []
    with pytest.raises(ShapeError, match="1 marks for 2 words"):
        content_words(["a", "b"], tails=[True])


def judged(n: int = 200, seed: int = 0) -> tuple[Matrix, Matrix]:
    """Scores and judgements that go together somewhat, with ties in both."""
    random = np.random.default_rng(seed)
    human = random.standard_normal(n)
    return np.round(human + random.standard_normal(n), 1), np.round(human, 1)


def test_correlations_are_those_of_scipy() -> None:
    scores, human = judged()
    pearson, kendall = rfeval(scores, human, protocol={"cost": "euclidean"}, bootstrap=0)
    assert pearson.protocol["cost"] == kendall.protocol["cost"] == "euclidean"
    assert (pearson.metric, kendall.metric) == ("Pearson", "Kendall")
    assert pearson.value == pytest.approx(pearsonr(scores, human).statistic)
    assert kendall.value == pytest.approx(kendalltau(scores, human).statistic)
    assert len(np.unique(scores)) < len(scores)
    assert pearson.interval is None
    for result in (pearson, kendall):
        assert np.mean([item["value"] for item in result.per_item]) == pytest.approx(result.value)
    assert pearson.per_item[7]["score"] == scores[7]
    assert pearson.per_item[7]["human"] == human[7]


def test_intervals_are_those_of_a_plain_bootstrap() -> None:
    scores, human = judged(80, seed=3)
    random = np.random.default_rng(5)
    plain = []
    for _ in range(1000):
        drawn = random.integers(0, 80, 80)
        plain.append((pearsonr(scores[drawn], human[drawn])[0], kendalltau(scores[drawn], human[drawn])[0]))
    expected = np.quantile(plain, [0.025, 0.975], axis=0).T
    for result, interval in zip(rfeval(scores, human, bootstrap=2000, seed=9), expected, strict=True):
        assert result.interval == pytest.approx(tuple(interval), abs=0.03)


def test_each_resampled_tau_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    from isoglot.tasks import _correlations

    scores, human = judged(30, seed=4)
    drawn = np.random.default_rng(0).integers(0, 30, (6, 30))
    counts = np.array([np.bincount(row, minlength=30) for row in drawn], dtype=np.float64)
    for pairs_at_once in (1 << 22, 30 * 7):
        monkeypatch.setattr(_correlations, "_BLOCK", pairs_at_once)
        assert _correlations._kendall(counts, scores, human) == pytest.approx(
            [kendalltau(scores[row], human[row]).statistic for row in drawn]
        )
        assert rfeval(scores, human, bootstrap=0)[1].value == pytest.approx(kendalltau(scores, human).statistic)
    assert _correlations.weighted_pearson(counts, scores, human) == pytest.approx(
        [pearsonr(scores[row], human[row]).statistic for row in drawn]
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 30), st.floats(1e-150, 1e150), st.floats(-100, 100), st.integers(0, 10**6))
def test_perfect_scores_and_the_order_of_segments(n: int, scale: float, shift: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, human = random.permutation(n) * 1.0, random.permutation(n) * 1.0
    perfect = rfeval((human + shift) * scale, human, bootstrap=20)
    assert [result.value for result in perfect] == pytest.approx([1, 1])
    assert [result.interval for result in perfect] == [pytest.approx((1, 1))] * 2
    assert [result.value for result in rfeval(-human, human, bootstrap=0)] == pytest.approx([-1, -1])
    order = random.permutation(n)
    before, after = (rfeval(scores[o], human[o], bootstrap=0) for o in (np.arange(n), order))
    assert [r.value for r in after] == pytest.approx([r.value for r in before])


def test_groups_weigh_the_same() -> None:
    parts = {"cs-en": judged(150, 1), "de-en": judged(30, 2), "fi-en": judged(60, 3)}
    # Shifted against each other: over all segments at once the correlation would be another.
    scores = np.concatenate([part[0] + 10 * i for i, part in enumerate(parts.values())])
    human = np.concatenate([part[1] - 10 * i for i, part in enumerate(parts.values())])
    labels = [name for name, part in parts.items() for _ in part[0]]
    order = np.random.default_rng(0).permutation(len(labels))
    results = rfeval(scores[order], human[order], groups=[labels[i] for i in order], bootstrap=300)
    by_metric = {result.metric: result for result in results}
    assert [r.metric for r in results[:2]] == ["Pearson", "Kendall"]
    expected = {name: pearsonr(*part).statistic for name, part in parts.items()}
    for name, value in expected.items():
        assert by_metric[f"Pearson {name}"].value == pytest.approx(value)
        assert by_metric[f"Pearson {name}"].n == len(parts[name][0]) == len(by_metric[f"Pearson {name}"].per_item)
        assert by_metric[f"Kendall {name}"].value == pytest.approx(kendalltau(*parts[name]).statistic)
        assert {item["group"] for item in by_metric[f"Kendall {name}"].per_item} == {name}
    assert results[0].value == pytest.approx(np.mean(list(expected.values())))
    for result in results:
        assert np.mean([item["value"] for item in result.per_item]) == pytest.approx(result.value)
    assert [item["index"] for item in results[0].per_item] == list(range(240))
    widths = {m: r.interval[1] - r.interval[0] for m, r in by_metric.items() if r.interval}
    assert widths["Pearson"] < widths["Pearson fi-en"] < widths["Pearson de-en"]


def test_segments_without_a_score_get_the_worst() -> None:
    scores, human = judged(50)
    filled = scores.copy()
    scores[[3, 20]] = np.nan
    filled[[3, 20]] = np.nanmin(scores)
    results = rfeval(scores, human, bootstrap=0)
    assert results[0].value == pytest.approx(pearsonr(filled, human).statistic)
    assert results[0].coverage == 48 / 50
    assert results[0].n == 50
    assert [item["index"] for item in results[0].per_item if not item["scored"]] == [3, 20]
    assert results[0].per_item[3]["score"] == np.nanmin(scores)


def test_many_segments_have_no_interval_for_kendall() -> None:
    scores, human = judged(5001)
    pearson, kendall = rfeval(scores, human, bootstrap=3)
    assert pearson.interval is not None
    assert kendall.interval is None
    assert kendall.value == pytest.approx(kendalltau(scores, human).statistic)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"human": [1, np.nan, 3]}, InputError, "human, item 1: nan is no score"),
        ({"human": [1, 2, np.inf]}, InputError, "human, item 2"),
        ({"scores": [1, -np.inf, 2]}, InputError, "scores, item 1: -inf"),
        ({"scores": [np.nan] * 3}, InputError, "none of the 3 segments has a score"),
        ({"scores": [2, 2, 2]}, InputError, "the scores of the 3 segments are all the same"),
        ({"human": [2, 2, 2]}, InputError, "the human scores of the 3 segments are all the same"),
        ({"human": [1, 2]}, ShapeError, r"\(3,\) and human scores \(2,\)"),
        ({"scores": [], "human": []}, InputError, "no segments"),
        ({"groups": ["a", "b"]}, ShapeError, "2 groups for 3 segments"),
        ({"groups": ["a", "a", ""]}, InputError, "groups, item 2"),
        ({"groups": ["a", "a", "b"]}, InputError, "group b: nothing to correlate"),
        ({"bootstrap": -1}, ConfigError, "bootstrap"),
    ],
)
def test_what_cannot_be_correlated_is_a_clear_error(arguments: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        rfeval(**{"scores": [1, 2, 3], "human": [1, 3, 2], **arguments})


def test_two_segments_are_enough_even_if_resamples_are_not() -> None:
    """Half of the resamples draw one segment twice and have no correlation."""
    for result in rfeval([1, 2], [3, 4], bootstrap=50):
        assert (result.value, result.interval) == (pytest.approx(1), pytest.approx((1, 1)))
