"""The steps that the training loops are made of: drawing words, and rows of numbers meeting each other."""

# mypy: allow-untyped-calls
from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "fastmath": True, "boundscheck": False}


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


@njit(inline="always", **OPTIONS)
def step(state: Any) -> Any:
    """One step of xorshift64; the callers use its upper bits."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(inline="always", **OPTIONS)
def below(state: Any, n: Any) -> Any:
    """A number below n out of the upper 32 bits."""
    return np.int64(((state >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(inline="always", **OPTIONS)
def _error(label: Any, score: Any) -> Any:
    """label - sigmoid(score), the sigmoid cut off where it is flat."""
    if score > np.float32(8.0):
        return label - np.float32(1.0)
    if score < np.float32(-8.0):
        return label
    return label - np.float32(1.0) / (np.float32(1.0) + np.float32(math.exp(-score)))


@njit(**OPTIONS)
def fill(
    sentence: Any, tokens: Any, at: Any, end: Any, keep: Any, swap_starts: Any, swaps: Any, swap_below: Any, state: Any
) -> Any:
    """Words of tokens[at:end] into `sentence`: frequent ones thinned out, some swapped for a translation."""
    length = 0
    for i in range(at, end):
        word = tokens[i]
        state = step(state)
        if np.uint32(state >> np.uint64(32)) > keep[word]:
            continue
        if swap_below > 0:
            count = swap_starts[word + 1] - swap_starts[word]
            if count > 0:
                state = step(state)
                if np.int64(state >> np.uint64(32)) < swap_below:
                    state = step(state)
                    word = swaps[swap_starts[word] + below(state, count)]
        sentence[length] = word
        length += 1
    return length, state


@njit(**OPTIONS)
def draw_targets(targets: Any, centre: Any, negatives: Any, threshold: Any, alias: Any, state: Any) -> Any:
    """The centre word, then negative samples other than it."""
    targets[0] = centre
    n = len(threshold)
    drawn = 1
    tries = 0
    while drawn <= negatives and tries < 10 * negatives:  # a vocabulary of one word has no negatives
        tries += 1
        state = step(state)
        word = below(state, n)
        state = step(state)
        if np.uint32(state >> np.uint64(32)) > threshold[word]:
            word = np.int64(alias[word])
        if word != centre:
            targets[drawn] = word
            drawn += 1
    return drawn, state


@njit(**OPTIONS)
def meet(X: Any, D: Any, k: Any, rows: Any, row: Any, label: Any, rate: Any) -> None:
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


@njit(**OPTIONS)
def meet_many(x: Any, d: Any, rows: Any, targets: Any, labels: Any, n: Any, rate: Any) -> None:
    """One input meets n output rows, four at a time where these are distinct; `labels` are 1 or 0."""
    width = len(x)
    t = 0
    while t < n:
        a, b, c, e = targets[t], targets[min(t + 1, n - 1)], targets[min(t + 2, n - 1)], targets[min(t + 3, n - 1)]
        if t + 4 <= n and a != b and a != c and a != e and b != c and b != e and c != e:
            o0, o1, o2, o3 = rows[a], rows[b], rows[c], rows[e]
            s0 = s1 = s2 = s3 = np.float32(0.0)
            for i in range(width):
                s0 += x[i] * o0[i]
                s1 += x[i] * o1[i]
                s2 += x[i] * o2[i]
                s3 += x[i] * o3[i]
            g0, g1 = rate * _error(labels[t], s0), rate * _error(labels[t + 1], s1)
            g2, g3 = rate * _error(labels[t + 2], s2), rate * _error(labels[t + 3], s3)
            for i in range(width):
                v = x[i]
                r0, r1, r2, r3 = o0[i], o1[i], o2[i], o3[i]
                d[i] += g0 * r0 + g1 * r1 + g2 * r2 + g3 * r3
                o0[i] = r0 + g0 * v
                o1[i] = r1 + g1 * v
                o2[i] = r2 + g2 * v
                o3[i] = r3 + g3 * v
            t += 4
        else:
            o0 = rows[a]
            s0 = np.float32(0.0)
            for i in range(width):
                s0 += x[i] * o0[i]
            g0 = rate * _error(labels[t], s0)
            for i in range(width):
                r0 = o0[i]
                d[i] += g0 * r0
                o0[i] = r0 + g0 * x[i]
            t += 1


@njit(**OPTIONS)
def gather(hidden: Any, inputs: Any, part_starts: Any, parts: Any, word: Any) -> Any:
    """Add the rows of a word and its n-grams to `hidden`; how many they were."""
    for p in range(part_starts[word], part_starts[word + 1]):
        row = inputs[parts[p]]
        for i in range(len(hidden)):
            hidden[i] += row[i]
    return part_starts[word + 1] - part_starts[word]


@njit(**OPTIONS)
def scatter(gain: Any, inputs: Any, part_starts: Any, parts: Any, word: Any) -> None:
    for p in range(part_starts[word], part_starts[word + 1]):
        row = inputs[parts[p]]
        for i in range(len(gain)):
            row[i] += gain[i]


@njit(**OPTIONS)
def best_translation(word: Any, hidden: Any, inputs: Any, swap_starts: Any, swaps: Any) -> Any:
    """Of the word's translations the one nearest to the sum of the context and the word's own vector; -1: none."""
    best, best_score = np.int64(-1), np.float32(-3e38)  # fastmath knows no infinity
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
