"""Long text is cut so that every word is taken once, in order, from a window that fits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from isoglot.encoders import Tokens
from isoglot.encoders.pieces import Piece, batches, sentence_pieces, windows, word_pieces
from isoglot.errors import ConfigError


@st.composite
def cuts(draw):
    room = draw(st.integers(1, 20))
    overlap = draw(st.integers(0, room - 1))
    return draw(st.lists(st.integers(1, room), max_size=60)), room, overlap


@given(cuts())
def test_windows_take_every_word_once_and_in_order(cut):
    lengths, room, overlap = cut
    found = list(windows(lengths, room, overlap))
    kept = [word for _, _, keep_first, keep_last in found for word in range(keep_first, keep_last)]
    assert kept == list(range(len(lengths)))
    for first, last, keep_first, keep_last in found:
        assert first <= keep_first <= keep_last <= last
        assert 0 < sum(lengths[first:last]) <= room
    for (before, end, *_), (after, *_) in itertools.pairwise(found):
        assert before < after <= end  # on and on, without a gap
        assert sum(lengths[after:end]) <= overlap


@given(st.integers(1, 200), st.integers(2, 20))
def test_a_word_has_context_on_both_sides(words, room):
    """Away from the ends of the text at least a part of the overlap stands on either side."""
    overlap = room // 2
    for first, last, keep_first, keep_last in windows([1] * words, room, overlap):
        assert keep_first - first >= (overlap // 2 if first else 0)
        assert last - keep_last >= ((overlap - 1) // 2 if last < words else 0)


def test_short_text_is_one_window():
    assert list(windows([2, 3], 5, 2)) == [(0, 2, 0, 2)]
    assert list(windows([], 5, 2)) == []


@given(st.lists(st.integers(1, 40), max_size=50), st.integers(1, 100))
def test_batches_hold_every_piece_once_and_little_padding(sizes, most):
    pieces = [Piece([0] * size, [-1] * size, [0.0] * size) for size in sizes]
    found = list(batches(pieces, most))
    assert sorted(number for batch in found for number in batch) == list(range(len(sizes)))
    for batch in found:
        padded = len(batch) * max(sizes[number] for number in batch)
        assert padded <= most or len(batch) == 1


def tokens_of(tiny, max_length=12, overlap=4) -> Tokens:
    return Tokens(tiny.model.tokenizer, max_length, overlap)


def sums(pieces, rows):
    """What the weights of each row add up to."""
    total = np.zeros(rows)
    for piece in pieces:
        assert len(piece.ids) == len(piece.rows) == len(piece.weights)
        for row, weight in zip(piece.rows, piece.weights, strict=True):
            if row >= 0:
                total[row] += weight
    return total


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_every_word_weighs_one_and_every_window_fits(tiny, parallel, pooling):
    sentences = [list(words) for words in parallel.src[:20]] + [[], ["\u200b", "🙂", "漢字"], list(parallel.tgt[0]) * 9]
    pieces, offsets = word_pieces(tokens_of(tiny), sentences, pooling)
    assert np.diff(offsets).tolist() == [len(words) for words in sentences]
    np.testing.assert_allclose(sums(pieces, int(offsets[-1])), 1.0, rtol=1e-6)
    assert max(len(piece.ids) for piece in pieces) <= 12
    used = [row for piece in pieces for row in dict.fromkeys(piece.rows) if row >= 0]
    assert used == list(range(int(offsets[-1])))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_every_text_weighs_one(tiny, lines, pooling):
    texts = [*lines[0][:10], "", " ", " ".join(lines[0][:20]), "\u200b"]
    pieces = sentence_pieces(tokens_of(tiny), texts, pooling)
    np.testing.assert_allclose(sums(pieces, len(texts)), 1.0, rtol=1e-6)
    assert max(len(piece.ids) for piece in pieces) <= 12


def test_a_word_longer_than_a_window_keeps_its_beginning(tiny, parallel):
    before, after = parallel.src[0][:2]
    endless = "ab" * 400  # letters that the tokenizer knows, in more of them than it takes as one word
    spelled = "'" * 50  # punctuation: a token each, all of one word
    tokens = tokens_of(tiny)
    assert len(tokens.of_words([[spelled]])[0][0]) == 50
    pieces, offsets = word_pieces(tokens, [[before, endless, spelled, after]], "mean")
    assert offsets.tolist() == [0, 4]
    assert max(len(piece.ids) for piece in pieces) <= 12
    np.testing.assert_allclose(sums(pieces, 4), 1.0, rtol=1e-6)


@pytest.mark.parametrize("dropped", ["", " ", "\u200b", "\x00", "\u202e"])
def test_a_word_that_the_tokenizer_drops_is_the_unknown_token(tiny, parallel, dropped):
    tokens = tokens_of(tiny)
    word = parallel.src[0][0]
    first, middle, last = tokens.of_words([[word, dropped, word]])[0]
    assert first == last != middle
    assert middle == [tiny.model.tokenizer.unk_token_id]


def test_special_tokens_are_found(tiny):
    tokenizer = tiny.model.tokenizer
    tokens = tokens_of(tiny)
    assert (tokens.prefix, tokens.suffix) == ([tokenizer.cls_token_id], [tokenizer.sep_token_id])
    assert tokens.room == 10


@pytest.mark.parametrize(("max_length", "overlap"), [(2, 0), (0, 0), (12, 10), (12, -1)])
def test_windows_without_room_are_refused(tiny, max_length, overlap):
    with pytest.raises(ConfigError, match=r"leave no room; give a larger max_length"):
        tokens_of(tiny, max_length, overlap)


def test_unknown_poolings_are_refused(tiny):
    with pytest.raises(ConfigError, match=r"unknown pooling 'max'; one of: first, last, mean"):
        word_pieces(tokens_of(tiny), [["a"]], "max")
    with pytest.raises(ConfigError, match=r"unknown pooling 'max'; one of: mean, cls"):
        sentence_pieces(tokens_of(tiny), ["a"], "max")
