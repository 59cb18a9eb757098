"""How alike pairs of words are written, letter by letter: compiled, for many pairs at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def compare_pairs(letters: Any, starts: Any, first: Any, second: Any) -> Any:
    """(pairs, 3): edit distance, common prefix and common suffix of words `first[i]` and `second[i]`.

    Word w is `letters[starts[w]:starts[w + 1]]`. Edits are insertions, deletions and substitutions of one letter
    (Levenshtein 1966).
    """
    out = np.empty((len(first), 3), np.int64)
    longest = 0
    for w in range(len(starts) - 1):
        longest = max(longest, starts[w + 1] - starts[w])
    row = np.empty(longest + 1, np.int64)
    for i in range(len(first)):
        a = letters[starts[first[i]] : starts[first[i] + 1]]
        b = letters[starts[second[i]] : starts[second[i] + 1]]
        for j in range(len(b) + 1):
            row[j] = j
        for k in range(len(a)):
            diagonal = row[0]
            row[0] = k + 1
            for j in range(len(b)):
                above = row[j + 1]
                replaced = diagonal + (0 if a[k] == b[j] else 1)
                row[j + 1] = min(replaced, row[j] + 1, above + 1)
                diagonal = above
        shorter = min(len(a), len(b))
        prefix = 0
        while prefix < shorter and a[prefix] == b[prefix]:
            prefix += 1
        suffix = 0
        while suffix < shorter and a[len(a) - 1 - suffix] == b[len(b) - 1 - suffix]:
            suffix += 1
        out[i, 0], out[i, 1], out[i, 2] = row[len(b)], prefix, suffix
    return out
