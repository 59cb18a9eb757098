"""Vectors of a text, computed once, kept in shards of their own files and memory-mapped from there.

A killed run resumes after the last shard; a text that several seeds, heads or runs need is encoded once.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.encoders import SHARD
from isoglot.files import atomic_path
from isoglot.progress import Progress, silent, within
from isoglot.spaces import FloatMatrix, IntVector
from isoglot.transfer.vectors import TextVectors
from isoglot.verified import find_damage, seal


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """A tall matrix in parts, of which each is a file or an array.

    >>> rows = Rows([np.zeros((2, 1), np.float32), np.ones((3, 1), np.float32)])
    >>> len(rows), rows.take(np.array([1, 2, 4]))[:, 0].tolist()
    (5, [0.0, 1.0, 1.0])
    """

    parts: Sequence[FloatMatrix]

    @functools.cached_property
    def _starts(self) -> IntVector:
        starts: IntVector = np.cumsum([0, *map(len, self.parts)], dtype=np.int64)
        return starts

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def dim(self) -> int:
        return int(self.parts[0].shape[1])

    def take(self, rows: IntVector) -> FloatMatrix:
        """These rows, in this order, in memory."""
        part = np.searchsorted(self._starts, rows, side="right") - 1
        taken = np.empty((len(rows), self.dim), dtype=np.float32)
        for number in np.unique(part).tolist():
            own = part == number
            taken[own] = self.parts[number][rows[own] - self._starts[number]]
        return taken


@dataclasses.dataclass(frozen=True, eq=False)
class StoredWords:
    """Vectors of the words of many sentences: sentence i has rows offsets[i] to offsets[i + 1]."""

    rows: Rows
    offsets: IntVector

    def take(self, numbers: Sequence[int]) -> tuple[FloatMatrix, list[int]]:
        """Vectors of all words of these sentences, one after the other, and the length of each sentence."""
        lengths = [int(self.offsets[number + 1] - self.offsets[number]) for number in numbers]
        return self.parts(numbers, [(0, length) for length in lengths]), lengths

    def parts(self, numbers: Sequence[int], places: Sequence[tuple[int, int]]) -> FloatMatrix:
        """Vectors of these sentences' words from one place up to another, one part after the other."""
        starts = self.offsets[list(numbers)]
        ranges = [np.arange(start + a, start + b) for start, (a, b) in zip(starts, places, strict=True)]
        return self.rows.take(np.concatenate(ranges))


class FeatureStore:
    """Vectors by text, kept in a folder, or in memory if there is none.

    Args:
        vectors: makes them.
        folder: where they are kept; anything there that is not as it was written is made again.
    """

    def __init__(self, vectors: TextVectors, folder: Path | None = None) -> None:
        self.vectors, self._folder = vectors, folder
        self._memory: dict[str, FloatMatrix] = {}

    def words(self, sentences: Sequence[Sequence[str]], lang: str, *, progress: Progress = silent) -> StoredWords:
        """Vectors of every word."""
        offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)

        def make(shard: Sequence[Any], inner: Progress) -> FloatMatrix:
            return self.vectors.words(shard, lang, progress=inner).vectors

        plain = [list(words) for words in sentences]
        return StoredWords(self._rows("words", plain, lang, make, progress), offsets)

    def sentences(self, texts: Sequence[str], lang: str, *, progress: Progress = silent) -> Rows:
        """A vector of every text."""

        def make(shard: Sequence[Any], inner: Progress) -> FloatMatrix:
            return self.vectors.sentences(shard, lang, progress=inner)

        return self._rows("sentences", list(texts), lang, make, progress)

    def _rows(
        self,
        kind: str,
        items: Sequence[Any],
        lang: str,
        make: Callable[[Sequence[Any], Progress], FloatMatrix],
        progress: Progress,
    ) -> Rows:
        parts = []
        for begin in range(0, len(items), SHARD):
            shard = items[begin : begin + SHARD]
            whole = within(progress, begin, len(shard), len(items))

            # One step, whether vectors are made or kept.
            def inner(_: str, done: float, total: float | None, whole: Progress = whole) -> None:
                whole(f"encoding {kind}", done, total)

            text = json.dumps([kind, self.vectors.identity(lang), shard])
            key = hashlib.sha256(text.encode()).hexdigest()[:32]
            parts.append(self._part(key, functools.partial(make, shard, inner)))
            inner("", 1, 1)
        return Rows(parts)

    def _part(self, key: str, make: Callable[[], FloatMatrix]) -> FloatMatrix:
        if self._folder is None:
            if key not in self._memory:
                self._memory[key] = make()
            return self._memory[key]
        place = self._folder / f"{key}.npy"
        if find_damage(place.with_suffix(".json")) != []:
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_path(place, own=True) as temporary, temporary.open("wb") as file:
                np.save(file, np.ascontiguousarray(make(), dtype=np.float32), allow_pickle=False)
            seal(place.with_suffix(".json"), [place])
        mapped: FloatMatrix = np.load(place, mmap_mode="r", allow_pickle=False)
        return mapped
