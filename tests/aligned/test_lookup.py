"""Queries: phrases, near spellings, words of the other language."""

from __future__ import annotations

import numpy as np

from isoglot.aligned import Aligned
from isoglot.aligners import Identity
from isoglot.spaces import Space


def pair(src_words, tgt_words, dim=6, src_counts=None):
    """Word i of one side translates word i of the other."""
    vectors = np.eye(max(len(src_words), len(tgt_words)), dim)
    src = Space("en", src_words, vectors[: len(src_words)], counts=src_counts)
    tgt = Space("fr", tgt_words, vectors[: len(tgt_words)])
    return Aligned.pair(Identity(normalise="none").fit(src, tgt), src, tgt)


def test_a_phrase_is_the_sum_of_its_words():
    aligned = pair(["red", "house", "of", "cat"], ["rouge", "maison", "de", "chat"])
    answer = aligned.translate("red House", k=2, score="cosine")
    assert answer.known
    assert {word for word, _ in answer} == {"rouge", "maison"}
    # The rarer of two words counts more.
    assert answer.best == "maison"
    assert answer.word_by_word == "rouge maison"
    assert [part.word for part in answer.parts] == ["red", "House"]
    assert "word by word: rouge maison" in repr(answer)
    partly = aligned.translate("red zzz", k=1, score="cosine")
    assert (partly.best, partly.word_by_word) == ("rouge", "rouge zzz")
    nothing = aligned.translate("yyy zzz", k=1)
    assert not nothing.known
    assert not nothing.candidates


def test_a_phrase_that_is_a_word_is_looked_up():
    aligned = pair(["ice_cream", "ice", "cream", "e-mail"], ["glace", "gel", "crème", "courriel"])
    answers = aligned.translate(["ice cream", "Ice  Cream", "e mail"], k=1, score="cosine")
    assert [answer.best for answer in answers] == ["glace", "glace", "courriel"]
    assert [answer.form for answer in answers] == ["ice_cream", "ice_cream", "e-mail"]
    assert not any(answer.parts for answer in answers)


def test_unknown_words_get_advice():
    aligned = pair(["music", "cat"], ["musique", "maison"])
    typo, foreign, nonsense = aligned.translate(["musci", "maison", "qqq"], k=1)
    assert (typo.known, typo.near, typo.language) == (False, ("music",), None)
    assert (foreign.known, foreign.language) == (False, "fr")
    assert (nonsense.near, nonsense.language) == ((), None)
    assert "did you mean 'music'?" in repr(typo)
    assert "'fr'" in repr(foreign)


def test_a_word_far_more_frequent_in_the_other_language_is_noticed():
    english = [f"w{i}" for i in range(3000)] + ["maison", "table"]
    french = ["maison", "table"] + [f"v{i}" for i in range(500)]
    for counts in (None, np.arange(len(english), 0, -1)):
        aligned = pair(english, french, src_counts=counts)
        house, first = aligned.translate(["maison", "w5"], k=1)
        assert house.known
        assert (house.language, first.language) == ("fr", None)
    assert aligned.translate("table", source="fr", k=1).language is None
