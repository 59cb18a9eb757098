"""The inner loops of training word vectors: skip-gram and CBOW with negative sampling.

Each call trains on some lines and is meant to run in several threads at once on the same matrices, without locks
(Recht et al. 2011, "Hogwild"): collisions are rare and harmless. The loss is that of word2vec and fastText; how we go
down it differs:

- **Skip-gram of whole words**: the words around a position predict the word there, as in word2vec's program (fastText
  predicts the other way round, over the same pairs), and share its negative samples (Ji et al. 2016, "Parallelizing
  word2vec in shared and distributed memory"). Six output rows then meet up to ten input rows while all are in the
  nearest cache, instead of one pair of rows at a time.
- **Skip-gram with subwords**: the position's own vector, the mean of its word and n-grams, is gathered once and its
  gradient scattered once, not once for every word around it.

Rows are padded to a multiple of 8 numbers, so that loops over a row have no rest; the padding stays zero.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from isoglot.wordvectors.corpus import LONGEST_LINE
from isoglot.wordvectors.steps import (
    OPTIONS,
    below,
    best_translation,
    draw_targets,
    fill,
    gather,
    meet,
    meet_many,
    scatter,
    step,
)


@njit(**OPTIONS)
def train_words(
    tokens: Any,
    starts: Any,
    lines: Any,
    inputs: Any,
    outputs: Any,
    keep: Any,
    threshold: Any,
    alias: Any,
    swap_starts: Any,
    swaps: Any,
    swap_below: Any,
    window: Any,
    negatives: Any,
    rate: Any,
    seed: Any,
) -> None:
    """Skip-gram of whole words over these lines."""
    width = inputs.shape[1]
    sentence = np.empty(LONGEST_LINE, dtype=np.int64)
    targets = np.empty(negatives + 1, dtype=np.int64)
    around = np.empty(2 * window, dtype=np.int64)
    X = np.empty((2 * window, width), dtype=np.float32)
    D = np.empty((2 * window, width), dtype=np.float32)
    state = np.uint64(seed)
    for line in lines:
        for at in range(starts[line], starts[line + 1], LONGEST_LINE):
            end = min(at + LONGEST_LINE, starts[line + 1])
            length, state = fill(sentence, tokens, at, end, keep, swap_starts, swaps, swap_below, state)
            for position in range(length):
                state = step(state)
                reach = 1 + below(state, window)
                k = 0
                for other in range(max(0, position - reach), min(length, position + reach + 1)):
                    if other != position:
                        around[k] = sentence[other]
                        k += 1
                if k == 0:
                    continue
                for c in range(k):
                    source, copy, gain = inputs[around[c]], X[c], D[c]
                    for i in range(width):
                        copy[i] = source[i]
                        gain[i] = np.float32(0.0)
                drawn, state = draw_targets(targets, sentence[position], negatives, threshold, alias, state)
                for t in range(drawn):
                    label = np.float32(1.0) if t == 0 else np.float32(0.0)
                    meet(X, D, k, outputs, targets[t], label, rate)
                for c in range(k):
                    source, gain = inputs[around[c]], D[c]
                    for i in range(width):
                        source[i] += gain[i]


@njit(**OPTIONS)
def train_subwords(
    tokens: Any,
    starts: Any,
    lines: Any,
    inputs: Any,
    outputs: Any,
    keep: Any,
    threshold: Any,
    alias: Any,
    swap_starts: Any,
    swaps: Any,
    swap_below: Any,
    window: Any,
    negatives: Any,
    rate: Any,
    seed: Any,
    part_starts: Any,
    parts: Any,
) -> None:
    """Skip-gram whose inputs are means of a word's row and its n-grams' rows."""
    width = inputs.shape[1]
    sentence = np.empty(LONGEST_LINE, dtype=np.int64)
    targets = np.empty(2 * window * (negatives + 1), dtype=np.int64)
    labels = np.empty(2 * window * (negatives + 1), dtype=np.float32)
    X = np.empty((1, width), dtype=np.float32)
    D = np.empty((1, width), dtype=np.float32)
    state = np.uint64(seed)
    for line in lines:
        for at in range(starts[line], starts[line + 1], LONGEST_LINE):
            end = min(at + LONGEST_LINE, starts[line + 1])
            length, state = fill(sentence, tokens, at, end, keep, swap_starts, swaps, swap_below, state)
            for position in range(length):
                state = step(state)
                reach = 1 + below(state, window)
                word = sentence[position]
                X[0, :] = np.float32(0.0)
                D[0, :] = np.float32(0.0)
                scale = np.float32(1.0) / np.float32(gather(X[0], inputs, part_starts, parts, word))
                for i in range(width):
                    X[0, i] *= scale
                n = 0
                for other in range(max(0, position - reach), min(length, position + reach + 1)):
                    if other == position:
                        continue
                    drawn, state = draw_targets(targets[n:], sentence[other], negatives, threshold, alias, state)
                    labels[n : n + drawn] = np.float32(0.0)
                    labels[n] = np.float32(1.0)
                    n += drawn
                meet_many(X[0], D[0], outputs, targets, labels, n, rate)
                scatter(D[0], inputs, part_starts, parts, word)


@njit(**OPTIONS)
def train_cbow(
    tokens: Any,
    starts: Any,
    lines: Any,
    inputs: Any,
    outputs: Any,
    keep: Any,
    threshold: Any,
    alias: Any,
    swap_starts: Any,
    swaps: Any,
    swap_below: Any,
    window: Any,
    negatives: Any,
    rate: Any,
    seed: Any,
    part_starts: Any,
    parts: Any,
    translate: Any,
) -> None:
    """CBOW: the mean of the words around a position predicts the word there and, with `translate`, a translation of it.

    The latter is the supervised joint training of Duong et al. 2016: of the dictionary's translations the context
    chooses one, anew at every step.
    """
    width = inputs.shape[1]
    sentence = np.empty(LONGEST_LINE, dtype=np.int64)
    targets = np.empty(negatives + 1, dtype=np.int64)
    labels = np.zeros(negatives + 1, dtype=np.float32)
    labels[0] = np.float32(1.0)
    X = np.empty((1, width), dtype=np.float32)
    D = np.empty((1, width), dtype=np.float32)
    state = np.uint64(seed)
    for line in lines:
        for at in range(starts[line], starts[line + 1], LONGEST_LINE):
            end = min(at + LONGEST_LINE, starts[line + 1])
            length, state = fill(sentence, tokens, at, end, keep, swap_starts, swaps, swap_below, state)
            for position in range(length):
                state = step(state)
                reach = 1 + below(state, window)
                first, last = max(0, position - reach), min(length, position + reach + 1)
                if last - first < 2:
                    continue
                X[0, :] = np.float32(0.0)
                D[0, :] = np.float32(0.0)
                count = 0
                for other in range(first, last):
                    if other != position:
                        count += gather(X[0], inputs, part_starts, parts, sentence[other])
                for i in range(width):
                    X[0, i] /= np.float32(count)
                word = sentence[position]
                drawn, state = draw_targets(targets, word, negatives, threshold, alias, state)
                meet_many(X[0], D[0], outputs, targets, labels, drawn, rate)
                if translate:
                    chosen = best_translation(word, X[0], inputs, swap_starts, swaps)
                    if chosen >= 0:
                        meet(X, D, 1, outputs, chosen, np.float32(1.0), rate)
                for other in range(first, last):
                    if other != position:
                        scatter(D[0], inputs, part_starts, parts, sentence[other])
