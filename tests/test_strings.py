"""A string is one word, or an error: never a list of letters."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.aligned import Aligned, translate
from isoglot.aligners import aligner
from isoglot.errors import InputError, IsoglotError
from isoglot.lexicons import Lexicon
from isoglot.pipelines import contenders
from isoglot.spaces import Space
from isoglot.tasks import content_words
from isoglot.text import ParallelText
from isoglot.wordalign import statistical_align


@pytest.fixture(scope="module")
def aligned():
    vectors = np.random.default_rng(0).normal(size=(30, 5))
    src, tgt = (Space(lang, [f"{lang}{i}" for i in range(26)] + list("word"), vectors) for lang in ("aa", "bb"))
    return Aligned.pair(aligner("procrustes").fit(src, tgt, [[i, i] for i in range(30)]), src, tgt)


def test_a_string_is_one_word(aligned):
    (answer,) = translate(aligned, "aa3", k=1)
    assert (answer.word, answer.candidates[0][0]) == ("aa3", "bb3")
    (unknown,) = translate(aligned, "word")
    assert not unknown.known
    assert aligned.spaces["aa"].rows("aa3").tolist() == [3]
    assert aligned.spaces["aa"].rows("word").tolist() == [-1]
    assert [one.method for one in contenders("procrustes")] == ["procrustes"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: Space("aa", "word", np.eye(4)),
        lambda: ParallelText("en", "fr", "a cat", "un cha"),
        lambda: statistical_align("abc", "xyz"),
        lambda: statistical_align(["a cat"], ["un chat"]),
        lambda: content_words("a cat"),
        lambda: Lexicon("ab"),
        lambda: Lexicon(["ab"]),
    ],
)
def test_a_string_is_no_list(call):
    with pytest.raises((InputError, IsoglotError), match=r"list|two words|is a string"):
        call()
