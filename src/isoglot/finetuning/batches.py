"""The data of a training batch: padded tokens, each with the number of the word it belongs to.

There are three kinds of batches: parallel sentences, blocks of running text, and single words with static vectors.

Training does not use the windows with which `isoglot.encoders` reads long text: a sentence that is too long for the
model is cut after the last word that fits. Hidden states of a side are pooled to one vector per word without a loop
over sentences or tokens.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from isoglot.encoders import POOLINGS, Tokens, check_pooling
from isoglot.errors import InputError, ShapeError
from isoglot.spaces import FloatMatrix
from isoglot.wordalign import WordLinks

if TYPE_CHECKING:
    from torch import Tensor


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """The sentences of one language.

    Args:
        ids: tokens (B, T), padded.
        mask: (B, T), true for tokens, including special ones, false for padding.
        words: (B, T), the number of the word that each token belongs to; -1 for special tokens and padding.
        counts: (B,), number of words in each sentence.
        idf: (B, n), inverse document frequencies, for objectives that weight words; n is the largest count.
    """

    ids: Tensor
    mask: Tensor
    words: Tensor
    counts: Tensor
    idf: Tensor | None = None

    def __post_init__(self) -> None:
        shape = tuple(self.ids.shape)
        if len(shape) != 2 or any(tuple(one.shape) != shape for one in (self.mask, self.words)):
            raise ShapeError(f"mask and words must have the shape (B, T) of ids, which is {shape}", where="Side")
        if tuple(self.counts.shape) != shape[:1] or (self.idf is not None and len(self.idf) != shape[0]):
            raise ShapeError(f"counts and idf must have one row for each of {shape[0]} sentences", where="Side")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def longest(self) -> int:
        """Number of words in the longest sentence."""
        return int(self.counts.max()) if len(self.counts) else 0


@dataclasses.dataclass(frozen=True, eq=False)
class Batch(ABC):
    """What all batches have in common; their fields are tensors, sides, and plain data."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in logs."""

    @property
    @abstractmethod
    def sides(self) -> tuple[Side, ...]:
        """All sentences of the batch."""

    def __len__(self) -> int:
        return len(self.sides[0])

    @property
    def tokens(self) -> int:
        """Number of tokens on all sides, without padding."""
        return sum(int(side.mask.sum()) for side in self.sides)

    def to(self, device: Any) -> Self:
        """The same on another device."""
        moved: Self = _moved(self, device)
        return moved


@dataclasses.dataclass(frozen=True, eq=False)
class PairBatch(Batch):
    """Sentences and their translations, of one language pair: each pair has its own transports.

    Args:
        pair: name of the language pair, such as "de-en".
        links: three tensors (l,): sentence number, source word and target word of each one-to-one link.
        teacher: (B, d), a teacher's vectors of the target sentences.
    """

    pair: str
    src: Side
    tgt: Side
    links: tuple[Tensor, Tensor, Tensor] | None = None
    teacher: Tensor | None = None

    def __post_init__(self) -> None:
        if len(self.src) != len(self.tgt):
            raise ShapeError(f"{len(self.src)} source and {len(self.tgt)} target sentences", where=self.pair)
        if self.teacher is not None and len(self.teacher) != len(self.tgt):
            raise ShapeError(f"{len(self.teacher)} vectors for {len(self.tgt)} target sentences", where=self.pair)
        if self.links is None:
            return
        if len({tuple(one.shape) for one in self.links}) != 1 or self.links[0].ndim != 1:
            raise ShapeError("links must be three tensors of equal length", where=self.pair)
        # On a GPU, reading the values would wait for all pending work.
        if self.links[0].device.type == "cpu" and len(self.links[0]):
            sentence, *words = self.links
            if sentence.min() < 0 or sentence.max() >= len(self.src):
                raise InputError(f"a link refers to a sentence outside the batch of {len(self.src)}", where=self.pair)
            for word, side in zip(words, (self.src, self.tgt), strict=True):
                if word.min() < 0 or (word >= side.counts[sentence]).any():
                    raise InputError("a link points past the end of its sentence", where=self.pair)

    @property
    def name(self) -> str:
        return self.pair

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.src, self.tgt


@dataclasses.dataclass(frozen=True, eq=False)
class TextBatch(Batch):
    """Blocks of running text of one language; every token that is not special counts as a word."""

    lang: str
    side: Side

    @property
    def name(self) -> str:
        return f"text {self.lang}"

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.side,)


@dataclasses.dataclass(frozen=True, eq=False)
class WordBatch(Batch):
    """Single words and their static vectors (B, k); k may differ from the encoder's dimensions."""

    side: Side
    vectors: Tensor

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.side):
            raise ShapeError(f"{len(self.side)} words, but vectors of shape {tuple(self.vectors.shape)}", where="words")

    @property
    def name(self) -> str:
        return "words"

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.side,)


