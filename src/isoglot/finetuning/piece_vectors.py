"""First vectors for the word pieces of a new encoder: skip-gram over the pieces of all languages' text together.

On a small machine, masked tokens teach a new network little in the first hour: most of it passes before the pieces have
useful vectors. Skip-gram finds such vectors in minutes. Languages share the vectors of common pieces, as in joint
training (Wang et al. 2020), so they start near each other.
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
    """The vocabulary rows of the pieces that occur, and a vector for each.

    Uses one thread, so that a seed gives the same result every time.

    Args:
        tokenizer: one of transformers.
        texts: lines of each language.
    """
    corpus, pieces = pieces_of(tokenizer, texts, progress=progress)
    settings = Training(dim=dim, epochs=epochs, subwords=False, seed=seed)
    vectors = train(corpus, settings, threads=1, progress=progress)
    # Pieces of a language form a cloud. Centre all clouds; a shared piece moves by its share in each language.
    shares = (corpus.counts / corpus.counts.sum(1, keepdims=True)).astype(np.float32)
    centres = (shares.T @ vectors) / np.maximum(shares.sum(0), 1)[:, None]
    return pieces, vectors - shares @ centres


def pieces_of(
    tokenizer: Any, texts: Mapping[str, Sequence[str]], *, progress: Progress = silent
) -> tuple[Corpus, np.ndarray[Any, np.dtype[np.int64]]]:
    """Text as a corpus of pieces, and the vocabulary rows of its pieces."""
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
