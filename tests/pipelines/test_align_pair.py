"""How a lexicon is divided: by frequency, whole words on one side, seeds counted in pairs."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.errors import LexiconError
from isoglot.lexicons import Lexicon, split_lexicon
from isoglot.spaces import Space

SRC = Space("a", [f"s{i}" for i in range(100)], np.random.default_rng(0).normal(size=(100, 4)))
TGT = Space("b", [f"t{i}" for i in range(100)], np.random.default_rng(1).normal(size=(100, 4)))
#: Two translations each, in reverse order of frequency; every tenth word's translations have no vector.
LEXICON = Lexicon(
    [(f"s{i}", f"{'missing' if i % 10 == 5 else 't'}{j}") for i in reversed(range(100)) for j in (i, (i + 1) % 100)]
)


def test_a_small_lexicon_gives_a_tenth_of_its_words():
    train, test = split_lexicon(LEXICON, SRC, TGT)
    assert test is not None
    assert len(train.by_source) == 81
    assert len(test.restrict(SRC, TGT).by_source) == 9
    assert not set(train.by_source) & set(test.by_source)
    assert max(int(word[1:]) for word in train.by_source) < min(int(word[1:]) for word in test.by_source)


def test_the_test_part_keeps_words_without_vectors_for_the_full_protocol():
    _, test = split_lexicon(LEXICON, SRC, TGT, seeds=20, held_out=30)
    assert test is not None
    assert len(test.restrict(SRC, TGT).by_source) == 30
    assert "s15" in test.by_source


def test_seeds_are_pairs_and_held_out_are_words():
    train, _ = split_lexicon(LEXICON, SRC, TGT, seeds=20, held_out=30)
    assert (len(train), len(train.by_source)) == (20, 10)
    assert list(train.by_source)[:3] == ["s0", "s1", "s2"]
    everything, none = split_lexicon(LEXICON, SRC, TGT, held_out=0)
    assert none is None
    assert len(everything.by_source) == 90


def test_asking_for_more_than_there_is():
    with pytest.raises(LexiconError, match="too many"):
        split_lexicon(LEXICON, SRC, TGT, seeds=170, held_out=30)