@dataclasses.dataclass(frozen=True, eq=False)
class Drawn:
    """A batch as the model sees it and as text.

    Args:
        texts: its sentences ("src" and "tgt"), "lines" or "words", to inspect if something goes wrong.
        share: weight of its loss in the loss of a step.
    """

    batch: Batch
    texts: Mapping[str, Sequence[str]]
    share: float = 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class Encoded:
    """The hidden states (B, T, d) that a model gives for a side."""

    hidden: Tensor
    side: Side

    def __post_init__(self) -> None:
        if self.hidden.ndim != 3 or self.hidden.shape[:2] != self.side.ids.shape:
            raise ShapeError(
                f"hidden states for {tuple(self.side.ids.shape)} tokens cannot have shape {tuple(self.hidden.shape)}",
                where="hidden",
            )

    def word_vectors(self, pooling: str = "last") -> tuple[Tensor, Tensor]:
        """One vector per word, see `word_vectors`."""
        return word_vectors(self.hidden, self.side, pooling)

    def sentence_vectors(self) -> Tensor:
        """The mean of all tokens (B, d), including special ones: a sentence vector as in `isoglot.encoders`."""
        return _mean(self.hidden, self.side.mask.long() - 1, 1)[:, 0]


def word_vectors(hidden: Tensor, side: Side, pooling: str = "last") -> tuple[Tensor, Tensor]:
    """Vectors (B, n, d) of the words of each sentence and their mask (B, n); n is the largest number of words.

    Padding is 0. Half precision becomes single here, as it is too coarse for losses.

    Args:
        pooling: the vector of a word's "last" token, its "first" token, or the "mean" of all its tokens.

    >>> import torch
    >>> words = torch.tensor([[-1, 0, 0, 1, -1], [-1, 0, -1, -1, -1]])
    >>> side = Side(torch.zeros_like(words), torch.ones_like(words).bool(), words, torch.tensor([2, 1]))
    >>> vectors, mask = word_vectors(torch.arange(10.0).view(2, 5, 1), side)
    >>> vectors[..., 0].tolist(), mask.tolist()
    ([[2.0, 3.0], [6.0, 0.0]], [[True, True], [True, False]])
    >>> word_vectors(torch.arange(10.0).view(2, 5, 1), side, "mean")[0][..., 0].tolist()
    [[1.5, 3.0], [6.0, 0.0]]
    """
    import torch

    check_pooling(pooling, POOLINGS)
    n, (B, T, d) = side.longest, hidden.shape
    mask = torch.arange(n, device=hidden.device) < side.counts[:, None]
    if pooling == "mean":
        return _mean(hidden, side.words, n), mask
    # The last (first) token position of every word; tokens outside words go to column 0.
    positions = torch.arange(T, device=hidden.device).expand(B, T)
    ends = positions.new_zeros(B, n + 1)
    reduce = "amax" if pooling == "last" else "amin"
    ends = ends.scatter_reduce(1, side.words + 1, positions, reduce, include_self=False)[:, 1:]
    rows = ends + T * torch.arange(B, device=hidden.device)[:, None]
    vectors = _full(hidden.flatten(0, 1).index_select(0, rows.flatten())).view(B, n, d)
    return torch.where(mask[..., None], vectors, 0), mask


def make_side(
    tokenizer: Any, sentences: Sequence[Sequence[str]], max_length: int, *, idf: Mapping[str, float] | None = None
) -> Side:
    """Sentences of words as padded tokens, at most `max_length` per sentence including special ones.

    A longer sentence is cut to the words that fit whole; a first word that does not fit is cut itself.

    Args:
        tokenizer: one of transformers.
        idf: weights of words, see `isoglot.finetuning.inverse_frequencies`; missing words weigh as much as the rarest.
    """
    import torch

    tokens = Tokens(tokenizer, max_length, 0)
    if tokenizer.pad_token_id is None:
        raise InputError("the tokenizer has no padding token", remedy="use a BERT-like encoder")
    _check_sentences(sentences)
    rows: list[list[int]] = []
    numbers: list[list[int]] = []
    counts: list[int] = []
    for parts in tokens.of_words(sentences):
        ends = list(accumulate(len(part) for part in parts))
        fitting = parts[: sum(end <= tokens.room for end in ends)] or [part[: tokens.room] for part in parts[:1]]
        rows.append([*tokens.prefix, *chain.from_iterable(fitting), *tokens.suffix])
        inner = [number for number, part in enumerate(fitting) for _ in part]
        numbers.append([-1] * len(tokens.prefix) + inner + [-1] * len(tokens.suffix))
        counts.append(len(fitting))
    table = None
    if idf is not None:
        rarest = max(idf.values(), default=1.0)
        fitting_words = (word for own, count in zip(sentences, counts, strict=True) for word in own[:count])
        filled = _filled(counts)
        table = np.zeros(filled.shape, dtype=np.float32)
        table[filled] = [idf.get(word, rarest) for word in fitting_words]
    side = side_of_rows(rows, numbers, counts, int(tokenizer.pad_token_id))
    return side if table is None else dataclasses.replace(side, idf=torch.from_numpy(table))


