"""What the results of every task keep, whatever it measures."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from isoglot.lexicons import Lexicon
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space, occurrence_name
from isoglot.tasks import Results, WordPair, bli, cbli, rfeval, similarity, tasks, tatoeba, word_alignment
from isoglot.wordalign import WordLinks

Task = Callable[[int, int], Results]


def vectors(seed: int, n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 8)) + 0.6
    return X, X + random.standard_normal((n, 8))


def run_bli(bootstrap: int, seed: int) -> Results:
    pair = simulate_pair(150, 10, 0.8, 0)
    src = pair.src.with_vectors(pair.src.vectors @ pair.rotation)
    lexicon = Lexicon([*pair.lexicon.pairs, ("unknown", "unbekannt")], "a", "b")
    return bli(src, pair.tgt, lexicon, bootstrap=bootstrap, seed=seed)


def run_tatoeba(bootstrap: int, seed: int) -> Results:
    return tatoeba(*vectors(1), score="margin", bootstrap=bootstrap, seed=seed)


def run_cbli(bootstrap: int, seed: int) -> Results:
    X, Y = vectors(2)
    names = [occurrence_name(f"w{i % 30}", i, 0) for i in range(len(X))]
    pairs = np.column_stack([np.arange(len(X))] * 2)
    return cbli(Space("a", names, X), Space("b", names, Y), pairs, limit=60, bootstrap=bootstrap, seed=seed)


def run_word_alignment(bootstrap: int, seed: int) -> Results:
    random = np.random.default_rng(3)
    found, gold = [], []
    for _ in range(50):
        links = {(int(i), int(j)) for i, j in random.integers(0, 6, (9, 2))}
        gold.append(WordLinks(frozenset(sorted(links)[:5]), frozenset(sorted(links)[5:])))
        # One to four right links, and up to two wrong ones.
        right = random.permutation(sorted(links))[: random.integers(1, 5)].tolist()
        wrong = [(9, j) for j in range(random.integers(0, 3))]
        found.append(WordLinks(frozenset((i, j) for i, j in [*right, *wrong])))
    return word_alignment(found, gold, bootstrap=bootstrap, seed=seed)


def run_rfeval(bootstrap: int, seed: int) -> Results:
    random = np.random.default_rng(4)
    human = random.standard_normal(120)
    scores = human + random.standard_normal(120)
    scores[5] = np.nan
    return rfeval(scores, human, groups=["cs-en", "de-en"] * 60, bootstrap=bootstrap, seed=seed)


def run_similarity(bootstrap: int, seed: int) -> Results:
    X, Y = vectors(5)
    words = [f"w{i}" for i in range(len(X))]
    cosines = (X * Y).sum(axis=1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1)
    noise = np.random.default_rng(6).standard_normal(len(X)) / 5
    pairs = [WordPair(word, word, float(score)) for word, score in zip(words, cosines + noise, strict=True)]
    spaces = Space("a", words[:-5], X[:-5]), Space("b", words, Y)
    return similarity(pairs, *spaces, bootstrap=bootstrap, seed=seed)


#: Every task, with its primary figure.
TASKS: dict[str, tuple[Task, str]] = {
    "bli": (run_bli, "P@1"),
    "cbli": (run_cbli, "P@1 word"),
    "rfeval": (run_rfeval, "Pearson"),
    "similarity": (run_similarity, "harmonic"),
    "tatoeba": (run_tatoeba, "P@1"),
    "word_alignment": (run_word_alignment, "F1"),
}
#: Figures that are no means of what single items add: sums are divided after they were taken.
NO_MEANS = {"word_alignment"}


@pytest.fixture(params=TASKS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_task_is_held_to_the_contract() -> None:
    assert set(tasks()) == set(TASKS)
    assert all(one.summary for one in tasks().values())


def test_a_result_says_what_it_is(name: str) -> None:
    run, primary = TASKS[name]
    results = run(300, 0)
    assert type(results) is Results
    assert results[0].metric == primary
    assert results[primary] == results[0].value
    assert {result.task for result in results} == {name}
    keys = [(result.metric, result.protocol.get("denominator")) for result in results]
    assert len(set(keys)) == len(keys)
    for result in results:
        assert result.n == len(result.per_item) > 1
        assert 0 < result.coverage <= 1
        assert type(result.value) is float
        assert -1 <= result.value <= 1
        assert result.protocol["bootstrap"] == 300
        assert result.protocol["seed"] == 0
        values = [item["value"] for item in result.per_item]
        # A case in which all items are alike would show nothing.
        assert len(set(values)) > 1
        if name not in NO_MEANS:
            assert np.mean(values) == pytest.approx(result.value)


def test_the_value_lies_within_its_interval(name: str) -> None:
    run, _ = TASKS[name]
    for result in run(300, 0):
        assert result.interval is not None
        low, high = result.interval
        assert low < result.value < high
        assert type(low) is type(high) is float
    assert all(result.interval is None for result in run(0, 0))


def test_results_are_plain_data(name: str) -> None:
    run, _ = TASKS[name]
    for result in run(20, 0):
        record = result.record(per_item=True)
        text = json.dumps(record, allow_nan=False)
        assert json.loads(text)["value"] == result.value
        assert len(json.loads(text)["per_item"]) == result.n


def test_seeds_repeat(name: str) -> None:
    run, _ = TASKS[name]
    first, again, other = run(100, 7), run(100, 7), run(100, 8)
    assert first == again
    assert [result.interval for result in first] != [result.interval for result in other]
