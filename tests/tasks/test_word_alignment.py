"""F1 and AER: worked by hand, and against loops over single links."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.tasks import Result, paired_test, word_alignment
from isoglot.wordalign import WordLinks

links = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)))
sentences = st.lists(st.tuples(links, links, links), min_size=1, max_size=8)


def figures(results: list[Result]) -> dict[str, float]:
    return {result.metric: result.value for result in results}


def worked() -> tuple[list[WordLinks], list[WordLinks]]:
    """|A| = 3 + 1, |S| = 2 + 3, |A & S| = 1 + 1, |A & P| = 2 + 1."""
    predicted = [WordLinks(frozenset({(0, 0), (1, 2), (2, 3)})), WordLinks(frozenset({(0, 1)}))]
    gold = [
        WordLinks(frozenset({(0, 0), (1, 1)}), frozenset({(1, 2), (5, 5)})),
        WordLinks(frozenset({(0, 1), (1, 0), (2, 2)})),
    ]
    return predicted, gold


def test_a_case_worked_by_hand() -> None:
    results = word_alignment(*worked(), bootstrap=0)
    assert [result.metric for result in results] == ["F1", "precision", "recall", "AER"]
    precision, recall = 3 / 4, 2 / 5
    assert figures(results) == {
        "F1": pytest.approx(2 * precision * recall / (precision + recall)),
        "precision": precision,
        "recall": recall,
        "AER": pytest.approx(1 - (2 + 3) / (4 + 5)),
    }
    assert results[0].per_item[0] == {
        "index": 0,
        "found": 3,
        "sure": 2,
        "possible": 4,
        "found_sure": 1,
        "found_possible": 2,
        "value": pytest.approx(2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2)),
    }
    assert results[3].per_item[1]["value"] == pytest.approx(1 - 2 / 4)
    # Sums before ratios: the mean over sentences is another number.
    assert np.mean([item["value"] for item in results[0].per_item]) != pytest.approx(results[0].value, abs=0.01)


def test_an_aligners_own_possible_links_count_as_found() -> None:
    gold = [WordLinks(frozenset({(0, 0), (1, 1)}))]
    found = [WordLinks(frozenset({(0, 0)}), frozenset({(1, 1), (2, 2)}))]
    assert figures(word_alignment(found, gold, bootstrap=0)) == {
        "F1": pytest.approx(0.8),
        "precision": pytest.approx(2 / 3),
        "recall": 1.0,
        "AER": pytest.approx(0.2),
    }


@given(sentences, st.randoms(use_true_random=False))
def test_against_loops_over_links_in_any_order(data, random) -> None:  # type: ignore[no-untyped-def]
    if not any(sure for _, sure, _ in data):
        data[0] = (data[0][0], frozenset({(0, 0)}), data[0][2])
    found_n = sure_n = found_sure = found_possible = 0
    for found, sure, possible in data:
        for link in found:
            found_n += 1
            found_sure += link in sure
            found_possible += link in sure or link in possible
        for _ in sure:
            sure_n += 1
    precision = found_possible / found_n if found_n else 1.0
    recall = found_sure / sure_n
    random.shuffle(data)
    results = word_alignment([WordLinks(a) for a, _, _ in data], [WordLinks(s, p) for _, s, p in data], bootstrap=0)
    assert figures(results) == pytest.approx(
        {
            "F1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
            "precision": precision,
            "recall": recall,
            "AER": 1 - (found_sure + found_possible) / (found_n + sure_n),
        }
    )
    assert all(0 <= item["value"] <= 1 for result in results for item in result.per_item)


@given(sentences)
def test_the_gold_itself_is_perfect(data) -> None:  # type: ignore[no-untyped-def]
    gold = [WordLinks(sure | {(9, 9)}, possible) for _, sure, possible in data]
    sure_only = [WordLinks(links.sure) for links in gold]
    for predicted in (gold, sure_only):
        assert figures(word_alignment(predicted, gold, bootstrap=0)) == {
            "F1": 1.0,
            "precision": 1.0,
            "recall": 1.0,
            "AER": 0.0,
        }


def test_finding_nothing_is_worth_nothing() -> None:
    gold = [WordLinks(frozenset({(0, 0)})), WordLinks()]
    results = word_alignment([WordLinks(), WordLinks()], gold, bootstrap=50)
    assert figures(results) == {"F1": 0.0, "precision": 1.0, "recall": 0.0, "AER": 1.0}
    # In the second sentence nothing was asked, and nothing is right.
    assert [item["value"] for item in results[0].per_item] == [0.0, 1.0]


def test_the_bootstrap_resamples_sums_not_ratios() -> None:
    """One sentence of a hundred links, all right, and a hundred of one, all wrong: recall one half."""
    long = frozenset((i, i) for i in range(100))
    gold = [WordLinks(long)] + [WordLinks(frozenset({(0, 0)}))] * 100
    found = [WordLinks(long)] + [WordLinks(frozenset({(0, 1)}))] * 100
    recall = word_alignment(found, gold, bootstrap=1000, seed=1)[2]
    assert recall.value == 0.5
    assert recall.interval is not None
    # The long sentence is drawn 0 times in a third of the resamples, 3 times in a sixteenth.
    assert recall.interval[0] == 0.0
    assert 0.7 < recall.interval[1] < 0.85
    # Many alike sentences: the interval of a share p of n has the width of the normal law.
    random = np.random.default_rng(0)
    right = random.random(400) < 0.6
    many = word_alignment(
        [WordLinks(frozenset({(0, int(not hit))})) for hit in right], [WordLinks(frozenset({(0, 0)}))] * 400
    )[2]
    p = right.mean()
    assert many.interval == pytest.approx(
        (p - 1.96 * np.sqrt(p * (1 - p) / 400), p + 1.96 * np.sqrt(p * (1 - p) / 400)), abs=0.01
    )


def test_systems_can_be_compared_sentence_by_sentence() -> None:
    predicted, gold = worked()
    test = paired_test(
        word_alignment(gold, gold, bootstrap=0)[0], word_alignment(predicted, gold, bootstrap=0)[0], key="index"
    )
    assert (test.wins, test.losses, test.n) == (2, 0, 2)


def test_what_cannot_be_evaluated_is_a_clear_error() -> None:
    some = WordLinks(frozenset({(0, 0)}))
    with pytest.raises(ShapeError, match="links of 1 sentences were found, but there is gold for 2"):
        word_alignment([some], [some, some])
    with pytest.raises(InputError, match="no sure links"):
        word_alignment([some], [WordLinks(frozenset(), frozenset({(0, 0)}))])
    with pytest.raises(InputError, match="no sure links"):
        word_alignment([], [])
    with pytest.raises(ConfigError, match="bootstrap"):
        word_alignment([some], [some], bootstrap=-1)
