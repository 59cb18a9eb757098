"""`auto`: what it compares, how it chooses, and that the choice learns from all pairs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from isoglot.aligners import Auto, Procrustes, aligner, read_settings
from isoglot.aligners.auto import auto, trials
from isoglot.aligners.auto.candidates import Candidate, Given, nominate
from isoglot.errors import ConfigError
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space
from isoglot.testing import planted_rotation, precision


@pytest.fixture(scope="module")
def languages() -> tuple[Space, Space, np.ndarray, np.ndarray]:
    """Two noisy languages, pairs of 200 words to learn from and of 200 others to test."""
    pair = simulate_pair(n_words=1200, dim=24, noise=0.9, seed=5, synonyms=0.0)
    pairs = pair.lexicon.indices(pair.src, pair.tgt)
    rows = np.random.default_rng(0).permutation(len(pairs))
    return pair.src, pair.tgt, pairs[rows[:200]], pairs[rows[200:400]]


@pytest.fixture(scope="module")
def fitted(languages):
    src, tgt, pairs, _ = languages
    return Auto(effort="quick").fit(src, tgt, pairs)


def tried(record: Any) -> dict[str, float]:
    return {one["label"].partition(",")[0]: one["p_at_1"] for one in record["tried"] if "p_at_1" in one}


def test_it_takes_one_that_no_other_clearly_beats(fitted):
    figures = tried(fitted.info["auto"])
    assert set(figures) == {"contrastive", "procrustes", "least-squares"}
    assert fitted.info["auto"]["p_at_1"] >= max(figures.values()) - 0.05
    assert len(set(figures.values())) > 1


def test_a_method_that_is_clearly_better_wins_over_the_usual_one(monkeypatch, languages):
    src, tgt, pairs, _ = languages

    class Useless(Procrustes):
        def _fit(self, problem):
            found = super()._fit(problem)
            return dataclasses.replace(found, W_src=-found.W_src)

    usual, other = Candidate(Useless(seed=7)), Candidate(Procrustes())
    monkeypatch.setattr(auto, "nominate", lambda *_, **__: [usual, other])
    record = Auto().fit(src, tgt, pairs).info["auto"]
    assert record["tried"][0]["p_at_1"] < 0.05
    assert record["p_at_1"] == record["tried"][1]["p_at_1"] > 0.3
    assert record["why"] == "it translates most held-out words rightly"


def test_what_it_chose_has_learned_from_all_pairs(languages, fitted):
    src, tgt, pairs, _ = languages
    pinned = Auto().chosen(fitted.info["auto"]).fit(src, tgt, pairs)
    np.testing.assert_array_equal(fitted.transform(src.vectors), pinned.transform(src.vectors))
    np.testing.assert_array_equal(fitted.transform(tgt.vectors, "tgt"), pinned.transform(tgt.vectors, "tgt"))
    assert fitted.info["pairs"] == fitted.info["auto"]["given"]["pairs"] == 200


def test_its_figure_holds_on_other_words(languages, fitted):
    src, tgt, _, unseen = languages
    record = fitted.info["auto"]
    # Maps of all pairs are a little better than those of a part.
    assert record["interval"][0] - 0.03 < precision(fitted, src, tgt, unseen) < record["interval"][1] + 0.1


def test_no_word_is_on_both_sides(monkeypatch):
    src, tgt, pairs = planted_rotation(90)
    # Three translations a word.
    pairs = np.stack([np.repeat(np.arange(30), 3), pairs[:, 1]], axis=1)
    learned: list[set[int]] = []

    class Watched(Procrustes):
        def _fit(self, problem):
            learned.append(set(problem.pairs[:, 0].tolist()))
            return super()._fit(problem)

    asked: list[set[int]] = []
    rank = trials.ranked_by_csls

    def watch(X, Y, kept, *rest, **more):
        asked.append(set(kept[:, 0].tolist()))
        return rank(X, Y, kept, *rest, **more)

    monkeypatch.setattr(trials, "ranked_by_csls", watch)
    monkeypatch.setattr(auto, "nominate", lambda *_, **__: [Candidate(Watched())])
    Auto().fit(src, tgt, pairs)
    assert len(learned) == 4  # three parts, and all
    assert all(not seen & held for seen, held in zip(learned, asked, strict=False))
    assert set().union(*asked) == learned[3] == set(range(30))


def test_repeated_pairs_count_once(languages, fitted):
    src, tgt, pairs, _ = languages
    twice = Auto(effort="quick").fit(src, tgt, np.concatenate([pairs, pairs]))
    assert twice.info["auto"]["given"]["repeated_pairs"] == 200
    np.testing.assert_array_equal(twice.transform(src.vectors), fitted.transform(src.vectors))


def test_too_few_pairs_to_compare_are_told():
    src, tgt, pairs = planted_rotation(200)
    record = Auto(effort="quick").fit(src, tgt, pairs[:4]).info["auto"]
    assert "p_at_1" not in record
    assert record["why"] == "4 source words are too few to compare methods on; this one is best elsewhere"
    assert "p_at_1" in Auto(effort="quick").fit(src, tgt, pairs[:12]).info["auto"]


@pytest.mark.parametrize("wrong", [0.1, 0.3])
def test_wrong_pairs_do_little_harm(languages, wrong):
    src, tgt, pairs, unseen = languages
    noisy = pairs.copy()
    bad = np.random.default_rng(1).choice(len(noisy), round(wrong * len(noisy)), replace=False)
    noisy[bad, 1] = np.roll(noisy[bad, 1], 1)
    clean, spoilt = (precision(Auto(effort="quick").fit(src, tgt, p), src, tgt, unseen) for p in (pairs, noisy))
    assert spoilt > clean - 0.15
    assert clean > 0.4


def given(**more: Any) -> Given:
    facts = {"pairs": np.zeros((0, 2), dtype=np.int64), "repeated": 0, "sources": 1000, "sizes": (20_000, 20_000)}
    return Given(**{**facts, "dim": 300, "spelled": True, **more})


def labels(effort: str, **more: Any) -> list[str]:
    return [one.label for one in nominate(given(**more), effort)]


def test_what_is_compared_depends_on_effort_and_data():
    closed = ["procrustes", "least-squares"]
    assert labels("quick") == ["contrastive,cutoff=6000", *closed]
    assert labels("normal") == ["contrastive", *closed]
    assert labels("normal", sources=100) == ["contrastive,start=cognates", "contrastive", *closed]
    assert labels("best") == ["contrastive", "contrastive,start=cognates", *closed]
    assert labels("best", spelled=False) == ["contrastive", *closed]


def test_more_effort_is_estimated_to_take_longer(monkeypatch):
    monkeypatch.setattr("isoglot.aligners.auto.estimate._seconds_of_a_product", lambda dim: 4e-9)  # two cores
    quick, normal, best = (Auto(effort=e).estimate((200_000, 200_000), 300, 5000) for e in ("quick", "normal", "best"))
    assert 160 < quick < normal < best  # a search of all words, both ways, takes 160 alone
    small = [Auto(effort=e).estimate((20_000, 20_000), 300, 5000) for e in ("quick", "normal", "best")]
    assert small[0] < 20 < small[1] < 120 < small[2]
    assert Auto().estimate((1000, 1000), 300, 5000) < 2


def test_a_start_that_fails_is_left_out_with_its_reason():
    rng = np.random.default_rng(0)
    src = Space("aa", ["".join(rng.choice(list("abcd"), 6)) + str(i) for i in range(300)], rng.normal(size=(300, 20)))
    tgt = Space("bb", ["".join(rng.choice(list("wxyz"), 6)) + str(i) for i in range(300)], rng.normal(size=(300, 20)))
    record = Auto().fit(src, tgt, [[i, i] for i in range(15)]).info["auto"]
    assert record["tried"][0] == {
        "label": "contrastive,start=cognates",
        "pin": "-m contrastive --set start=cognates",
        "left_out": "cognates finds no start",
    }
    assert record["method"] != "auto"


def test_the_pin_names_the_same_aligner():
    for one in nominate(given(), "best", seed=3, normalise="unit"):
        _, name, *assignments = one.pin.split()
        assert aligner(name, seed=3, **read_settings(name, [a for a in assignments if a != "--set"])) == one.aligner


def test_matrices_are_not_compared_by_spelling():
    src, tgt, pairs = planted_rotation(100, 40)
    assert tried(Auto().fit(src.vectors, tgt.vectors, pairs[:20]).info["auto"]).keys() == {
        "contrastive",
        "procrustes",
        "least-squares",
    }


def test_an_unknown_effort_is_refused():
    with pytest.raises(ConfigError, match="unknown effort 'slow'"):
        Auto(effort="slow")
