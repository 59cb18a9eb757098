"""`WordVectors`: the vectors of the words of many sentences, in one matrix."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from isoglot.errors import InputError, ShapeError
from isoglot.spaces import FloatMatrix, IntVector


@dataclasses.dataclass(frozen=True, eq=False)
class WordVectors:
    """One row a word, sentence after sentence.

    Args:
        sentences: the words of each sentence.
        vectors: (all words, d).
        offsets: (sentences + 1,): sentence i has rows offsets[i] to offsets[i + 1].

    >>> found = WordVectors([["a", "cat"], [], ["it"]], np.eye(3, dtype=np.float32), np.array([0, 2, 2, 3]))
    >>> len(found), found[0].shape, found[1].shape, found[2].tolist()
    (3, (2, 3), (0, 3), [[0.0, 0.0, 1.0]])
    """

    sentences: Sequence[Sequence[str]]
    vectors: FloatMatrix
    offsets: IntVector

    def __post_init__(self) -> None:
        # What every encoder must keep: as many vectors as words, in order, finite.
        lengths = np.fromiter((len(words) for words in self.sentences), dtype=np.int64, count=len(self.sentences))
        if len(self.offsets) != len(lengths) + 1 or (np.diff(self.offsets) != lengths).any():
            raise ShapeError("the encoder gave another number of vectors than there are words")
        if len(self.vectors) != self.offsets[-1]:
            raise ShapeError(f"{len(self.vectors):,} vectors for {int(self.offsets[-1]):,} words")
        finite = np.isfinite(self.vectors).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            sentence = int(np.searchsorted(self.offsets, row, side="right")) - 1
            raise InputError(
                f"the encoder gave NaN or infinite numbers for {self.word(row)!r} in sentence {sentence + 1:,}",
                remedy="set `dtype` to float32, or check the model",
            )

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, number: int) -> FloatMatrix:
        """The vectors (words, d) of one sentence."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self.vectors[self.offsets[number] : self.offsets[number + 1]]

    def __iter__(self) -> Iterator[FloatMatrix]:
        return (self[number] for number in range(len(self)))

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    def word(self, row: int) -> str:
        """The word of a row."""
        sentence = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return self.sentences[sentence][row - int(self.offsets[sentence])]

    def with_vectors(self, vectors: FloatMatrix) -> WordVectors:
        """The same words with other vectors."""
        return WordVectors(self.sentences, vectors, self.offsets)
