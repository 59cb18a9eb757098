"""Similarities, counts, spelling and a lexicon together: better than each part, on text whose links are known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from isoglot.encoders import WordVectors
from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.lexicons import Lexicon
from isoglot.simulate import simulate_parallel
from isoglot.tasks import word_alignment
from isoglot.wordalign import (
    WordLinks,
    align_words,
    check_linking,
    combined_align,
    link_text,
    link_words,
    linking,
    word_align,
)
from isoglot.wordalign.agreeing_hmm import LONGEST_JUMP, UNLINKED, Cells, agreeing_hmm, posteriors
from isoglot.wordalign.own_map import learn_own_map

JUMPS = np.exp(-np.abs(np.arange(-LONGEST_JUMP, LONGEST_JUMP + 1) - 1) / 2.0)


@pytest.fixture(scope="module")
def corpus():
    """Few sentences, many words, and another order: counts alone do not tell enough."""
    return simulate_parallel(sentences=60, words=1500, reorder=0.6, distant=0.6, seed=3)


@pytest.fixture(scope="module")
def cosines(corpus):
    """A poor encoder: linked words are a little more alike than others."""
    rng = np.random.default_rng(0)
    found = []
    for src, tgt, links in zip(corpus.src, corpus.tgt, corpus.links, strict=True):
        S = 0.15 * rng.standard_normal((len(src), len(tgt)))
        for link in links.sure:
            S[link] += 0.3
        found.append(np.clip(S, -1, 1))
    return found


def f1(found, corpus):
    return word_alignment(found, corpus.links, bootstrap=0)[0].value


def brute_force(emissions, unlinked, jumps):
    """Sums over every way to say the words: of (place, linked or not) for each, the place kept while unlinked."""
    m, n = emissions.shape
    totals = np.zeros((m, n))
    whole = 0.0
    moves = np.array([[jumps[LONGEST_JUMP + i - a] for i in range(n)] for a in range(-1, n)])
    moves /= moves.sum(axis=1, keepdims=True)
    for places in itertools.product(range(n), repeat=m):
        for linked in itertools.product((False, True), repeat=m):
            weight, last = 1.0, -1
            for j, (place, by_word) in enumerate(zip(places, linked, strict=True)):
                if not by_word and j and place != last:
                    weight = 0.0
                    break
                weight *= (1 - UNLINKED) * emissions[j, place] if by_word else UNLINKED * unlinked[j]
                weight *= moves[last + 1, place] if by_word or not j else 1.0
                last = place
            whole += weight
            for j, place in enumerate(places):
                totals[j, place] += weight * linked[j]
    return totals / whole


def test_posteriors_are_those_of_all_ways_to_say_the_words():
    rng = np.random.default_rng(1)
    emissions, unlinked = rng.random((4, 3)), rng.random(4)
    seen = np.zeros(len(JUMPS))
    found = posteriors(emissions, unlinked, JUMPS, seen)
    np.testing.assert_allclose(found, brute_force(emissions, unlinked, JUMPS), rtol=1e-9)
    # One jump for each linked word after the first.
    np.testing.assert_allclose(seen.sum(), found[1:].sum(), rtol=1e-9)


def test_the_combination_beats_its_parts(corpus, cosines):
    by_vectors = f1([word_align(S, "intersection") for S in cosines], corpus)
    flat = [np.zeros_like(S) for S in cosines]
    by_counts = f1(combined_align(corpus.src, corpus.tgt, flat, smoothing=0.001, spelling=0), corpus)
    combined = f1(combined_align(corpus.src, corpus.tgt, cosines, spelling=0), corpus)
    assert combined > max(by_vectors, by_counts) + 0.05, (by_vectors, by_counts, combined)


def test_a_lexicon_helps_in_either_direction(corpus, cosines, tmp_path):
    alone = f1(combined_align(corpus.src, corpus.tgt, cosines), corpus)
    known = combined_align(corpus.src, corpus.tgt, cosines, lexicon=corpus.lexicon)
    assert f1(known, corpus) > alone + 0.01
    turned = Lexicon([(b, a) for a, b in corpus.lexicon])
    assert combined_align(corpus.src, corpus.tgt, cosines, lexicon=turned) == known
    corpus.lexicon.save(tmp_path / "known.tsv")
    assert combined_align(corpus.src, corpus.tgt, cosines, lexicon=str(tmp_path / "known.tsv")) == known


def test_words_spelt_alike_are_linked_and_accents_do_not_matter():
    src, tgt = [["Paris", "cherche", "Ploiesti"]], [["Ploiești", "sucht", "Paris"]]
    flat = [np.zeros((3, 3))]
    assert {(0, 2), (2, 0)} <= set(combined_align(src, tgt, flat, spelling=0.5)[0])
    assert not {(0, 2), (2, 0)} & set(combined_align(src, tgt, flat, spelling=0)[0])


def test_inflected_forms_are_counted_together():
    cells = Cells.of([["a", "b"]], [["x", "y"]])
    assert cells.matrix(cells.pair, 0).tolist() == [[0, 1], [2, 3]]
    # Another order than most: only the stem tells that "parlez" is said by what said "parlons".
    src, tgt = [*[["parlons"]] * 5, ["parlez", "bien"]], [*[["speak"]] * 5, ["well", "speak"]]
    flat = [np.zeros((len(a), len(b))) for a, b in zip(src, tgt, strict=True)]
    whole, stems = (combined_align(src, tgt, flat, stem=stem, spelling=0)[-1] for stem in (0, 4))
    assert (0, 1) in stems.sure
    assert (0, 1) not in whole.sure


def test_scores_are_probabilities_above_the_threshold(corpus, cosines):
    calls = []
    strict, loose = (
        combined_align(corpus.src, corpus.tgt, cosines, threshold=threshold, progress=lambda *call: calls.append(call))
        for threshold in (0.9, 0.2)
    )
    assert all(0.9 <= score <= 1 for links in strict for score in links.scores.values())
    assert all(a.sure <= b.sure for a, b in zip(strict, loose, strict=True))
    assert sum(map(len, strict)) < sum(map(len, loose))
    assert calls[-1][1] == calls[-1][2]


def test_empty_sentences_have_no_links():
    flat = [np.zeros((0, 1)), np.zeros((1, 0)), np.ones((1, 1))]
    found = combined_align([[], ["a"], ["b"]], [["x"], [], ["b"]], flat)
    assert found[:2] == [WordLinks(), WordLinks()]
    assert found[2].sure == {(0, 0)}
    assert combined_align([], [], []) == []
    assert not len(agreeing_hmm(Cells.of([[]], [[]]), np.zeros(0, dtype=np.float32), 0.0))


def test_a_text_with_an_encoder_and_the_front_door(tiny, lines, parallel):
    src, tgt = parallel.src[:40], parallel.tgt[:40]
    found = link_text((tiny, tiny), src, tgt, "combined", spelling=0.0)
    assert align_words(lines[0][:40], lines[1][:40], encoder=tiny, method="combined", spelling=0.0) == found
    right = sum(len(a.sure & b.sure) for a, b in zip(found, parallel.links, strict=False))
    plain = link_text((tiny, tiny), src, tgt, "intersection")
    assert right > sum(len(a.sure & b.sure) for a, b in zip(plain, parallel.links, strict=False))


def test_a_long_text_is_encoded_in_shards_and_learned_from_as_a_whole(tiny, parallel, monkeypatch):
    src, tgt = parallel.src[:60], parallel.tgt[:60]
    whole = link_text((tiny, tiny), src, tgt, "combined", adapt=0)
    monkeypatch.setattr(linking, "SHARD", 25)
    assert link_text((tiny, tiny), src, tgt, "combined", adapt=0) == whole
    mapped = link_text((tiny, tiny), src, tgt, "combined", adapt=0.03)
    assert len(mapped) == 60
    assert mapped != whole


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 0}, "threshold: must lie above 0 and not above 1, not 0"),
        ({"null": 1.5}, "null: must lie above 0"),
        ({"smoothing": 0.0}, "smoothing: must be above 0"),
        ({"temperature": -1.0}, "temperature: must be above 0"),
        ({"stem": -1}, r"stem: must be 0 \(whole words\) or more"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ConfigError, match=message):
        combined_align([["a"]], [["b"]], [np.zeros((1, 1))], **settings)


def encoded(sentences, words, turn, rng):
    """Vectors of words, with noise, in a space that is turned."""
    rows = np.array([words[word] for sentence in sentences for word in sentence])
    rows = (rows + 0.5 * rng.standard_normal(rows.shape)) @ turn
    return WordVectors(sentences, rows.astype(np.float32), np.cumsum([0, *map(len, sentences)]))


def test_a_map_of_its_own_links_helps_where_the_encoder_is_bad(corpus):
    rng = np.random.default_rng(2)
    vectors = {}
    for north, south in corpus.lexicon:
        vectors.setdefault(north, rng.standard_normal(24))
        vectors.setdefault(south, vectors[north])
    for side in (corpus.src, corpus.tgt):
        for word in itertools.chain.from_iterable(side):
            vectors.setdefault(word, rng.standard_normal(24))
    turn = np.linalg.qr(np.eye(24) + 0.4 * rng.standard_normal((24, 24)))[0]
    turn *= np.sign(np.diag(turn))
    X, Y = encoded(corpus.src, vectors, np.eye(24), rng), encoded(corpus.tgt, vectors, turn, rng)
    plain, adapted = (f1(link_words(X, Y, "combined", spelling=0.0, adapt=pull), corpus) for pull in (0, 0.03))
    assert adapted > plain + 0.1, (plain, adapted)
    few = [WordLinks({(0, 0)})] * 20
    assert learn_own_map(X, Y, few, 0.03) is None
    own = learn_own_map(X, Y, corpus.links, 1e9)
    np.testing.assert_allclose(own.W, np.eye(24), atol=1e-5)  # drawn to the identity by all means
    with pytest.raises(ConfigError, match=r"adapt: must be 0 \(no map\) or more, not -1"):
        link_words(X, Y, "combined", adapt=-1)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match=r"shape \(1, 2\) do not fit sentence pair 1"):
        combined_align([["a"]], [["b"]], [np.zeros((1, 2))])
    with pytest.raises(ShapeError, match="similarities of 0 sentence pairs, but there are 1"):
        combined_align([["a"]], [["b"]], [])
    with pytest.raises(InputError, match="1 source sentences but 0 target sentences"):
        combined_align([["a"]], [], [])
    with pytest.raises(InputError, match="sentence pair 1 hold NaN"):
        combined_align([["a"]], [["b"]], [np.full((1, 1), np.nan)])
    check_linking("combined", {"lexicon": Lexicon([("a", "b")]), "stem": 4})
    with pytest.raises(ConfigError, match="null of combined takes a number, not None"):
        check_linking("combined", {"null": None})
    with pytest.raises(ConfigError, match="combined has no setting 'lexcon'; did you mean 'lexicon'"):
        check_linking("combined", {"lexcon": "x"})
