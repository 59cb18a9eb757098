"""The verdict on a pair of spaces."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isoglot.criteria import inspect_pair
from isoglot.errors import InputError
from isoglot.lexicons import Lexicon
from isoglot.simulate import simulate_pair
from isoglot.spaces import Space


def test_a_near_copy_is_close_and_an_unrelated_space_is_not():
    pair = simulate_pair(800, 50, 0.2)
    near = inspect_pair(pair.src, pair.tgt, pair.lexicon, words=400)
    assert near.closeness == "close"
    assert near.unsupervised == "well"
    assert near.relational_similarity > 0.9
    assert near.pairs == len(pair.lexicon.indices(pair.src, pair.tgt))
    rng = np.random.default_rng(0)
    other = pair.tgt.with_vectors(pair.tgt.vectors[rng.permutation(len(pair.tgt))])
    far = inspect_pair(pair.src, other, pair.lexicon, words=400)
    assert far.closeness == "unrelated"
    assert far.supervised == "hardly"
    assert "belong together" in far.verdict[0]
    # The same shape in another order: only the lexicon could tell.
    assert far.singular_value_gap == pytest.approx(near.singular_value_gap, abs=1e-6)


def test_without_a_lexicon_it_says_what_it_cannot_know():
    pair = simulate_pair(800, 50, 1.5)
    report = inspect_pair(pair.src, pair.tgt, words=500)
    assert report.closeness == "unknown"
    assert report.relational_similarity is None
    assert "lexicon" in report.verdict[0]
    copy = inspect_pair(pair.src, pair.src, words=500)
    assert copy.closeness == "one shape"
    assert copy.eigenvector_similarity == 0


def test_advice_goes_by_what_there_is():
    pair = simulate_pair(800, 50, 0.3)
    few = Lexicon(list(pair.lexicon)[:10])
    assert any("Only 10 pairs" in sentence for sentence in inspect_pair(pair.src, pair.tgt, few, words=300).verdict)
    narrow = pair.tgt.with_vectors(pair.tgt.vectors[:, :20])
    report = inspect_pair(pair.src, narrow, pair.lexicon, words=300)
    assert report.dimensions == (50, 20)
    assert any("`match_dimensions`" in sentence for sentence in report.verdict)


def test_identical_words_leave_numbers_and_punctuation_out():
    X = np.random.default_rng(0).normal(size=(5, 3))
    first, second = Space("a", ["1990", ".", "taxi", "red", "sky"], X), Space("b", ["1990", ".", "taxi", "rot", "b"], X)
    assert inspect_pair(first, second).identical == 1


def test_record_is_plain_and_progress_ends():
    pair = simulate_pair(200, 20, 0.3)
    seen = []
    report = inspect_pair(pair.src, pair.tgt, pair.lexicon, progress=lambda *step: seen.append(step))
    assert json.loads(json.dumps(report.record()))["closeness"] == report.closeness
    assert seen[-1][1] == seen[-1][2]


def test_too_few_words_is_a_clear_error():
    tiny = Space("a", ["x", "y"], np.eye(2))
    with pytest.raises(InputError, match="2 words"):
        inspect_pair(tiny, tiny)
