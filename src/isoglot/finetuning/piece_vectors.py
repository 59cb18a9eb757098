"""First vectors for the word pieces of a new encoder: skip-gram over the pieces of all languages' text together.

Masked tokens teach a new network little in its first hour on a small machine: most of it goes by until pieces have
vectors that tell anything. Skip-gram finds such vectors in minutes. Pieces that languages share stand in one row, as in
joint training (Wang et al. 2020), so the languages start near each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix
from isoglot.wordvectors import Corpus, Training, train

#: Lines that are split into pieces at once.
_BLOCK = 10_000


def piece_vectors(
    tokenizer: Any,
    texts: Mapping[str, Sequence[str]],
    dim: int,
    *,
    epochs: int,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], FloatMatrix]:
    """The pieces that occur, as rows of the vocabulary, and a vector for each.

    One thread, so that a seed repeats exactly.

    Args:
        tokenizer: one of transformers.
        texts: lines of each language.
    """
    corpus, pieces = pieces_of(tokenizer, texts, progress=progress)
    settings = Training(dim=dim, epochs=epochs, subwords=False, seed=seed)
    vectors = train(corpus, settings, threads=1, progress=progress)
    # Pieces keep company with pieces of their language, and lie in a cloud with them. Clouds are laid upon each other,
    # a piece of several languages by its share in each.
    shares = (corpus.counts / corpus.counts.sum(1, keepdims=True)).astype(np.float32)
    centres = (shares.T @ vectors) / np.maximum(shares.sum(0), 1)[:, None]
    return pieces, vectors - shares @ centres


def pieces_of(
    tokenizer: Any, texts: Mapping[str, Sequence[str]], *, progress: Progress = silent
) -> tuple[Corpus, np.ndarray[Any, np.dtype[np.int64]]]:
    """Text as pieces, and the rows of the vocabulary that the words of this corpus are."""
    ids: list[np.ndarray[Any, np.dtype[np.int32]]] = []
    lengths: list[int] = []
    lines, first, done = [], 0, 0
    total = sum(map(len, texts.values()))
    for own in texts.values():
        for begin in range(0, len(own), _BLOCK):
            block = list(own[begin : begin + _BLOCK])
            for row in tokenizer(block, add_special_tokens=False, truncation=False)["input_ids"]:
                ids.append(np.array(row, dtype=np.int32))
                lengths.append(len(row))
            done += len(block)
            progress("splitting text into pieces (lines)", done, total)
        lines.append(np.arange(first, first + len(own)))
        first += len(own)
    tokens = np.concatenate([*ids, np.zeros(0, dtype=np.int32)])
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    pieces, rows = np.unique(tokens, return_inverse=True)
    counts = np.zeros((len(pieces), len(lines)), dtype=np.int64)
    for column, own_lines in enumerate(lines):
        if len(own_lines):
            of_language = rows[starts[own_lines[0]] : starts[own_lines[-1] + 1]]
            counts[:, column] = np.bincount(of_language, minlength=len(pieces))
    words = tuple(tokenizer.convert_ids_to_tokens(pieces.tolist()))
    facts = {"pieces": len(pieces)}
    return Corpus(tuple(texts), words, counts, rows.astype(np.int32), starts, tuple(lines), facts), pieces
