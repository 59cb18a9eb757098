"""The inner loops of training word vectors: skip-gram and CBOW with negative sampling.

Each call trains on some lines and is meant to run in several threads at once on the same matrices, without locks
(Recht et al. 2011, "Hogwild"): collisions are rare and harmless. What a step does is fastText's; how it is done is not:

- **Skip-gram of whole words**: the words around a position share that position's negative samples (Ji et al. 2016,
  "Parallelizing word2vec in shared and distributed memory"). Six output rows then meet up to ten input rows while all
  are in the nearest cache, instead of one pair of rows at a time.
- **Skip-gram with subwords**: the position's own vector, the mean of its word and n-grams, is gathered once and its
  gradient scattered once, not once for every word around it.

Rows are padded to a multiple of 8 numbers, so that loops over a row have no rest; the padding stays zero.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["LONGEST_LINE", "alias_table", "train_cbow", "train_subwords", "train_words"]

#: Longer lines are cut into pieces of this many words, as fastText does.
LONGEST_LINE = 1024
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "fastmath": True, "boundscheck": False}


@njit(cache=True)
def alias_table(weights: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Walker's alias table: draw a row, keep it if 32 random bits are below its threshold, else take its alias."""
    n = len(weights)
    scaled = weights * (n / weights.sum())
    threshold = np.full(n, np.uint32(0xFFFFFFFF), dtype=np.uint32)
    alias = np.arange(n).astype(np.int32)
    small = np.empty(n, dtype=np.int64)
    large = np.empty(n, dtype=np.int64)
    n_small, n_large = 0, 0
    for i in range(n):
        if scaled[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        low, high = small[n_small], large[n_large - 1]
        threshold[low] = np.uint32(min(scaled[low] * 4294967296.0, 4294967295.0))
        alias[low] = high
        scaled[high] -= 1.0 - scaled[low]
        if scaled[high] < 1.0:
            n_large -= 1
            small[n_small] = high
            n_small += 1
    return threshold, alias


@njit(inline="always", **_OPTIONS)
def _step(state: Any) -> Any:
    """One step of xorshift64; the callers use its upper bits."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(inline="always", **_OPTIONS)
def _below(state: Any, n: Any) -> Any:
    """A number below n out of the upper 32 bits."""
    return np.int64(((state >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(inline="always", **_OPTIONS)
def _error(label: Any, score: Any) -> Any:
    """label - sigmoid(score), the sigmoid cut off where it is flat."""
    if score > np.float32(8.0):
        return label - np.float32(1.0)
    if score < np.float32(-8.0):
        return label
    return label - np.float32(1.0) / (np.float32(1.0) + np.float32(math.exp(-score)))


@njit(**_OPTIONS)
def _fill(
    sentence: Any, tokens: Any, at: Any, end: Any, keep: Any, swap_starts: Any, swaps: Any, swap_below: Any, state: Any
) -> Any:
    """Words of tokens[at:end] into `sentence`: frequent ones thinned out, some swapped for a translation."""
    length = 0
    for i in range(at, end):
        word = tokens[i]
        state = _step(state)
        if np.uint32(state >> np.uint64(32)) > keep[word]:
            continue
        if swap_below > 0:
            count = swap_starts[word + 1] - swap_starts[word]
            if count > 0:
                state = _step(state)
                if np.int64(state >> np.uint64(32)) < swap_below:
                    state = _step(state)
                    word = swaps[swap_starts[word] + _below(state, count)]
        sentence[length] = word
        length += 1
    return length, state


@njit(**_OPTIONS)
def _draw_targets(targets: Any, centre: Any, negatives: Any, threshold: Any, alias: Any, state: Any) -> Any:
    """The centre word, then negative samples other than it."""
    targets[0] = centre
    n = len(threshold)
    drawn = 1
    tries = 0
    while drawn <= negatives and tries < 10 * negatives:  # a vocabulary of one word has no negatives
        tries += 1
        state = _step(state)
        word = _below(state, n)
        state = _step(state)
        if np.uint32(state >> np.uint64(32)) > threshold[word]:
            word = np.int64(alias[word])
        if word != centre:
            targets[drawn] = word
            drawn += 1
    return drawn, state


@njit(**_OPTIONS)
def _meet(X: Any, D: Any, k: Any, rows: Any, row: Any, label: Any, rate: Any) -> None:
    """One output row meets k input rows: D collects what the inputs are to gain, the row changes at once.

    Four, two or one inputs at a time: the output row is then read and written once for several of them.
    """
    width = X.shape[1]
    out = rows[row]
    c = 0
    while c + 4 <= k:
        x0, x1, x2, x3 = X[c], X[c + 1], X[c + 2], X[c + 3]
        d0, d1, d2, d3 = D[c], D[c + 1], D[c + 2], D[c + 3]
        s0 = s1 = s2 = s3 = np.float32(0.0)
        for i in range(width):
            o = out[i]
            s0 += o * x0[i]
            s1 += o * x1[i]
            s2 += o * x2[i]
            s3 += o * x3[i]
        g0, g1 = rate * _error(label, s0), rate * _error(label, s1)
        g2, g3 = rate * _error(label, s2), rate * _error(label, s3)
        for i in range(width):
            o = out[i]
            d0[i] += g0 * o
            d1[i] += g1 * o
            d2[i] += g2 * o
            d3[i] += g3 * o
            out[i] = o + g0 * x0[i] + g1 * x1[i] + g2 * x2[i] + g3 * x3[i]
        c += 4
    if c + 2 <= k:
        x0, x1 = X[c], X[c + 1]
        d0, d1 = D[c], D[c + 1]
        s0 = s1 = np.float32(0.0)
        for i in range(width):
            s0 += out[i] * x0[i]
            s1 += out[i] * x1[i]
        g0, g1 = rate * _error(label, s0), rate * _error(label, s1)
        for i in range(width):
            o = out[i]
            d0[i] += g0 * o
            d1[i] += g1 * o
            out[i] = o + g0 * x0[i] + g1 * x1[i]
        c += 2
    if c < k:
        x0, d0 = X[c], D[c]
        s0 = np.float32(0.0)
        for i in range(width):
            s0 += out[i] * x0[i]
        g0 = rate * _error(label, s0)
        for i in range(width):
            o = out[i]
            d0[i] += g0 * o
            out[i] = o + g0 * x0[i]


@njit(**_OPTIONS)
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
            length, state = _fill(sentence, tokens, at, end, keep, swap_starts, swaps, swap_below, state)
            for position in range(length):
                state = _step(state)
                reach = 1 + _below(state, window)
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
                drawn, state = _draw_targets(targets, sentence[position], negatives, threshold, alias, state)
                for t in range(drawn):
                    label = np.float32(1.0) if t == 0 else np.float32(0.0)
                    _meet(X, D, k, outputs, targets[t], label, rate)
                for c in range(k):
                    source, gain = inputs[around[c]], D[c]
                    for i in range(width):
                        source[i] += gain[i]


@njit(**_OPTIONS)
def _gather(hidden: Any, inputs: Any, part_starts: Any, parts: Any, word: Any) -> Any:
    """Add the rows of a word and its n-grams to `hidden`; how many they were."""
    for p in range(part_starts[word], part_starts[word + 1]):
        row = inputs[parts[p]]
        for i in range(len(hidden)):
            hidden[i] += row[i]
    return part_starts[word + 1] - part_starts[word]


@njit(**_OPTIONS)
def _scatter(gain: Any, inputs: Any, part_starts: Any, parts: Any, word: Any) -> None:
    for p in range(part_starts[word], part_starts[word + 1]):
        row = inputs[parts[p]]
        for i in range(len(gain)):
            row[i] += gain[i]


@njit(**_OPTIONS)
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
    targets = np.empty(negatives + 1, dtype=np.int64)
    X = np.empty((1, width), dtype=np.float32)
    D = np.empty((1, width), dtype=np.float32)
    state = np.uint64(seed)
    for line in lines:
        for at in range(starts[line], starts[line + 1], LONGEST_LINE):
            end = min(at + LONGEST_LINE, starts[line + 1])
            length, state = _fill(sentence, tokens, at, end, keep, swap_starts, swaps, swap_below, state)
            for position in range(length):
                state = _step(state)
                reach = 1 + _below(state, window)
                word = sentence[position]
                X[0, :] = np.float32(0.0)
                D[0, :] = np.float32(0.0)
                scale = np.float32(1.0) / np.float32(_gather(X[0], inputs, part_starts, parts, word))
                for i in range(width):
                    X[0, i] *= scale
                for other in range(max(0, position - reach), min(length, position + reach + 1)):
                    if other == position:
                        continue
                    drawn, state = _draw_targets(targets, sentence[other], negatives, threshold, alias, state)
                    for t in range(drawn):
                        label = np.float32(1.0) if t == 0 else np.float32(0.0)
                        _meet(X, D, 1, outputs, targets[t], label, rate)
                _scatter(D[0], inputs, part_starts, parts, word)


@njit(**_OPTIONS)
def _best_translation(word: Any, hidden: Any, inputs: Any, swap_starts: Any, swaps: Any) -> Any:
    """Of the word's translations the one nearest to the sum of the context and the word's own vector; -1: none."""
    best, best_score = np.int64(-1), np.float32(-np.inf)
    own = inputs[word]
    for s in range(swap_starts[word], swap_starts[word + 1]):
        row = inputs[swaps[s]]
        dot = length = np.float32(0.0)
        for i in range(len(hidden)):
            dot += (hidden[i] + own[i]) * row[i]
            length += row[i] * row[i]
        score = dot / np.float32(math.sqrt(length + np.float32(1e-12)))
        if score > best_score:
            best, best_score = np.int64(swaps[s]), score
    return best


@njit(**_OPTIONS)
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
    X = np.empty((1, width), dtype=np.float32)
    D = np.empty((1, width), dtype=np.float32)
    state = np.uint64(seed)
    for line in lines:
        for at in range(starts[line], starts[line + 1], LONGEST_LINE):
            end = min(at + LONGEST_LINE, starts[line + 1])
            length, state = _fill(sentence, tokens, at, end, keep, swap_starts, swaps, swap_below, state)
            for position in range(length):
                state = _step(state)
                reach = 1 + _below(state, window)
                first, last = max(0, position - reach), min(length, position + reach + 1)
                if last - first < 2:
                    continue
                X[0, :] = np.float32(0.0)
                D[0, :] = np.float32(0.0)
                count = 0
                for other in range(first, last):
                    if other != position:
                        count += _gather(X[0], inputs, part_starts, parts, sentence[other])
                for i in range(width):
                    X[0, i] /= np.float32(count)
                word = sentence[position]
                drawn, state = _draw_targets(targets, word, negatives, threshold, alias, state)
                for t in range(drawn):
                    label = np.float32(1.0) if t == 0 else np.float32(0.0)
                    _meet(X, D, 1, outputs, targets[t], label, rate)
                if translate:
                    chosen = _best_translation(word, X[0], inputs, swap_starts, swaps)
                    if chosen >= 0:
                        _meet(X, D, 1, outputs, chosen, np.float32(1.0), rate)
                for other in range(first, last):
                    if other != position:
                        _scatter(D[0], inputs, part_starts, parts, sentence[other])
