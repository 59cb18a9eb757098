"""Compiled loops of the binary formats: fastText's n-gram rows and spaCy's string hash, over many words at once.

Words come as one array of bytes and `offsets` (n + 1,), word i being `data[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@njit(nogil=True, cache=True)
def ngram_rows(data: Bytes, offsets: Ints, minn: int, maxn: int, bucket: int, rows: Ints, segments: Ints) -> int:
    """Fill `rows` with the bucket of each n-gram of each word, `segments` (n + 1,) with the start of each word's rows.

    Each word comes with its brackets (`<word>`); an empty word has no n-grams. Returns the number of rows,
    even if `rows` is too short to hold them: call with an empty one to count.
    """
    count = 0
    for word in range(len(offsets) - 1):
        segments[word] = count
        start, stop = offsets[word], offsets[word + 1]
        for i in range(start, stop):
            if data[i] & 0xC0 == 0x80:
                continue
            value = np.uint32(2166136261)
            j = i
            n = 1
            while j < stop and n <= maxn:
                first = True
                while j < stop and (first or data[j] & 0xC0 == 0x80):
                    first = False
                    # fastText's `char` is signed: high bytes are sign-extended before they are mixed in.
                    byte = np.uint32(data[j])
                    if byte >= 128:
                        byte |= np.uint32(0xFFFFFF00)
                    value = np.uint32((value ^ byte) * np.uint32(16777619))
                    j += 1
                if n >= minn and not (n == 1 and (i == start or j == stop)):
                    if count < len(rows):
                        rows[count] = np.int64(value) % bucket
                    count += 1
                n += 1
    segments[len(offsets) - 1] = count
    return count


@njit(nogil=True, cache=True)
def mean_of_segments(
    own: npt.NDArray[np.float32], ngrams: npt.NDArray[np.float32], segments: Ints, out: npt.NDArray[np.float32]
) -> None:
    """Mean of each word's own row and its n-gram rows, added in order in float32 as fastText does."""
    dim = own.shape[1]
    for word in range(len(own)):
        for j in range(dim):
            out[word, j] = own[word, j]
        for k in range(segments[word], segments[word + 1]):
            for j in range(dim):
                out[word, j] += ngrams[k, j]
        scale = np.float32(1.0 / (segments[word + 1] - segments[word] + 1))
        for j in range(dim):
            out[word, j] *= scale


@njit(nogil=True, cache=True)
def murmur64a(data: Bytes, offsets: Ints, seed: int, out: npt.NDArray[np.uint64]) -> None:
    """Austin Appleby's MurmurHash64A of each word (public domain)."""
    m = np.uint64(0xC6A4A7935BD1E995)
    r = np.uint64(47)
    eight = np.uint64(8)
    for word in range(len(offsets) - 1):
        start, stop = offsets[word], offsets[word + 1]
        h = np.uint64(seed) ^ (np.uint64(stop - start) * m)
        p = start
        while p + 8 <= stop:
            k = np.uint64(0)
            for i in range(8):
                k |= np.uint64(data[p + i]) << (eight * np.uint64(i))
            k *= m
            k ^= k >> r
            k *= m
            h ^= k
            h *= m
            p += 8
        if p < stop:
            for i in range(stop - p):
                h ^= np.uint64(data[p + i]) << (eight * np.uint64(i))
            h *= m
        h ^= h >> r
        h *= m
        h ^= h >> r
        out[word] = h
