"""The cut of a lexicon: which pairs teach and which words test, by frequency."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from isoglot.errors import LexiconError
from isoglot.lexicons.direction import check_direction
from isoglot.lexicons.lexicon import Lexicon
from isoglot.spaces import Space

#: As in Conneau et al. 2018: 5,000 frequent pairs to learn from, the next 1,500 words to test.
SEEDS = 5000
HELD_OUT = 1500


def split_lexicon(
    lexicon: Lexicon, src: Space, tgt: Space, *, seeds: int | None = None, held_out: int | None = None
) -> tuple[Lexicon, Lexicon | None]:
    """Pairs to learn from and pairs held out to test, by frequency of the source word.

    Only pairs that both spaces hold count, and all translations of a word stay on one side. `seeds` counts pairs,
    `held_out` source words. Unless said otherwise: the 5,000 pairs of the most frequent words teach and the next 1,500
    words test, where the lexicon is large enough; else a tenth of its words tests. `held_out=0` learns from everything.
    The test part also holds words of the same frequency whose translations have no vectors, for the full protocol.
    """
    check_direction(lexicon, src, tgt)
    usable = lexicon.restrict(src, tgt)
    if not len(usable):
        return lexicon, None  # the aligner says what is wrong
    sources = len(usable.by_source)
    by_frequency, _ = usable.split(src, train=sources, test=0)
    pairs_up_to = np.cumsum([len(targets) for targets in by_frequency.by_source.values()])
    if held_out == 0:
        return by_frequency.head(_words_for(seeds, pairs_up_to)), None
    large = pairs_up_to[-1] >= SEEDS and sources - _words_for(SEEDS, pairs_up_to) >= HELD_OUT
    if held_out is None:
        # Below twenty words a tenth is no test at all.
        held_out = HELD_OUT if large else sources // 10 if sources >= 20 else 0
    taught = _words_for(SEEDS if large and seeds is None else seeds, pairs_up_to)
    if seeds is None and not large:
        taught = sources - held_out
    if not held_out:
        return by_frequency.head(taught), None
    if taught + held_out > sources:
        raise LexiconError(
            f"only {sources:,} source words have a pair in both spaces: "
            f"{taught:,} to learn from and {held_out:,} to test are too many",
            where=lexicon.source,
            remedy="lower `seeds` or `held_out`",
        )
    return by_frequency.head(taught), _band(lexicon, src, list(by_frequency.by_source)[taught : taught + held_out])


def _band(lexicon: Lexicon, src: Space, words: list[str]) -> Lexicon:
    """All the lexicon's words from the first to the last of `words` by frequency, and all their translations.

    Among them are words none of whose translations has a vector: the full protocol counts those as missed.
    """
    known = lexicon.restrict(src)
    ordered = list(known.split(src, train=len(known.by_source), test=0)[0].by_source)
    band = ordered[ordered.index(words[0]) : ordered.index(words[-1]) + 1]
    return dataclasses.replace(lexicon, pairs=[(word, target) for word in band for target in lexicon.by_source[word]])


def _words_for(pairs: int | None, pairs_up_to: npt.NDArray[np.int64]) -> int:
    """How many of the most frequent words bring this many pairs; all words for None."""
    if pairs is None:
        return len(pairs_up_to)
    return min(int(np.searchsorted(pairs_up_to, pairs)) + 1, len(pairs_up_to))
