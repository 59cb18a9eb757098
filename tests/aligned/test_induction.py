"""Dictionaries: several translations, forms in other case, kinds of words left out."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligned import Aligned
from isoglot.aligners import Identity
from isoglot.errors import ConfigError
from isoglot.spaces import Space


def pair(src_words, src_vectors, tgt_words, tgt_vectors):
    src, tgt = (
        Space("aa", src_words, np.array(src_vectors, float)),
        Space("bb", tgt_words, np.array(tgt_vectors, float)),
    )
    return Aligned.pair(Identity(normalise="unit").fit(src, tgt), src, tgt)


def plane(*degrees):
    return [[np.cos(np.radians(a)), np.sin(np.radians(a))] for a in degrees]


def test_several_translations_in_order():
    aligned = pair(["x", "y"], plane(0, 90), ["a", "b", "c"], plane(5, 20, 80))
    induced = aligned.lexicon(k=2, score="cosine")
    assert induced.pairs == (("x", "a"), ("x", "b"), ("y", "c"), ("y", "b"))
    assert [one.mutual for one in induced.entries] == [True, True, True, False]
    scores = [one.score for one in induced.entries[:2]]
    assert scores == sorted(scores, reverse=True)
    assert aligned.lexicon(k=2, score="cosine", mutual=True).pairs == (("x", "a"), ("x", "b"), ("y", "c"))
    with pytest.raises(ConfigError, match="at least 1"):
        aligned.lexicon(k=0)


def test_the_form_that_the_language_uses_most():
    # `Formé` lies nearest, yet `formé` is more frequent; `Haus` is more frequent than `haus`.
    words = ["formé", "Haus", "Formé", "haus"]
    aligned = pair(["coached", "house"], plane(0, 90), words, plane(8, 80, 2, 88))
    assert aligned.lexicon(score="cosine").pairs == (("coached", "formé"), ("house", "Haus"))
    assert aligned.lexicon(score="cosine", k=2).by_source["coached"] == ("formé", "Haus")
    kept = aligned.lexicon(score="cosine", merge_case=False)
    assert kept.pairs == (("coached", "Formé"), ("house", "haus"))


def test_names_keep_their_capital():
    aligned = pair(["march", "Mars"], plane(0, 90), ["mars", "Mars"], plane(10, 80))
    assert aligned.lexicon(score="cosine").pairs == (("march", "mars"), ("Mars", "Mars"))


def test_forms_of_a_source_word_are_listed_once_unless_they_differ():
    words = ["the", "turkey", "The", "Turkey"]
    aligned = pair(words, plane(0, 60, 2, 120), ["le", "dinde", "Turquie"], plane(1, 61, 119))
    assert aligned.lexicon(score="cosine").pairs == (("the", "le"), ("turkey", "dinde"), ("Turkey", "Turquie"))
    assert len(aligned.lexicon(score="cosine", merge_case=False)) == 4


def test_kinds_of_words_are_left_out_on_request():
    words = ["cat", ",", "1984", "Paris", "3.5%"]
    aligned = pair(words, plane(0, 40, 80, 120, 160), ["chat", ";", "1984", "Paris"], plane(12, 1, 80, 120))
    assert aligned.lexicon(score="cosine").pairs[0] == ("cat", ";")
    without = aligned.lexicon(score="cosine", skip=["punctuation", "numerals"])
    assert without.pairs == (("cat", "chat"), ("Paris", "Paris"))
    assert "Paris" not in aligned.lexicon(score="cosine", skip="names").by_source
    with pytest.raises(ConfigError, match="did you mean 'names'"):
        aligned.lexicon(skip="name")
    with pytest.raises(ConfigError, match="twice"):
        aligned.lexicon(skip=["names", "names"])


def test_words_that_no_file_can_hold_are_left_out(tmp_path):
    aligned = pair(["x", "\ufeff"], plane(0, 90), ["\ufeff", "a"], plane(1, 20))
    induced = aligned.lexicon(score="cosine")
    assert induced.pairs == (("x", "a"),)
    for ending in ("tsv", "csv", "ifo", "tmx"):
        induced.save(tmp_path / f"d.{ending}")


def test_few_words_are_asked_as_all_are():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(80)]
    aligned = pair(words, rng.normal(size=(80, 6)), words, rng.normal(size=(80, 6)))
    whole, few = aligned.lexicon(k=3), aligned.lexicon(k=3, limit=10)
    assert few.pairs == whole.pairs[:30]
    for one, other in zip(few.entries, whole.entries[:30], strict=True):
        assert one.mutual == other.mutual
        assert (one.score, one.confidence) == pytest.approx((other.score, other.confidence), abs=1e-5)
