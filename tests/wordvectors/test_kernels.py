"""One training step against the gradient of its loss, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.wordvectors._kernels import LONGEST_LINE, train_cbow, train_subwords, train_words
from isoglot.wordvectors.steps import alias_table, meet, meet_many

RATE = np.float32(1e-3)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def arguments(tokens, inputs, outputs, *, keep=None, weights=None, swaps=(), below=0, window=1, negatives=2, seed=5):
    words = len(outputs)
    starts = np.zeros(words + 1, dtype=np.int64)
    for source, _ in swaps:
        starts[source + 1 :] += 1
    threshold, alias = alias_table(np.ones(words) if weights is None else np.array(weights, dtype=np.float64))
    return (
        np.array(tokens, dtype=np.int32),
        np.array([0, len(tokens)], dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        inputs,
        outputs,
        np.full(words, 0xFFFFFFFF, dtype=np.uint32) if keep is None else keep,
        threshold,
        alias,
        starts,
        np.array([target for _, target in swaps], dtype=np.int32),
        below,
        window,
        negatives,
        RATE,
        np.uint64(seed),
    )


def matrices(rows, words, seed=0):
    random = np.random.default_rng(seed)
    shape = 16
    return [random.normal(size=(n, shape)).astype(np.float32) / 4 for n in (rows, words)]


def test_skipgram_follows_the_gradient_of_its_loss():
    """Two words: the words around 0 are just 1 and the other way round, and so are the negatives."""
    inputs, outputs = matrices(2, 2)
    A, B = inputs.astype(np.float64), outputs.astype(np.float64)
    train_words(*arguments([0, 1], inputs, outputs))
    d_in, d_out = np.zeros_like(A), np.zeros_like(B)
    for centre, around in ((0, 1), (1, 0)):
        for target, label, times in ((centre, 1, 1), (around, 0, 2)):
            gain = times * (label - sigmoid(B[target] @ A[around]))
            d_in[around] += gain * B[target]
            d_out[target] += gain * A[around]
    np.testing.assert_allclose((inputs - A) / RATE, d_in, atol=5e-3)
    np.testing.assert_allclose((outputs - B) / RATE, d_out, atol=5e-3)


@pytest.mark.parametrize("around", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
def test_every_number_of_words_around_is_handled(around):
    """The loops take four, two or one words at a time."""
    words = around + 1
    inputs, outputs = matrices(words, words)
    A, B = inputs.astype(np.float64), outputs.astype(np.float64)
    before = outputs[0].copy()
    D = np.zeros((around, 16), dtype=np.float32)
    X = np.ascontiguousarray(inputs[1:])
    meet(X, D, around, outputs, 0, np.float32(1), RATE)
    gains = np.array([1 - sigmoid(B[0] @ A[c + 1]) for c in range(around)])
    # The row changes after each group of at most four, which at this rate does not show.
    np.testing.assert_allclose(D / RATE, gains[:, None] * B[0], atol=2e-2)
    np.testing.assert_allclose((outputs[0] - before) / RATE, gains @ A[1:], atol=2e-2)


@pytest.mark.parametrize("targets", [[0], [0, 1, 2], [0, 1, 2, 3], [0, 1, 1, 2, 3], [3, 2, 1, 0, 0, 1, 2, 3, 2]])
def test_one_input_meets_any_number_of_outputs(targets):
    """Also where a row stands there twice."""
    inputs, outputs = matrices(1, 4)
    A, B = inputs.astype(np.float64), outputs.astype(np.float64)
    labels = np.array([i % 2 for i in range(len(targets))], dtype=np.float32)
    D = np.zeros((1, 16), dtype=np.float32)
    meet_many(inputs[0], D[0], outputs, np.array(targets), labels, len(targets), RATE)
    gains = np.array([label - sigmoid(A[0] @ B[row]) for row, label in zip(targets, labels, strict=True)])
    d_out = np.zeros_like(B)
    np.add.at(d_out, targets, gains[:, None] * A[0])
    np.testing.assert_allclose(D[0] / RATE, gains @ B[targets], atol=2e-2)
    np.testing.assert_allclose((outputs - B) / RATE, d_out, atol=2e-2)


def test_subwords_share_the_gradient():
    """Word 0 is the mean of rows 0 and 2; each of them gains all of it, as in fastText."""
    inputs, outputs = matrices(3, 2)
    A, B = inputs.astype(np.float64), outputs.astype(np.float64)
    part_starts, parts = np.array([0, 2, 3]), np.array([0, 2, 1], dtype=np.int32)
    train_subwords(*arguments([0, 1], inputs, outputs), part_starts, parts)
    mean = (A[0] + A[2]) / 2
    d_in = np.zeros_like(A)
    for own, rows, target, label, times in (
        (mean, (0, 2), 1, 1, 1),
        (mean, (0, 2), 0, 0, 2),
        (A[1], (1,), 0, 1, 1),
        (A[1], (1,), 1, 0, 2),
    ):
        for row in rows:
            d_in[row] += times * (label - sigmoid(B[target] @ own)) * B[target]
    np.testing.assert_allclose((inputs - A) / RATE, d_in, atol=5e-3)


def test_cbow_predicts_from_the_mean_of_the_words_around():
    inputs, outputs = matrices(3, 3)
    A, B = inputs.astype(np.float64), outputs.astype(np.float64)
    part_starts, parts = np.arange(4), np.arange(3, dtype=np.int32)
    # Nobody else has weight, so all negatives of 1 are 0; of 0 there are none.
    train_cbow(*arguments([0, 1, 0], inputs, outputs, weights=[1, 1e-12, 1e-12]), part_starts, parts, False)
    d_in = np.zeros_like(A)
    for around, centre, negatives in (((1,), 0, 0), ((0, 0), 1, 2), ((1,), 0, 0)):
        mean = A[list(around)].mean(axis=0)
        for target, label, times in ((centre, 1, 1), (0, 0, negatives)):
            for row in around:
                d_in[row] += times * (label - sigmoid(B[target] @ mean)) * B[target]
    np.testing.assert_allclose((inputs - A) / RATE, d_in, atol=5e-3)


def test_the_context_chooses_the_translation():
    """0 may be translated by 2 or 3; the words around it lie close to 3."""
    inputs, outputs = matrices(4, 4)
    inputs[0] = 0
    inputs[3] = 2 * inputs[1]
    inputs[2] = -inputs[1]
    before = outputs.copy()
    call = arguments([1, 0, 1], inputs, outputs, swaps=[(0, 2), (0, 3)], weights=[1, 1, 1e-12, 1e-12])
    train_cbow(*call, np.arange(5), np.arange(4, dtype=np.int32), True)
    np.testing.assert_array_equal(outputs[2], before[2])
    assert np.abs(outputs[3] - before[3]).max() > 0


def test_words_are_swapped_as_often_as_asked():
    """With every word swapped, 0 is never seen and 1 stands in its place."""
    inputs, outputs = matrices(3, 3)
    before = inputs.copy()
    call = arguments([0, 2] * 20, inputs, outputs, swaps=[(0, 1)], below=2**32, weights=[1e-12, 1e-12, 1])
    train_words(*call)
    np.testing.assert_array_equal(inputs[0], before[0])
    assert np.abs(inputs[1] - before[1]).max() > 0


def test_words_thinned_out_are_not_seen():
    inputs, outputs = matrices(3, 3)
    before = inputs.copy()
    keep = np.array([0, 0xFFFFFFFF, 0xFFFFFFFF], dtype=np.uint32)
    train_words(*arguments([0, 1, 2, 0, 1], inputs, outputs, keep=keep))
    np.testing.assert_array_equal(inputs[0], before[0])
    assert np.abs(inputs[1:] - before[1:]).max() > 0


def test_lines_of_any_length():
    for length in (0, 1, LONGEST_LINE, 2 * LONGEST_LINE + 1):
        inputs, outputs = matrices(3, 3)
        train_words(*arguments(np.arange(length) % 3, inputs, outputs))
        assert np.isfinite(inputs).all()


def test_a_single_word_has_no_negatives_and_does_not_hang():
    inputs, outputs = matrices(1, 1)
    train_words(*arguments([0, 0, 0], inputs, outputs))
    assert np.isfinite(inputs).all()


@pytest.mark.parametrize("weights", [[1.0], [1, 2, 3], [0.1, 100, 0.1, 5], list(range(1, 200))])
def test_the_alias_table_holds_the_weights(weights):
    weights = np.array(weights, dtype=np.float64)
    threshold, alias = alias_table(weights)
    kept = (threshold.astype(np.float64) + 1) / 2**32
    shares = kept / len(weights)
    np.add.at(shares, alias, (1 - kept) / len(weights))
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=1e-6)
