"""Without pairs: starts in turn until one works, and a plain word when none does."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligners import Portfolio, Problem, align_without_pairs, verdict
from isoglot.aligners.self_learning import portfolio
from isoglot.aligners.verdict import Verdict
from isoglot.errors import ConfigError
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space
from isoglot.tasks import bli


def precision(alignment, pair):
    spaces = alignment.transform(pair.src, "src"), alignment.transform(pair.tgt, "tgt")
    return bli(*spaces, pair.lexicon, ks=(1,), bootstrap=0)["P@1"]


@pytest.fixture(autouse=True, scope="module")
def short_comparison():
    """With chance: most of the time of a small fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "CHANCE_RUNS", 1)
        patch.setattr(verdict, "ROUNDS", 6)
        yield


@pytest.fixture(scope="module")
def languages():
    return simulate_pair(500, 25, 0.4, 0, identical=0.3)


@pytest.fixture(scope="module")
def found(languages):
    return align_without_pairs(languages.src, languages.tgt, effort="quick")


def test_the_first_start_that_works_is_taken_and_the_others_are_not_tried(languages, found):
    assert found.info["aligned"]
    assert "warning" not in found.info
    assert precision(found, languages) > 0.8
    tried = found.info["tried"]
    assert [one["start"] for one in tried] == ["as-is", "spelling"]
    assert [one["aligned"] for one in tried] == [False, True]
    assert found.info["start"] == "spelling"


def test_the_precision_to_expect_is_told(languages, found):
    expected = found.info["expected_p1"]
    assert expected["low"] <= precision(found, languages) <= expected["high"]


def test_spaces_that_share_one_already_need_no_search(languages):
    rng = np.random.default_rng(0)
    X = languages.src.vectors
    near = X + 0.2 * X.std() * rng.normal(size=X.shape).astype(np.float32)
    alignment = Portfolio(effort="quick", tune=False).fit(X, near)
    assert alignment.info["start"] == "as-is"
    A, B = alignment.transform(X), alignment.transform(near, "tgt")
    assert np.mean((A @ B.T).argmax(axis=1) == np.arange(len(A))) > 0.9


def test_when_nothing_works_it_says_what_was_tried_and_what_would_help():
    rng = np.random.default_rng(0)
    one, other = (Space(lang, [f"{lang}{i}" for i in range(300)], rng.normal(size=(300, 20))) for lang in ("aa", "bb"))
    alignment = Portfolio(effort="normal").fit(one, other)
    assert alignment.info["aligned"] is False
    warning = alignment.info["warning"]
    assert warning.startswith("not aligned: ")
    for name in portfolio.EFFORTS["normal"]:
        assert name in warning
    assert "pairs would help" in warning
    reasons = {one["start"]: one.get("reason") for one in alignment.info["tried"]}
    assert reasons["identical"] == "0 pairs to start from"
    assert alignment.transform(one, "src").vectors.shape == (300, 20)


def test_starts_that_need_words_are_left_out_of_matrices(languages):
    alignment = Portfolio(effort="quick", tune=False).fit(languages.src.vectors, languages.tgt.vectors)
    first = {one["start"]: one for one in alignment.info["tried"]}
    assert "matrices have none" in first["spelling"]["reason"]


def test_a_start_that_was_partly_right_lends_its_translations_to_the_next(languages, monkeypatch):
    rows = languages.lexicon.indices(languages.src, languages.tgt)
    starts = {"as-is": rows[:60], "spelling": np.stack([np.arange(20), np.arange(20)[::-1]], axis=1)}
    monkeypatch.setattr(portfolio, "STARTS", {name: lambda problem, seed, p=p: p for name, p in starts.items()})
    monkeypatch.setitem(portfolio.EFFORTS, "quick", tuple(starts))
    seen = []
    verdicts = iter([Verdict(False, "nearly", 0.4, evidence=0.2), Verdict(True, "yes", 0.4, evidence=0.9)])
    monkeypatch.setattr(portfolio.Chance, "judged", lambda self, there, back: next(verdicts))
    original = portfolio.procrustes
    monkeypatch.setattr(portfolio, "procrustes", lambda X, Y: seen.append(len(X)) or original(X, Y))
    alignment = Portfolio(effort="quick", tune=False).fit(languages.src, languages.tgt)
    assert seen[0] == 60
    assert seen[1] > 20 + 100
    assert alignment.info["start"] == "spelling"
    assert precision(alignment, languages) > 0.8  # the second start alone holds nothing that is right


def test_an_effort_is_one_of_three():
    with pytest.raises(ConfigError, match="effort"):
        Portfolio(effort="heroic")


def test_every_start_gives_pairs_of_rows(languages):
    rng = np.random.default_rng(0)
    unit = [
        space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True) for space in (languages.src, languages.tgt)
    ]
    words = (languages.src.words, languages.tgt.words)
    given = Problem(*unit, np.zeros((0, 2), dtype=np.int64), rng, words=words)
    for name in portfolio.STARTS:
        if name == "adversarial":
            continue  # tested with muse
        pairs = portfolio.STARTS[name](given, 0)
        assert pairs.shape[1] == 2
        assert len(pairs) >= portfolio.LEAST
        assert (pairs >= 0).all()
        assert (pairs < 500).all()
