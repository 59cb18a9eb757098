"""Dictionaries that cost nothing: words both languages write the same way, and numbers.

Numerals as the only seeds are the setting of Artetxe, Labaka and Agirre (2017), "Learning bilingual word
embeddings with (almost) no bilingual data"; identical strings are that of Søgaard, Ruder and Vulić (2018),
"On the limitations of unsupervised bilingual dictionary induction".
"""

from __future__ import annotations

import unicodedata

import numpy as np

from isoglot.lexicons.frequency import frequency_ranks
from isoglot.lexicons.lexicon import Lexicon
from isoglot.spaces import Space


def identical_strings(src: Space, tgt: Space, *, min_length: int = 1) -> Lexicon:
    """Words of at least `min_length` characters that both spaces hold, the most frequent in `src` first.

    >>> en, fr = Space("en", ["the", "taxi", "cat"], np.eye(3)), Space("fr", ["taxi", "chat"], np.eye(2))
    >>> identical_strings(en, fr).pairs
    (('taxi', 'taxi'),)
    """
    words = [word for word in _by_frequency(src) if len(word) >= min_length and word in tgt]
    return Lexicon(tuple((word, word) for word in words), src.lang, tgt.lang, source="identical strings")


def numerals(src: Space, tgt: Space) -> Lexicon:
    """Words that consist of digits and name the same number, also across scripts; leading zeros count.

    >>> en, fa = Space("en", ["1984", "in", "07"], np.eye(3)), Space("fa", ["۱۹۸۴", "1984", "7"], np.eye(3))
    >>> numerals(en, fa).pairs
    (('1984', '۱۹۸۴'), ('1984', '1984'))
    """
    targets: dict[str, list[str]] = {}
    for word in _by_frequency(tgt):
        if word.isdecimal():
            targets.setdefault(_ascii_digits(word), []).append(word)
    pairs = [
        (word, target)
        for word in _by_frequency(src)
        if word.isdecimal()
        for target in targets.get(_ascii_digits(word), ())
    ]
    return Lexicon(tuple(pairs), src.lang, tgt.lang, source="numerals")


def _by_frequency(space: Space) -> list[str]:
    return [space.words[row] for row in np.argsort(frequency_ranks(space)) if space.words[row]]


def _ascii_digits(word: str) -> str:
    return "".join(str(unicodedata.decimal(digit)) for digit in word)
