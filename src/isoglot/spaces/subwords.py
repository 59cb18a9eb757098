"""fastText's subwords: vectors for words outside the vocabulary, from the vectors of their character n-grams.

Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information". A hash of an n-gram's bytes gives the row
of its vector, so any word has a vector. This module reproduces fastText 0.9 bit for bit.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from isoglot.errors import FormatError

#: fastText's word for the end of a line; the only word without n-grams.
END_OF_SENTENCE = "</s>"


def fasttext_hash(data: bytes) -> int:
    """32-bit FNV-1a as fastText computes it: bytes from 128 on are sign-extended before they are mixed in.

    >>> fasttext_hash(b"<a")
    1761008750
    """
    value = 2166136261
    for byte in data:
        value ^= byte if byte < 128 else byte | 0xFFFFFF00
        value = value * 16777619 & 0xFFFFFFFF
    return value


def ngrams(word: str, minn: int, maxn: int) -> list[str]:
    """Character n-grams of `<word>` in fastText's order, without the bare brackets.

    >>> ngrams("ab", 2, 3)
    ['<a', '<ab', 'ab', 'ab>', 'b>']
    """
    if word == END_OF_SENTENCE:
        return []
    text = f"<{word}>"
    return [
        text[i : i + n]
        for i in range(len(text))
        for n in range(max(minn, 1), min(maxn, len(text) - i) + 1)
        if not (n == 1 and (i == 0 or i == len(text) - 1))
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class SubwordTable:
    """Vectors of hashed character n-grams.

    Args:
        minn, maxn: shortest and longest n-gram, in characters.
        bucket: number of rows that n-grams are hashed into.
        matrix: (bucket, d) float32, usually a memory map of the model file.

    >>> table = SubwordTable(2, 3, 4, np.ones((4, 2), dtype=np.float32))
    >>> table.vector("unseen")
    array([1., 1.], dtype=float32)
    """

    minn: int
    maxn: int
    bucket: int
    matrix: npt.NDArray[np.float32]
    #: Where the matrix begins in the model file, if it is mapped from one: the cache then does not copy it.
    offset: int | None = None

    def rows(self, word: str) -> list[int]:
        """Row of each n-gram of the word, repeated if n-grams repeat."""
        return [fasttext_hash(g.encode("utf-8")) % self.bucket for g in ngrams(word, self.minn, self.maxn)]

    def vector(self, word: str) -> npt.NDArray[np.float32]:
        """Mean of the n-gram vectors; zeros for a word too short to have n-grams, as in fastText."""
        rows = self.rows(word)
        total = np.zeros(self.matrix.shape[1], dtype=np.float32)
        with np.errstate(all="ignore"):
            # One after the other, in float32: the order of additions decides the last bit.
            for row in rows:
                total += self.matrix[row]
            if rows:
                total *= np.float32(1.0 / len(rows))
        if not np.isfinite(total).all():
            # A model can have millions of n-grams, mapped but not read: they are checked when they are used.
            raise FormatError(f"the n-gram vectors of {word!r} are not finite", remedy="the model is damaged")
        return total
