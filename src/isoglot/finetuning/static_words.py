"""Words with static vectors, for objectives that pull an encoder towards them (Hämmerl et al. 2022).

Words of all languages are drawn together, as their vectors lie in one space; every word comes once per epoch. A batch
is a function of the seed and its number, as in `isoglot.finetuning.parallel_text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError, ShapeError
from isoglot.finetuning.batches import Drawn, WordBatch, make_side
from isoglot.spaces import Space


class WordSampler:
    """Batches of words and their static vectors.

    Args:
        spaces: vectors of each language, all in one space, so with equal dimensions.
        words: number of words per batch; all words, if there are fewer.
        max_length: maximum number of tokens per word, including special ones.
    """

    def __init__(
        self, spaces: Mapping[str, Space], tokenizer: Any, *, words: int, max_length: int, seed: int = 0
    ) -> None:
        if len({space.dim for space in spaces.values()}) != 1:
            sizes = ", ".join(f"{lang} {space.dim}" for lang, space in spaces.items())
            raise ShapeError(
                f"static vectors must have equal dimensions, not {sizes}",
                where="static",
                remedy="align them into one space first",
            )
        self._tokenizer, self._max_length, self._seed = tokenizer, max_length, seed
        self._spaces = list(spaces.values())
        #: Index of the first word of each space among all words.
        self._begins = np.cumsum([0, *(len(space) for space in self._spaces)])
        if len(self) < 2:
            raise InputError(f"too few static vectors to learn from: {len(self)}", where="static")
        self._size = min(words, len(self))
        self._order: tuple[int, npt.NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        return int(self._begins[-1])

    @property
    def batches_of_an_epoch(self) -> int:
        """Batches until every word has come, apart from a remainder."""
        return len(self) // self._size

    def draw(self, number: int) -> Drawn:
        """Batch `number`, counted from 0."""
        import torch

        epoch, at = divmod(number, self.batches_of_an_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, np.random.default_rng([self._seed, 2, epoch]).permutation(len(self))
        numbers = self._order[1][at * self._size : (at + 1) * self._size]
        which = np.searchsorted(self._begins, numbers, side="right") - 1
        rows = numbers - self._begins[which]
        words = [self._spaces[space].words[row] for space, row in zip(which, rows, strict=True)]
        vectors = np.empty((len(words), self._spaces[0].dim), dtype=np.float32)
        for index, space in enumerate(self._spaces):
            vectors[which == index] = space.vectors[rows[which == index]]
        side = make_side(self._tokenizer, [[word] for word in words], self._max_length)
        return Drawn(WordBatch(side, torch.from_numpy(vectors)), {"words": words})
