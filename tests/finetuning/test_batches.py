"""Batches hold the tokens that an encoder would see, and their pooled words are the encoder's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from isoglot.encoders import POOLINGS, Encoder
from isoglot.errors import ConfigError, InputError, ShapeError
from isoglot.finetuning import Encoded, PairBatch, Side, inverse_frequencies, make_pair, make_side, word_vectors
from isoglot.wordalign import WordLinks

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tokenizer(tiny):
    return tiny.model.tokenizer


@pytest.fixture(scope="module")
def model(tiny_folder):
    transformers = pytest.importorskip("transformers")
    return transformers.AutoModel.from_pretrained(tiny_folder).eval()


def hidden_states(model, side):
    with torch.no_grad():
        return model(input_ids=side.ids, attention_mask=side.mask.long()).last_hidden_state


def a_side(numbers, left=False):
    """A side whose tokens belong to words as the numbers say; padding where a row is short."""
    longest = max(map(len, numbers), default=0)
    words = torch.full((len(numbers), longest), -1)
    mask = torch.zeros(words.shape, dtype=torch.bool)
    for row, own in enumerate(numbers):
        place = slice(longest - len(own), None) if left else slice(len(own))
        words[row, place], mask[row, place] = torch.tensor(own, dtype=torch.long), True
    counts = torch.tensor([max(own, default=-1) + 1 for own in numbers])
    return Side(torch.zeros_like(words), mask, words, counts)


#: Sentences as numbers of tokens of each word, with a special token before and after.
SENTENCES = st.lists(st.lists(st.integers(1, 4), max_size=6), min_size=1, max_size=5)


def numbered(sentence):
    return [-1, *np.repeat(np.arange(len(sentence)), sentence).tolist(), -1]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_words_are_those_of_the_encoder(pooling, parallel, tiny_folder, tokenizer, model):
    sentences = [list(words) for words in parallel.src[:12]] + [["ungehört", "klold"]]
    side = make_side(tokenizer, sentences, 96)
    vectors, mask = word_vectors(hidden_states(model, side), side, pooling)
    expected = Encoder(tiny_folder, pooling=pooling).words(sentences)
    assert mask.sum(1).tolist() == [len(words) for words in sentences] == side.counts.tolist()
    assert np.allclose(vectors[mask].numpy(), expected.vectors, atol=1e-5)


def test_sentences_are_those_of_the_encoder(parallel, tiny, tokenizer, model):
    sentences = [list(words) for words in parallel.src[:12]]
    side = make_side(tokenizer, sentences, 96)
    found = Encoded(hidden_states(model, side), side).sentence_vectors()
    assert np.allclose(found.numpy(), tiny.sentences([" ".join(words) for words in sentences]), atol=1e-5)


@given(SENTENCES, st.sampled_from(POOLINGS), st.booleans(), st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_pooling_is_that_of_a_loop(sentences, pooling, left, seed):
    side = a_side([numbered(sentence) for sentence in sentences], left)
    hidden = torch.randn(*side.ids.shape, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    vectors, mask = word_vectors(hidden, side, pooling)
    assert vectors.shape == (len(sentences), max(map(len, sentences)), 3)
    for row, sentence in enumerate(sentences):
        assert mask[row].tolist() == [word < len(sentence) for word in range(mask.shape[1])]
        assert (vectors[row, len(sentence) :] == 0).all()
        for word in range(len(sentence)):
            own = hidden[row, side.words[row] == word]
            assert torch.allclose(vectors[row, word], {"first": own[0], "last": own[-1], "mean": own.mean(0)}[pooling])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_reach_the_tokens_of_words_only(pooling):
    side = a_side([[-1, 0, 0, 1, -1], [-1, 0, -1]])
    hidden = torch.full((2, 5, 2), math.nan).masked_fill(side.mask[..., None], 1.0).requires_grad_()
    vectors, _ = word_vectors(hidden, side, pooling)
    assert vectors.isfinite().all()
    vectors.sum().backward()
    shares = {"first": [0, 1, 0, 1, 0], "last": [0, 0, 1, 1, 0], "mean": [0, 0.5, 0.5, 1, 0]}[pooling]
    assert hidden.grad[..., 0].tolist() == [shares, [0, 1, 0, 0, 0]]


def test_half_precision_is_left_behind():
    side = a_side([[-1, 0, 0, -1]])
    for pooling in POOLINGS:
        assert word_vectors(torch.ones(1, 4, 2, dtype=torch.bfloat16), side, pooling)[0].dtype == torch.float32
    assert Encoded(torch.ones(1, 4, 2, dtype=torch.float16), side).sentence_vectors().dtype == torch.float32


def test_no_words_no_vectors():
    side = a_side([[-1, -1], [-1, -1]])
    for pooling in POOLINGS:
        vectors, mask = word_vectors(torch.ones(2, 2, 3), side, pooling)
        assert vectors.shape == (2, 0, 3)
        assert mask.shape == (2, 0)


def test_tokens_stand_between_special_ones(tokenizer, parallel):
    sentences = [list(words) for words in parallel.src[:5]]
    side = make_side(tokenizer, [*sentences, []], 96)
    for row, words in enumerate([*sentences, []]):
        expected = tokenizer(words, is_split_into_words=True)
        length = len(expected["input_ids"])
        assert side.ids[row, :length].tolist() == expected["input_ids"]
        assert side.words[row, :length].tolist() == [-1 if one is None else one for one in expected.word_ids()]
        assert side.mask[row].tolist() == [place < length for place in range(side.ids.shape[1])]
        assert (side.ids[row, length:] == tokenizer.pad_token_id).all()
        assert (side.words[row, length:] == -1).all()
    assert side.counts.tolist() == [*map(len, sentences), 0]


@given(room=st.integers(1, 12), data=st.data())
@settings(deadline=None, max_examples=30)
def test_long_sentences_are_cut_between_words(room, data, tokenizer, parallel):
    words = data.draw(st.lists(st.sampled_from([*parallel.src[0], "aklold", "abcd"]), min_size=1, max_size=15))
    whole, side = make_side(tokenizer, [words], 96), make_side(tokenizer, [words], room + 2)
    n = int(side.counts[0])
    lengths = [int((whole.words == word).sum()) for word in range(len(words))]
    assert int(side.mask.sum()) <= room + 2
    assert 1 <= n <= len(words)
    if lengths[0] <= room:
        assert [int((side.words == word).sum()) for word in range(n)] == lengths[:n]
        assert n == len(words) or sum(lengths[: n + 1]) > room
        assert side.ids[0, 1 : 1 + sum(lengths[:n])].tolist() == whole.ids[0, 1 : 1 + sum(lengths[:n])].tolist()
    else:
        assert n == 1
        assert side.ids[0, 1:-1].tolist() == whole.ids[0, 1 : 1 + room].tolist()
    assert side.ids[0, -1] == tokenizer.sep_token_id


def test_links_are_one_to_one_and_within_what_is_left(tokenizer):
    words = ["klold", "sta", "beas", "koon"]
    links = [
        WordLinks({(0, 1), (1, 0), (1, 2), (2, 3), (3, 3)}, {(2, 2)}),
        WordLinks({(2, 2), (0, 0)}),
        WordLinks(),
    ]
    batch = make_pair(tokenizer, [words] * 3, [words] * 3, 96, pair="north-south", links=links)
    assert [one.tolist() for one in batch.links] == [[0, 1, 1], [0, 0, 2], [1, 0, 2]]
    kept = int(make_side(tokenizer, [words], 5).counts[0])
    assert 0 < kept < 4
    batch = make_pair(tokenizer, [words], [words], 5, links=[WordLinks({(k, k) for k in range(4)})])
    assert batch.links[1].tolist() == list(range(kept))
    assert make_pair(tokenizer, [words], [words], 96).links is None
    assert [len(one) for one in make_pair(tokenizer, [words], [words], 96, links=[WordLinks()]).links] == [0, 0, 0]


def test_batches_move_as_a_whole(tokenizer):
    tables = ({"klold": 2.0}, {"sta": 3.0})
    batch = make_pair(tokenizer, [["klold"]], [["sta", "x"]], 96, links=[WordLinks({(0, 1)})], idf=tables).to("meta")
    tensors = [getattr(side, name) for side in (batch.src, batch.tgt) for name in ("ids", "mask", "words", "idf")]
    assert all(one.device.type == "meta" for one in (*tensors, *batch.links))


def test_frequencies_stand_where_their_words_do(tokenizer):
    table = inverse_frequencies([["a", "b"], ["a", "a"], ["c"]])
    assert table == pytest.approx({"a": 1 + math.log(4 / 3), "b": 1 + math.log(2), "c": 1 + math.log(2)})
    side = make_side(tokenizer, [["b", "a"], ["never"], []], 96, idf=table)
    expected = [[table["b"], table["a"]], [table["b"], 0], [0, 0]]
    assert torch.allclose(side.idf, torch.tensor(expected, dtype=torch.float32))


def test_what_does_not_fit_is_refused(tokenizer):
    words = [["klold", "sta"]]
    with pytest.raises(InputError, match="sentence 2 of the batch: sentences must be lists of words"):
        make_side(tokenizer, [["a"], "klold sta"], 96)
    with pytest.raises(ConfigError, match="leave no room"):
        make_side(tokenizer, words, 2)
    with pytest.raises(ShapeError, match="1 source and 2 target"):
        make_pair(tokenizer, words, words * 2, 96)
    with pytest.raises(ShapeError, match="links for 2"):
        make_pair(tokenizer, words, words, 96, links=[WordLinks()] * 2)
    with pytest.raises(InputError, match=r"north-south: sentence pair 1 .* the link 1-2 points past"):
        make_pair(tokenizer, words, words, 96, pair="north-south", links=[WordLinks({(1, 2)})])
    side = make_side(tokenizer, words, 96)
    one = torch.tensor([1])
    with pytest.raises(InputError, match="outside the batch of 1"):
        PairBatch("", side, side, (one, one, one))
    with pytest.raises(InputError, match="past the end"):
        PairBatch("", side, side, (one - 1, one, one + 1))
    with pytest.raises(ShapeError, match="hidden"):
        Encoded(torch.zeros(1, 2, 3), side)
    with pytest.raises(ShapeError, match="Side"):
        Side(side.ids, side.mask[:, 1:], side.words, side.counts)
    with pytest.raises(ConfigError, match="unknown pooling"):
        word_vectors(torch.zeros(*side.ids.shape, 2), side, "middle")
