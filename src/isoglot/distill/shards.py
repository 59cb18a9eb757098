"""Shards of sentences that are encoded and learned from together: as many as fit into memory with their vectors.

Shards depend on the text alone: a resumed run has the same shards, and an encoder's cache holds for every epoch and
seed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isoglot.distill.sentences import Sentences
from isoglot.spaces import IntVector

#: Sentences of a shard, and words: 768 dimensions of so many words take 200 MB.
SHARD_SENTENCES = 2048
SHARD_WORDS = 65_536


@dataclasses.dataclass(frozen=True, eq=False)
class Shard:
    """Some sentences.

    Args:
        sentences: their words as in the text.
        rows: (words,) rows of the vocabulary, -1 for unknown words.
        of_sentence: (words,) number of the sentence of each word, from 0.
        of_unit: (words,) number of the paragraph of each word, or of its sentence if units are sentences.
    """

    sentences: Sequence[Sequence[str]]
    rows: npt.NDArray[np.int32]
    of_sentence: IntVector
    of_unit: IntVector

    def __len__(self) -> int:
        return len(self.sentences)

    def units(self) -> list[list[str]]:
        """The words of each unit."""
        ends = np.flatnonzero(np.diff(self.of_unit, append=-1)) + 1
        words = [word for sentence in self.sentences for word in sentence]
        return [words[a:b] for a, b in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]

    def take(self, units: npt.NDArray[np.bool_]) -> Shard:
        """The shard of these units only."""
        words = units[self.of_unit]
        sentences = np.unique(self.of_sentence[words])
        renumbered = [np.unique(numbers[words], return_inverse=True)[1] for numbers in (self.of_sentence, self.of_unit)]
        return Shard([self.sentences[i] for i in sentences], self.rows[words], *renumbered)


def shuffled_units(sentences: Sentences, *, paragraphs: bool) -> list[range]:
    """Sentence numbers of all units (sentences or paragraphs), in random order.

    The order is the same for every seed, so that several can share a pass or a cache; a seed only affects the order
    within a shard.
    """
    bounds = sentences.paragraphs if paragraphs else np.arange(len(sentences) + 1)
    order = np.random.default_rng(0x0D).permutation(len(bounds) - 1)
    return [range(first, last) for first, last in zip(bounds[order].tolist(), bounds[order + 1].tolist(), strict=True)]


def shard_bounds(sentences: Sentences, units: Sequence[range]) -> list[int]:
    """The first unit of each shard, and the number of units."""
    before = np.concatenate([[0], np.cumsum(sentences.lengths, dtype=np.int64)])
    bounds = [0]
    in_shard = words_in_shard = 0
    for number, unit in enumerate(units):
        words = int(before[unit.stop] - before[unit.start])
        if in_shard and (in_shard + len(unit) > SHARD_SENTENCES or words_in_shard + words > SHARD_WORDS):
            bounds.append(number)
            in_shard = words_in_shard = 0
        in_shard += len(unit)
        words_in_shard += words
    return [*bounds, len(units)]


def read_shard(sentences: Sentences, units: Sequence[range]) -> Shard:
    """The sentences of these units with the rows of their words."""
    read = [sentences[number] for unit in units for number in unit]
    lengths = np.array([len(words) for words in read])
    of_sentence = np.repeat(np.arange(len(read)), lengths)
    of_unit = np.repeat(np.arange(len(units)), [len(unit) for unit in units])
    return Shard(read, sentences.rows(read), of_sentence, of_unit[of_sentence])
