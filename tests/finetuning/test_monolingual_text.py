"""Blocks of running text and batches of words: all tokens in order, and each batch a function of seed and number."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from isoglot.encoders import Encoder
from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.finetuning import open_text
from isoglot.finetuning.monolingual_text import TextSampler
from isoglot.finetuning.static_words import WordSampler
from isoglot.spaces import Space

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tokenizer(tiny_folder):
    return Encoder(tiny_folder, device="cpu").model.tokenizer


@pytest.fixture(scope="module")
def sampler(lines, tokenizer):
    def make(count=200, **options):
        texts = [open_text(side[:size], lang) for lang, side, size in (("a", lines[0], count), ("b", lines[1], 60))]
        return TextSampler(texts, tokenizer, **{"blocks": 4, "length": 32, **options})

    return make


def test_the_last_lines_are_held_out_and_blank_ones_left_out(tmp_path):
    (tmp_path / "text.txt").write_text("one\n\n two \n   \nthree\nfour\nfive\n")
    text = open_text(tmp_path / "text.txt", "en", held_out=2)
    assert list(text) == ["one", "two", "three"]
    assert (text[1], text[1:]) == ("two", ["two", "three"])
    assert text.text(text.held_out) == ["four", "five"]
    first = open_text(tmp_path / "text.txt", "en", held_out=2, limit=1)
    assert (list(first), first.text(first.held_out), first.digest) == (["one"], ["four", "five"], text.digest)
    assert open_text(["one"], "en").digest != open_text(["two"], "en").digest
    assert len(open_text(["line"] * 100, "en").held_out) == 5
    assert len(open_text(["line"] * 20_000, "en").held_out) == 500


def test_text_that_is_none(tmp_path):
    (tmp_path / "blank.txt").write_text("\n \n")
    with pytest.raises(InputError, match=r"blank.txt: the file is empty"):
        open_text(tmp_path / "blank.txt", "en")
    with pytest.raises(InputError, match=r"en: no lines left to learn from \(2 in all, 0 held out\)"):
        open_text(["", " "], "en")
    with pytest.raises(InputError, match=r"en: .*\(2 in all, 2 held out\)"):
        open_text(["a", "b"], "en", held_out=2)
    with pytest.raises(ConfigError, match="limit: must be at least 1"):
        open_text(["a"], "en", limit=0)


def test_blocks_hold_all_tokens_of_the_lines_in_order(sampler, tokenizer):
    made = sampler()
    for drawn in made.draw(0):
        side, texts = drawn.batch.side, drawn.texts["lines"]
        assert side.mask[:-1].all()
        assert (side.ids[:, 0] == tokenizer.cls_token_id).all()
        found = [token for row, mask in zip(side.ids, side.mask, strict=True) for token in row[mask][1:-1].tolist()]
        end = [tokenizer.sep_token_id]
        expected = [tokenizer(text, add_special_tokens=False)["input_ids"] + end for text in texts]
        assert found == list(chain.from_iterable(expected))[:-1]
        special = (side.ids == tokenizer.cls_token_id) | (side.ids == tokenizer.sep_token_id) | ~side.mask
        assert ((side.words < 0) == special).all()
        assert drawn.batch.tokens == int(side.mask.sum())
        assert abs(len(drawn.batch) - 4) <= 2
    assert [one.batch.name for one in made.draw(0)] == ["text a", "text b"]


def test_a_batch_follows_from_seed_and_number(sampler):
    walked = sampler()
    before = [walked.draw(number) for number in range(30)]
    for number in (29, 7, 0):
        for one, other in zip(before[number], sampler().draw(number), strict=True):
            assert one.texts == other.texts
            assert one.batch.side.ids.equal(other.batch.side.ids)
    assert before[3][0].texts != sampler(seed=1).draw(3)[0].texts


def test_an_epoch_takes_every_line_but_a_rest_once(sampler):
    made = sampler()
    own = made.batches_of_an_epoch
    lines = [text for number in range(own) for text in made.draw(number)[0].texts["lines"]]
    assert len(set(lines)) <= len(lines) <= 190
    assert len(lines) > 190 - 190 // own
    # The smaller text begins anew meanwhile.
    assert all(made.draw(number)[1].texts["lines"] for number in range(own))


def test_held_out_lines_come_whole(sampler):
    made = sampler()
    batches = made.held_out()
    assert [one.lang for one in batches] == sorted(one.lang for one in batches)
    for corpus in made.corpora:
        own = [one for one in batches if one.lang == corpus.lang]
        whole = made.blocks(corpus.lang, corpus.text(corpus.held_out))
        words = [int((one.side.words >= 0).sum()) for one in (*own, whole)]
        assert sum(words[:-1]) == words[-1]


def test_a_language_has_one_text(tokenizer):
    text = open_text(["a b"], "en")
    with pytest.raises(ConfigError, match="text: more than one text for a language: en, en"):
        TextSampler([text, text], tokenizer, blocks=1, length=16)


@pytest.fixture(scope="module")
def spaces(parallel):
    sides = {"a": parallel.src, "b": parallel.tgt}
    words = {lang: sorted({word for sentence in side for word in sentence}) for lang, side in sides.items()}
    rng = np.random.default_rng(0)
    return {lang: Space(lang, own, rng.normal(size=(len(own), 5))) for lang, own in words.items()}


def test_words_come_with_their_vectors(spaces, tokenizer):
    made = WordSampler(spaces, tokenizer, words=16, max_length=12)
    table = {(word, *space.vector(word).tolist()) for space in spaces.values() for word in space.words}
    seen = []
    for number in range(made.batches_of_an_epoch):
        drawn = made.draw(number)
        assert len(drawn.batch) == 16
        assert drawn.batch.side.counts.tolist() == [1] * 16
        for row, (word, vector) in enumerate(zip(drawn.texts["words"], drawn.batch.vectors, strict=True)):
            assert (word, *vector.tolist()) in table
            inner = drawn.batch.side.ids[row][drawn.batch.side.words[row] == 0].tolist()
            assert inner == tokenizer([word], is_split_into_words=True, add_special_tokens=False)["input_ids"][:10]
            seen.append((word, *vector.tolist()))
    assert len(set(seen)) == len(seen) > len(made) - 16
    again = WordSampler(spaces, tokenizer, words=16, max_length=12)
    assert again.draw(3).texts == made.draw(3).texts
    assert again.draw(made.batches_of_an_epoch).texts != made.draw(0).texts
    assert len(WordSampler(spaces, tokenizer, words=10**6, max_length=12).draw(1).batch) == len(made)


def test_vectors_of_different_spaces_are_refused(spaces, tokenizer):
    other = {**spaces, "c": Space("c", ["x"], np.ones((1, 3)))}
    with pytest.raises(ShapeError, match="static: static vectors must have equal dimensions, not a 5, b 5, c 3"):
        WordSampler(other, tokenizer, words=16, max_length=12)
    with pytest.raises(InputError, match="too few static vectors to learn from: 1"):
        WordSampler({"c": other["c"]}, tokenizer, words=16, max_length=12)