def side_of_rows(
    rows: Sequence[Sequence[int]], words: Sequence[Sequence[int]], counts: Sequence[int], pad: int
) -> Side:
    """A padded side from rows of tokens and rows of their word numbers.

    >>> side_of_rows([[2, 7, 3], [2, 3]], [[-1, 0, -1], [-1, -1]], [1, 0], pad=0).ids.tolist()
    [[2, 7, 3], [2, 3, 0]]
    """
    import torch

    mask = _filled([len(row) for row in rows])
    ids, numbers = np.full(mask.shape, pad, dtype=np.int64), np.full(mask.shape, -1, dtype=np.int64)
    ids[mask] = list(chain.from_iterable(rows))
    numbers[mask] = list(chain.from_iterable(words))
    return Side(
        torch.from_numpy(ids),
        torch.from_numpy(mask),
        torch.from_numpy(numbers),
        torch.tensor(counts, dtype=torch.long),
    )


def make_pair(
    tokenizer: Any,
    src: Sequence[Sequence[str]],
    tgt: Sequence[Sequence[str]],
    max_length: int,
    *,
    pair: str = "",
    links: Sequence[WordLinks] | None = None,
    idf: tuple[Mapping[str, float], Mapping[str, float]] | None = None,
    teacher: FloatMatrix | None = None,
) -> PairBatch:
    """A batch of sentences and their translations.

    Only sure links are used whose words have no other sure link; links to words that were cut off are left out.

    Args:
        pair: name of the language pair.
        links: between the words of each sentence pair.
        idf: weights of source and of target words.
        teacher: a teacher's vectors of the target sentences.
    """
    import torch

    if not len(src) == len(tgt) == len(tgt if links is None else links):
        raise ShapeError(
            f"{len(src)} source and {len(tgt)} target sentences, links for {'-' if links is None else len(links)}",
            where=pair,
        )
    idfs = (None, None) if idf is None else idf
    sides = [make_side(tokenizer, own, max_length, idf=one) for own, one in zip((src, tgt), idfs, strict=True)]
    triples: list[tuple[int, int, int]] = []
    for number, own in enumerate(links or ()):
        past = sorted((i, j) for i, j in own.sure if i >= len(src[number]) or j >= len(tgt[number]))
        if past:
            lengths = f"{len(src[number])} and {len(tgt[number])}"
            raise InputError(
                f"the link {past[0][0]}-{past[0][1]} points past sentences of {lengths} words",
                where=f"{pair}: sentence pair {number + 1} of the batch",
                remedy="was the text tokenised differently?",
            )
        i_counts, j_counts = Counter(i for i, _ in own.sure), Counter(j for _, j in own.sure)
        n, m = int(sides[0].counts[number]), int(sides[1].counts[number])
        triples += [(number, i, j) for i, j in sorted(own.sure) if i_counts[i] == 1 == j_counts[j] and i < n and j < m]
    table = torch.tensor(triples, dtype=torch.long).view(-1, 3)
    triple = (table[:, 0].contiguous(), table[:, 1].contiguous(), table[:, 2].contiguous())
    goals = None if teacher is None else torch.from_numpy(teacher)
    return PairBatch(pair, sides[0], sides[1], None if links is None else triple, goals)


def _mean(hidden: Tensor, rows: Tensor, n: int) -> Tensor:
    """Means (B, n, d) of the tokens whose `rows` (B, T) are 0, ..., n - 1; tokens at -1 are ignored."""
    import torch

    B, T, d = hidden.shape
    # One extra row per sentence collects the ignored tokens.
    places = (rows % (n + 1) + (n + 1) * torch.arange(B, device=hidden.device)[:, None]).flatten()
    tokens = _full(hidden.flatten(0, 1))
    sums = tokens.new_zeros(B * (n + 1), d).index_add(0, places, tokens)
    sizes = tokens.new_zeros(B * (n + 1)).index_add(0, places, tokens.new_ones(B * T))
    return (sums / sizes.clamp_min(1)[:, None]).view(B, n + 1, d)[:, :n]


def _full(vectors: Tensor) -> Tensor:
    """The vectors in single precision or better."""
    return vectors if vectors.element_size() >= 4 else vectors.float()


def _moved(value: Any, device: Any) -> Any:
    """The value with all its tensors on this device, including those in tuples and fields."""
    if isinstance(value, tuple):
        return tuple(_moved(one, device) for one in value)
    if dataclasses.is_dataclass(value):
        moved = {field.name: _moved(getattr(value, field.name), device) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **moved)  # type: ignore[type-var]
    return value.to(device, non_blocking=True) if hasattr(value, "to") else value


def _filled(lengths: Sequence[int]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A mask whose rows are true up to these lengths."""
    return np.arange(max(lengths, default=0)) < np.array(lengths, dtype=np.int64)[:, None]


def _check_sentences(sentences: Sequence[Sequence[str]]) -> None:
    for number, words in enumerate(sentences, start=1):
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise InputError("sentences must be lists of words", where=f"sentence {number} of the batch")
