"""First vectors for new pieces: a weighted mean of the vectors of old ones.

The better way looks at translations. IBM model 1 (Brown et al. 1993) over pieces says how probably a new piece i stands
for a piece j of the other language, t(j | i), and which share of all j's it explains; a new piece starts at the mean of
the pieces for which the product of both is largest, weighted by it. The product matters: frequent pieces are probable
translations of everything, but no new piece explains much of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.progress import Progress, silent
from isoglot.spaces import FloatMatrix

Rows = npt.NDArray[np.int64]

#: Rounds of expectation and maximisation, and how many pieces of the other language a start is the mean of.
_ROUNDS, _MEAN_OF = 5, 5
#: Pairs of pieces of one line, and of all lines: beyond the first, links are vague; beyond the second, memory is short.
_MOST_PAIRS, _MOST_PAIRS_OF_ALL = 1600, 40_000_000


def linked_starts(
    src: Sequence[Rows], tgt: Sequence[Rows], table: FloatMatrix, *, progress: Progress = silent
) -> tuple[Rows, FloatMatrix]:
    """Numbers of the new pieces that occur in translated lines, and a vector for each.

    Args:
        src, tgt: the different pieces of each line and of its translation.
        table: vectors of the old pieces (n, d); pieces from n on are new.

    >>> lines = [[3, 4], [3], [4]], [[0, 1], [0], [1]]
    >>> rows, vectors = linked_starts(*([np.array(one) for one in side] for side in lines), np.eye(3, dtype="f4"))
    >>> rows.tolist(), vectors.argmax(1).tolist()
    ([3, 4], [0, 1])
    """
    old = len(table)
    i, j, lines = _pairs_of_pieces(src, tgt)
    size = int(max(i.max(initial=0), j.max(initial=0))) + 1
    # Each pair of pieces, and each piece of the target side in its line, by a number of its own.
    pairs, pair = np.unique(i * size + j, return_inverse=True)
    _, place = np.unique(lines * size + j, return_inverse=True)
    i, j = pairs // size, pairs % size
    counts = probability = np.ones(len(pairs))
    for number in range(_ROUNDS):
        progress("linking pieces", number, _ROUNDS)
        share = probability[pair]
        share /= np.bincount(place, share)[place]
        counts = np.asarray(np.bincount(pair, share, minlength=len(pairs)), dtype=np.float64)
        probability = counts / np.bincount(i, counts, minlength=size)[i]
    progress("linking pieces", _ROUNDS, _ROUNDS)
    weights = probability * counts / np.maximum(np.bincount(j, counts, minlength=size)[j], 1e-12)
    usable = np.flatnonzero((i >= old) & (j < old) & (weights > 0))
    order = usable[np.lexsort((-weights[usable], i[usable]))]
    rows, first, of = np.unique(i[order], return_index=True, return_inverse=True)
    best = np.arange(len(order)) - first[of] < _MEAN_OF
    order, of = order[best], of[best]
    return rows, _weighted_means(of, j[order], weights[order], len(rows), table)


def mean_starts(before: Any, after: Any, table: FloatMatrix) -> FloatMatrix:
    """A vector for each piece that `after` has beyond `before`: the mean of the old pieces it was split into, weighted
    by their numbers of characters."""
    words = after.convert_ids_to_tokens(list(range(len(before), len(after))))
    of, pieces, weights = [], [], []
    for number, word in enumerate(words):
        # As if it were a word of its own: tokenizers cannot be asked for the inside of one.
        text = word.removeprefix("##").removeprefix("▁")
        ids = before.backend_tokenizer.encode(text, add_special_tokens=False)
        for piece, (begin, end) in zip(ids.ids, ids.offsets, strict=True):
            of.append(number)
            pieces.append(piece)
            weights.append(max(end - begin, 1))
    found = _weighted_means(np.array(of, int), np.array(pieces, int), np.array(weights, float), len(words), table)
    empty = ~np.isin(np.arange(len(words)), of)
    found[empty] = table.mean(0)
    return found


def _weighted_means(
    of: Rows, pieces: Rows, weights: npt.NDArray[np.float64], count: int, table: FloatMatrix
) -> FloatMatrix:
    from scipy.sparse import csr_array

    shares = weights / np.maximum(np.bincount(of, weights, minlength=count), 1e-300)[of]
    matrix = csr_array((shares.astype(np.float32), (of, pieces)), shape=(count, len(table)))
    means: FloatMatrix = np.asarray(matrix @ table, dtype=np.float32)
    return means


def _pairs_of_pieces(src: Sequence[Rows], tgt: Sequence[Rows]) -> tuple[Rows, Rows, Rows]:
    """All pairs of a line's piece and a piece of its translation: (n,) pieces, (n,) pieces, (n,) lines."""
    left, right, lines, total = [], [], [], 0
    for number, (own, other) in enumerate(zip(src, tgt, strict=True)):
        count = len(own) * len(other)
        if not 0 < count <= _MOST_PAIRS:
            continue
        total += count
        if total > _MOST_PAIRS_OF_ALL:
            break
        left.append(np.repeat(own, len(other)))
        right.append(np.tile(other, len(own)))
        lines.append(np.full(count, number))
    nothing = np.zeros(0, dtype=np.int64)
    return tuple(np.concatenate([nothing, *parts]) for parts in (left, right, lines))  # type: ignore[return-value]
