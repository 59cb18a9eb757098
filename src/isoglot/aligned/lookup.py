"""Where the vector of a query comes from: a word, a phrase made of words, or parts of a word; and what to try if not.

The vector of a phrase that is no word itself is the sum of its words' vectors, each of unit length, where frequent
words count less: with weights that grow with the logarithm of the frequency rank, the sum was nearest to the vector of
the phrase itself for 33% of 600 phrases that word2vec's English vocabulary has as words, with equal weights for 31%.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from isoglot.aligned.shared import SharedSpaces
from isoglot.spaces import Space

#: A word that is this many times more frequent in another language is probably one of that language.
_TIMES = 10
#: Ranks differ by chance among the most frequent words.
_COMMON = 100


@dataclasses.dataclass(frozen=True, eq=False)
class Lookup:
    """What was found of one query.

    Args:
        vector: in the shared space, None if there is none.
        form: the word of the vocabulary it was found as, empty if it is none.
        parts: of a phrase that is composed, its words.
    """

    vector: npt.NDArray[np.float32] | None
    form: str = ""
    parts: tuple[str, ...] = ()


def look_up(aligned: SharedSpaces, name: str, query: str) -> Lookup:
    """Find a word as it is, lower-cased or by its n-grams; a phrase as a word (`ice_cream`) or by its words."""
    space, parts = aligned.spaces[name], tuple(query.split())
    spellings = [query, *(mark.join(parts) for mark in ("_", "-") if len(parts) > 1)]
    for form in [*spellings, *(one.lower() for one in spellings)]:
        if form in space:
            return Lookup(np.array(space.vectors[space.index[form]]), form)
    if len(parts) < 2:
        vector = aligned.vector(name, query)
        # A word too short to have n-grams gets zeros, which lie near to everything.
        return Lookup(vector if vector is not None and vector.any() else None)
    total = np.zeros(space.dim, dtype=np.float64)
    for part in parts:
        found = look_up(aligned, name, part)
        if found.vector is not None:
            rank = _rank(space, found.form) if found.form else len(space)
            total += np.log(2.0 + rank) * found.vector / max(float(np.linalg.norm(found.vector)), 1e-12)
    return Lookup(total.astype(np.float32) if total.any() else None, parts=parts)


def likelier_language(aligned: SharedSpaces, name: str, word: str) -> str | None:
    """Another language of which this is a word, if it is none of `name` or a far rarer one there."""
    places = {}
    for lang, space in aligned.spaces.items():
        form = next((form for form in (word, word.lower()) if form in space), None)
        places[lang] = None if form is None else _rank(space, form)
    own = places.pop(name)
    known = {lang: place for lang, place in places.items() if place is not None}
    if not known:
        return None
    best = min(known, key=lambda lang: known[lang])
    return best if own is None or own > _TIMES * (known[best] + _COMMON) else None


def _rank(space: Space, word: str) -> int:
    """How many words are more frequent; of one word, which is faster than ranking all."""
    row = space.index[word]
    return row if space.counts is None else int((space.counts > space.counts[row]).sum())
