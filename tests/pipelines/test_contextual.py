"""Encoders put to use: aligned and tested on other lines, words of other sentences, judged translations."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest

from isoglot.aligners import Procrustes
from isoglot.errors import FormatError, InputError
from isoglot.pipelines import (
    ContextualPairs,
    TokenisedPairs,
    align_and_test,
    align_encoder,
    held_out_words,
    judge_translations,
)
from isoglot.pipelines.contextual import search_sentences, split_text
from isoglot.pipelines.contextual_pairs import extract_pairs
from isoglot.spaces import Space, parse_occurrence
from isoglot.tasks import WmtSegment, cbli
from isoglot.text import ParallelText
from isoglot.wordalign import WordLinks

TAUGHT = 400
LANGUAGES = ("north", "south")


def part(text, begin, end):
    return dataclasses.replace(text, src=text.src[begin:end], tgt=text.tgt[begin:end])


def numbered(count, blank=()):
    src, tgt = ([("" if i in blank else f"{side}{i}") for i in range(count)] for side in "ab")
    return ParallelText("north", "south", tuple(src), tuple(tgt))


@pytest.fixture(scope="module")
def found(tiny, parallel):
    return extract_pairs(tiny, TokenisedPairs(parallel.src[:200], parallel.tgt[:200], links=parallel.links[:200]))


@pytest.fixture(scope="module")
def aligned(tiny, parallel):
    links = parallel.links[:TAUGHT]
    text = part(parallel.text, 0, TAUGHT)
    return align_encoder(tiny, text, Procrustes(), level="word", segmenter="spaces", links=links)


@pytest.mark.parametrize(
    ("count", "held_out", "learned"), [(10, None, 8), (4, None, 4), (10, 0, 10), (10, 9, 1), (10_000, None, 9000)]
)
def test_the_last_lines_are_held_out(count, held_out, learned):
    train, test = split_text(numbered(count), range(count), held_out)
    assert (len(train), len(test)) == (learned, count - learned)
    assert (*train, *test) == tuple(numbered(count))
    assert (train.src_lang, test.tgt_lang) == LANGUAGES


def test_only_kept_lines_are_split():
    train, test = split_text(numbered(6), [0, 2, 5], 1)
    assert (train.src, test.tgt) == (("a0", "a2"), ("b5",))


@pytest.mark.parametrize(("count", "held_out"), [(10, 10), (10, 11), (0, None), (0, 0)])
def test_something_must_be_left_to_learn_from(count, held_out):
    with pytest.raises(InputError, match="none is left to learn from; give more text or a smaller `held_out`"):
        split_text(numbered(count), range(count), held_out)


@pytest.mark.parametrize("level", ["sentence", "word"])
def test_aligned_on_some_lines_and_tested_on_the_others(tiny, parallel, level):
    text, links = parallel.text, parallel.links
    # A blank line in each part: neither shifts what belongs together.
    where = (3, 450)
    src, tgt = list(text.src), list(text.tgt)
    spread = list(links)
    for number in where:
        src.insert(number, "")
        tgt.insert(number, "unpaired")
        spread.insert(number, WordLinks())
    blank = dataclasses.replace(text, src=tuple(src), tgt=tuple(tgt))
    settings = {"level": level, "segmenter": "spaces"}
    outcome = align_and_test(
        tiny, blank, Procrustes(), held_out=100, links=spread if level == "word" else None, **settings
    )
    assert (outcome.learned, outcome.left_out) == (TAUGHT, 2)
    by_hand = align_encoder(
        tiny, part(text, 0, TAUGHT), Procrustes(), links=links[:TAUGHT] if level == "word" else None, **settings
    )
    test = part(text, TAUGHT, None)
    wanted = search_sentences(by_hand.sentences(test.src, "north"), by_hand.sentences(test.tgt, "south"), test)
    assert [result.value for result in outcome.after] == [result.value for result in wanted]
    assert [(r.metric, r.protocol["score"]) for r in outcome.after] == [
        (metric, score) for score in ("cosine", "csls") for metric in ("P@1", "P@1 src->tgt", "P@1 tgt->src")
    ]
    assert outcome.before[3].value < 0.1
    assert outcome.after[3].value > 0.3
    record = json.loads(json.dumps(outcome.record(), allow_nan=False))
    assert (record["languages"], record["learned_from"], record["left_out"]) == (list(LANGUAGES), TAUGHT, 2)
    assert record["after"][3]["value"] == outcome.after[3].value


def test_without_lines_held_out_there_are_no_figures(tiny, parallel):
    outcome = align_and_test(tiny, part(parallel.text, 0, 80), Procrustes(), held_out=0)
    assert (outcome.before, outcome.after, outcome.learned) == ([], [], 80)


def test_links_must_fit_the_whole_text(tiny, parallel):
    text, links = part(parallel.text, 0, 50), parallel.links[:50]
    settings = {"level": "word", "segmenter": "spaces"}
    with pytest.raises(InputError, match="49 lines of word links for 50 sentences"):
        align_and_test(tiny, text, Procrustes(), links=links[:49], **settings)
    # The last line is held out and its links are not used, but they show that something is wrong with the file.
    wrong = [*links[:49], WordLinks({(0, 99)})]
    with pytest.raises(FormatError, match="gold:50: the link 0-99"):
        align_and_test(tiny, text, Procrustes(), links=wrong, links_name="gold", **settings)


def sentences_of(space):
    return {parse_occurrence(name).sentence for name in space.words}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("test", [1, 300, 10**6])
def test_no_sentence_both_teaches_and_tests(found, seed, test):
    seen = []

    class Watched(Procrustes):
        def fit(self, src, tgt, lexicon=None, **settings):
            seen.append((src, tgt, lexicon))
            return super().fit(src, tgt, lexicon, **settings)

    alignment, held = held_out_words(Watched(), found, test=test, seed=seed)
    ((src, tgt, pairs),) = seen
    for taught, tested in ((src, held.src), (tgt, held.tgt)):
        assert not sentences_of(taught) & sentences_of(tested)
        assert sentences_of(taught) | sentences_of(tested) == set(range(200))
    assert len(pairs) + len(held) == len(found)
    # As many as asked for, and not a sentence more; never more than half of the sentences.
    largest = max(Counter(parse_occurrence(found.src.words[i]).sentence for i in found.pairs[:, 0]).values())
    assert len(sentences_of(held.src)) <= 100
    if test <= 300:
        assert test <= len(held) < test + largest
    names = {(found.src.words[i], found.tgt.words[j]) for i, j in found.pairs}
    assert {(held.src.words[i], held.tgt.words[j]) for i, j in held.pairs} <= names
    mapped = [alignment.transform(space, side) for space, side in ((held.src, "src"), (held.tgt, "tgt"))]
    if test == 300:
        before = cbli(held.src, held.tgt, held.pairs, bootstrap=0)[0].value
        assert cbli(*mapped, held.pairs, bootstrap=0)[0].value > before + 0.3


def test_one_sentence_cannot_be_held_out():
    space = Space("en", ["a@3:0", "b@3:1"], np.eye(2))
    with pytest.raises(InputError, match="from one sentence: there is nothing to hold out"):
        held_out_words(Procrustes(), ContextualPairs(space, space, np.array([[0, 0], [1, 1]])), test=1)


def judged(parallel, count=40):
    """Translations of which more and more words are wrong: people like them less and less."""
    random = np.random.default_rng(5)
    words = sorted({word for sentence in parallel.tgt for word in sentence})
    segments = []
    for number in range(count):
        hypothesis = list(parallel.tgt[TAUGHT + number])
        wrong = number % 5 / 4
        for place in random.choice(len(hypothesis), round(wrong * len(hypothesis)), replace=False):
            hypothesis[place] = words[random.integers(len(words))]
        source = " ".join(parallel.src[TAUGHT + number])
        segments.append(WmtSegment("system", number + 1, source, " ".join(hypothesis), 1 - wrong))
    return segments


def test_people_and_distances_agree_once_the_encoder_is_aligned(tiny, aligned, parallel):
    pytest.importorskip("ot")
    segments = judged(parallel)
    encoders = tuple(aligned.encoder_of(lang) for lang in LANGUAGES)
    before = judge_translations((tiny, tiny), segments, LANGUAGES, segmenter="spaces")
    after = judge_translations(encoders, segments, LANGUAGES, segmenter="spaces")
    assert [result.metric for result in after] == ["Pearson", "Kendall"]
    assert after[0].value > max(0.6, before[0].value + 0.1)
    assert (after[0].n, after[0].coverage, after[0].protocol["ngram"]) == (40, 1.0, 1)
    pairs = judge_translations(encoders, segments, LANGUAGES, ngram=2, segmenter="spaces")
    assert pairs[0].value > 0.4
    # Punctuation does not count; a translation of nothing is the worst of all.
    dotted = [dataclasses.replace(one, hypothesis=f"{one.hypothesis} . . !") for one in segments]
    marked = judge_translations((tiny, tiny), dotted, LANGUAGES, segmenter="spaces")
    assert np.corrcoef(*([item["score"] for item in r[0].per_item] for r in (marked, before)))[0, 1] > 0.5
    nothing = [dataclasses.replace(segments[0], hypothesis=""), *segments[1:]]
    scored = judge_translations(encoders, nothing, LANGUAGES, segmenter="spaces")
    assert scored[0].coverage == pytest.approx(39 / 40)
    assert scored[0].per_item[0]["score"] == min(item["score"] for item in scored[0].per_item)
