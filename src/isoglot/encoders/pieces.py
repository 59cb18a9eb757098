"""Sentences as pieces of tokens that fit a model, each token told which row of the result it adds to.

Text longer than the model takes is cut into windows that overlap; a word is taken from the window in which it has most
context on both sides. Word vectors and sentence vectors are both sums of token vectors, so both are described the same
way: for every token a row of the result and a weight.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from isoglot.errors import ConfigError
from isoglot.spaces import FloatMatrix

Pooling = Literal["first", "last", "mean"]
POOLINGS = ("first", "last", "mean")
SENTENCE_POOLINGS = ("mean", "cls", "own")


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """One window: token ids with the special ones, and for each the row it adds to (-1 for none) and its weight."""

    ids: list[int]
    rows: list[int]
    weights: list[float]


@dataclasses.dataclass(frozen=True)
class TokenMap:
    """Maps the selected tokens' states (k, n, d) to (1, n, dim) before they are pooled."""

    apply: Callable[[FloatMatrix], FloatMatrix]
    dim: int


class Tokens:
    """A tokenizer of transformers, with the special tokens that it puts around a text.

    Args:
        prompt: text that stands before each text and is not pooled.
        echo: whether the model sees each text twice, of which only the second is pooled (Springer et al. 2024): a
            causal model then knows the end of the text when it reads its beginning.
    """

    def __init__(self, tokenizer: Any, max_length: int, overlap: int, *, prompt: str = "", echo: bool = False) -> None:
        self._tokenizer = tokenizer
        self.special_prefix, self.suffix = _special_tokens(tokenizer)
        self._prompt: list[int] = tokenizer(_utf8(prompt), add_special_tokens=False)["input_ids"] if prompt else []
        self._break: list[int] = tokenizer("\n", add_special_tokens=False)["input_ids"] if echo else []
        self.prefix = [*self.special_prefix, *self._prompt]
        self.echo = echo
        room = max_length - len(self.prefix) - len(self.suffix)
        self.room = (room - len(self._break) - len(self._prompt)) // 2 if echo else room
        if self.room < 1 or not 0 <= overlap < self.room:
            raise ConfigError(
                f"windows of {max_length} tokens that overlap by {overlap} leave no room",
                where="max_length, overlap",
                remedy="give a larger max_length or a smaller overlap",
            )
        self.overlap = overlap
        unknown = tokenizer.unk_token_id
        self._unknown = unknown if unknown is not None else (tokenizer.pad_token_id or 0)

    def before(self, ids: list[int]) -> list[int]:
        """The tokens that stand before these, which are not pooled."""
        return [*self.prefix, *ids, *self._break, *self._prompt] if self.echo else self.prefix

    def of_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of whole texts, without special ones."""
        if not texts:
            return []
        found: list[list[int]] = self._tokenizer(
            [_utf8(text) for text in texts],
            add_special_tokens=False,
            truncation=False,
            return_attention_mask=False,
            verbose=False,
        )["input_ids"]
        return found

    def of_words(self, sentences: Sequence[Sequence[str]]) -> list[list[list[int]]]:
        """The tokens of each word of each sentence; a word that the tokenizer drops gets the unknown token."""
        filled = [[_utf8(word) for word in words] for words in sentences if words]
        encoded = iter(())  # type: Iterator[list[list[int]]]
        if filled:
            encoded = iter(self._split(filled))
        return [next(encoded) if words else [] for words in sentences]

    def _split(self, sentences: list[list[str]]) -> list[list[list[int]]]:
        batch = self._tokenizer(
            sentences,
            is_split_into_words=True,
            add_special_tokens=False,
            truncation=False,
            return_attention_mask=False,
            verbose=False,
        )
        split = []
        for number, words in enumerate(sentences):
            parts: list[list[int]] = [[] for _ in words]
            if self._tokenizer.is_fast:
                for token, word in zip(batch["input_ids"][number], batch.word_ids(number), strict=True):
                    if word is not None:
                        parts[word].append(token)
            else:
                parts = [self._tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
            split.append([part or [self._unknown] for part in parts])
        return split


def check_pooling(pooling: str, known: Sequence[str]) -> None:
    """Refuse a pooling we do not know."""
    if pooling not in known:
        raise ConfigError(f"unknown pooling {pooling!r}", remedy=f"one of: {', '.join(known)}")


def word_pieces(
    tokens: Tokens, sentences: Sequence[Sequence[str]], pooling: str
) -> tuple[list[Piece], np.ndarray[Any, Any]]:
    """Pieces whose rows are words, one sentence's after the other's, and where each sentence begins: (n + 1,)."""
    check_pooling(pooling, POOLINGS)
    pieces: list[Piece] = []
    offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
    for number, words in enumerate(tokens.of_words(sentences)):
        start = int(offsets[number])
        offsets[number + 1] = start + len(words)
        # A word of more tokens than a window takes (a pasted file, a page without blanks) keeps its beginning.
        words = [word[: tokens.room] for word in words]
        lengths = [len(word) for word in words]
        for first, last, keep_first, keep_last in windows(lengths, tokens.room, tokens.overlap):
            ids = list(tokens.before([token for word in words[first:last] for token in word]))
            rows, weights = [-1] * len(ids), [0.0] * len(ids)
            for word in range(first, last):
                part = words[word]
                ids += part
                kept = keep_first <= word < keep_last
                rows += [start + word if kept else -1] * len(part)
                weights += _weights(len(part), pooling)
            ids += tokens.suffix
            rows += [-1] * len(tokens.suffix)
            weights += [0.0] * len(tokens.suffix)
            pieces.append(Piece(ids, rows, weights))
    return pieces, offsets


def sentence_pieces(tokens: Tokens, texts: Sequence[str], pooling: str, *, special: bool = True) -> list[Piece]:
    """Pieces whose rows are texts: the mean of all tokens ("mean"), the first one ("cls"), or what the model makes of
    them itself ("own"), of which windows of a long text count by their length.

    The mean takes the special tokens too, as sentence encoders usually do, unless `special` says otherwise; a text
    without any other tokens then gets no vector but zero.
    """
    check_pooling(pooling, SENTENCE_POOLINGS)
    pieces: list[Piece] = []
    around = len(tokens.special_prefix) + len(tokens.suffix)
    for row, ids in enumerate(tokens.of_texts(texts)):
        cut = list(windows([1] * len(ids), tokens.room, tokens.overlap)) or [(0, 0, 0, 0)]
        share = 1.0 / max(len(ids) + (around * len(cut) if special else 0), 1)
        for number, (first, last, keep_first, keep_last) in enumerate(cut):
            before = tokens.before(ids[first:last])
            whole = [*before, *ids[first:last], *tokens.suffix]
            if pooling == "cls":
                rows = [row if number == 0 else -1] + [-1] * (len(whole) - 1)
                pieces.append(Piece(whole, rows, [1.0] * len(whole)))
                continue
            if pooling == "own":
                part = (last - first) / sum(end - begin for begin, end, *_ in cut) if ids else 1.0
                pieces.append(Piece(whole, [row] * len(whole), [part / len(whole)] * len(whole)))
                continue
            rows = [row if special else -1] * len(whole)
            rows[len(tokens.special_prefix) : len(before)] = [-1] * (len(before) - len(tokens.special_prefix))
            kept = [row if keep_first <= place < keep_last else -1 for place in range(first, last)]
            rows[len(before) : len(before) + len(kept)] = kept
            pieces.append(Piece(whole, rows, [share] * len(whole)))
    return pieces


def windows(lengths: Sequence[int], room: int, overlap: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut words of so many tokens each into windows: first and last word of it, and those that are kept from it.

    >>> list(windows([1] * 10, room=6, overlap=2))
    [(0, 6, 0, 5), (4, 10, 5, 10)]
    """
    total = len(lengths)
    assert max(lengths, default=0) <= room, "callers cut what is longer than a window"
    first, keep_first = 0, 0
    while first < total:
        last, used = first, 0
        while last < total and used + lengths[last] <= room:
            used += lengths[last]
            last += 1
        if last == total:
            yield first, last, keep_first, total
            return
        # The next window begins so far back that it shares about `overlap` tokens, but always later than this one.
        following, shared = last, 0
        while following > first + 1 and shared + lengths[following - 1] <= overlap:
            following -= 1
            shared += lengths[following]
        keep_last = max((following + last + 1) // 2, keep_first)
        yield first, last, keep_first, keep_last
        first, keep_first = following, keep_last


def batches(pieces: Sequence[Piece], most_tokens: int) -> Iterator[list[int]]:
    """Numbers of pieces of like length, the longest first, at most so many tokens together once padded."""
    order = sorted(range(len(pieces)), key=lambda number: -len(pieces[number].ids))
    begin = 0
    while begin < len(order):
        size = max(1, most_tokens // len(pieces[order[begin]].ids))
        yield order[begin : begin + size]
        begin += size


def _utf8(text: str) -> str:
    """Half a character, as some files hold (a lone surrogate), is the sign for that: tokenizers take UTF-8 only."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _weights(count: int, pooling: str) -> list[float]:
    if pooling == "mean":
        return [1.0 / count] * count
    weights = [0.0] * count
    weights[0 if pooling == "first" else -1] = 1.0
    return weights


def _special_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            return list(full[:start]), list(full[start + len(bare) :])
    return [], []
