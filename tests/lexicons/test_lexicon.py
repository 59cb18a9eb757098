"""What a Lexicon says about itself and about two spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from isoglot.errors import LexiconError
from isoglot.lexicons import Lexicon, frequency_ranks, identical_strings, numerals
from isoglot.spaces import Space


def space(lang: str, words: list[str], counts: list[int] | None = None) -> Space:
    return Space(lang, words, np.eye(len(words)), None if counts is None else np.array(counts))


EN = space("en", ["the", "cat", "dog", "taxi", "1984"])
FR = space("fr", ["le", "la", "chat", "taxi", "1984"])
LEXICON = Lexicon(
    [("the", "le"), ("the", "la"), ("cat", "chat"), ("cat", "minou"), ("dog", "chien"), ("bird", "oiseau")],
    "en",
    "fr",
)


def test_pairs_are_distinct_and_keep_their_order() -> None:
    lexicon = Lexicon([("b", "x"), ("a", "y"), ("b", "x"), ("b", "w")])
    assert lexicon.pairs == (("b", "x"), ("a", "y"), ("b", "w"))
    assert lexicon.by_source == {"b": ("x", "w"), "a": ("y",)}
    assert ("b", "w") in lexicon
    assert ("b", "y") not in lexicon
    assert list(lexicon) == list(lexicon.pairs)


@pytest.mark.parametrize("pair", [("a", ""), ("a",), ("a", "b", "c"), "ab", ("a", 3)])
def test_what_is_no_pair_is_refused(pair: object) -> None:
    with pytest.raises(LexiconError, match="two words"):
        Lexicon([pair])  # type: ignore[list-item]


def test_indices_restrict_and_coverage_agree() -> None:
    indices = LEXICON.indices(EN, FR)
    assert indices.dtype == np.int64
    assert indices.tolist() == [[0, 0], [0, 1], [1, 2]]
    assert [(EN.words[i], FR.words[j]) for i, j in indices] == list(LEXICON.restrict(EN, FR))
    assert len(LEXICON.restrict(EN)) == 5
    assert len(LEXICON.restrict(None, FR)) == 3
    coverage = LEXICON.coverage(EN, FR)
    assert (coverage.pairs, coverage.pairs_found, coverage.sources, coverage.sources_found) == (6, 3, 4, 2)
    assert coverage.missing_source_examples == ("bird",)
    assert coverage.missing_target_examples == ("minou", "chien", "oiseau")
    assert coverage.source_share == 0.5
    assert coverage.notes()[-1] == "3 target words are missing: minou, chien, oiseau"


def test_nothing_in_common_gives_no_indices() -> None:
    indices = Lexicon([("x", "y")]).indices(EN, FR)
    assert indices.shape == (0, 2)
    assert Lexicon([]).coverage(EN, FR).pair_share == 0


def test_fold_case_joins_pairs() -> None:
    lexicon = Lexicon([("Die", "The"), ("die", "the"), ("Hund", "dog")])
    assert lexicon.fold_case().pairs == (("die", "the"), ("hund", "dog"))


def test_without_identical() -> None:
    assert Lexicon([("taxi", "taxi"), ("cat", "chat")]).without_identical().pairs == (("cat", "chat"),)


def test_split_goes_by_counts_not_rows() -> None:
    src = space("en", ["rare", "often", "mid"], [1, 100, 10])
    lexicon = Lexicon([("rare", "r"), ("mid", "m1"), ("often", "o"), ("mid", "m2"), ("unknown", "u")])
    train, test = lexicon.split(src, train=1, test=1)
    assert train.pairs == (("often", "o"),)
    assert test.pairs == (("mid", "m1"), ("mid", "m2"))
    train, test = lexicon.split(src, train=2, test=50)
    assert list(train.by_source) == ["often", "mid"]
    assert list(test.by_source) == ["rare"]


@pytest.mark.parametrize(("train", "test"), [(3, 1), (5000, 1500), (-1, 2)])
def test_split_refuses_an_empty_part(train: int, test: int) -> None:
    with pytest.raises(LexiconError):
        Lexicon([("the", "le"), ("cat", "chat"), ("dog", "chien")]).split(EN, train=train, test=test)


def test_split_without_training_part() -> None:
    train, test = LEXICON.split(EN, train=0, test=2)
    assert len(train) == 0
    assert list(test.by_source) == ["the", "cat"]


def test_identical_strings_and_numerals() -> None:
    assert identical_strings(EN, FR).pairs == (("taxi", "taxi"), ("1984", "1984"))
    assert identical_strings(EN, FR, min_length=5).pairs == ()
    assert numerals(EN, FR).pairs == (("1984", "1984"),)
    frequent_last = space("en", ["7", "12", "²", "12.5"], [1, 5, 9, 9])
    assert numerals(frequent_last, space("fa", ["۷", "12"])).pairs == (("12", "12"), ("7", "۷"))


words = st.text("abc", min_size=1, max_size=2)


@given(st.lists(st.tuples(words, words), max_size=30))
def test_inverting_twice_changes_nothing(pairs: list[tuple[str, str]]) -> None:
    lexicon = Lexicon(pairs, "en", "fr")
    assert lexicon.invert().invert() == lexicon
    assert hash(lexicon.invert().invert()) == hash(lexicon)
    assert sum(len(targets) for targets in lexicon.by_source.values()) == len(lexicon)


@given(st.lists(st.tuples(words, words), max_size=30), st.integers(0, 5), st.integers(0, 5), st.randoms())
def test_split_is_disjoint_and_ordered(pairs: list[tuple[str, str]], train: int, test: int, random: object) -> None:
    lexicon = Lexicon(pairs)
    vocabulary = sorted({source for source, _ in pairs} | {"zz"})
    random.shuffle(vocabulary)  # type: ignore[attr-defined]
    src = space("en", vocabulary)
    try:
        seeds, gold = lexicon.split(src, train=train, test=test)
    except LexiconError:
        assert len(lexicon.by_source) < train + 1 or not lexicon.by_source
        return
    chosen = [*seeds.by_source, *gold.by_source]
    assert chosen == [word for word in vocabulary if word in lexicon.by_source][: train + test]
    assert all(lexicon.by_source[word] == {**seeds.by_source, **gold.by_source}[word] for word in chosen)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_frequency_ranks_are_a_permutation_by_count(counts: list[int]) -> None:
    ranks = frequency_ranks(space("en", [f"w{i}" for i in range(len(counts))], counts))
    assert sorted(ranks) == list(range(len(counts)))
    assert [counts[i] for i in np.argsort(ranks)] == sorted(counts, reverse=True)


def test_how_a_lexicon_is_shown() -> None:
    lexicon = Lexicon([["<i>", "été"], *((f"s{i}", f"t{i}") for i in range(3000))], "en", "fr", source="en-fr.txt")
    assert repr(lexicon) == "Lexicon(en-fr, 3001 pairs, 3001 sources)"
    assert repr(Lexicon([("a", "b")])) == "Lexicon(1 pairs, 1 sources)"
    assert list(lexicon)[:2] == [("<i>", "été"), ("s0", "t0")]
    html = lexicon._repr_html_()
    assert len(html) < 500
    for part in ("Lexicon en-fr", "3,001 pairs", "en-fr.txt", "&lt;i&gt; → été, s0 → t0", "..."):
        assert part in html
    assert "<caption>Lexicon</caption>" in Lexicon([("a", "b")])._repr_html_()
