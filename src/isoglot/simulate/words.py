"""Words of languages that do not exist: pronounceable, short where frequent, and told apart at a glance."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np


@dataclasses.dataclass(frozen=True)
class Phonology:
    """What a language's words are made of: a word is syllables (onset, vowel, perhaps coda) and an ending."""

    onsets: tuple[str, ...]
    vowels: tuple[str, ...]
    codas: tuple[str, ...]
    endings: tuple[str, ...]


#: Clusters, th and w, consonant endings.
NORTHERN = Phonology(
    onsets=("b", "br", "d", "f", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "r", "s", "sh", "st", "t", "th", "w"),
    vowels=("a", "e", "i", "o", "u", "ea", "oo"),
    codas=("", "", "", "n", "r", "l", "s", "nd", "k"),
    endings=("en", "er", "ing", "ow", "ath", "ick", "old", "unt", "ard", "y"),
)
#: Open syllables, accents, vowel endings.
SOUTHERN = Phonology(
    onsets=("b", "c", "ch", "d", "f", "g", "j", "l", "m", "n", "p", "qu", "r", "s", "t", "v", "z", "x"),
    vowels=("a", "é", "è", "i", "o", "u", "ou", "â"),
    codas=("", "", "", "", "r", "l", "m"),
    endings=("a", "e", "é", "io", "ette", "eau", "ura", "ique", "ão", "ès"),
)


def invent_words(
    phonology: Phonology, number: int, random: np.random.Generator, *, taken: set[str] | None = None
) -> list[str]:
    """`number` distinct words, the first ones shortest, none of them in `taken`.

    >>> words = invent_words(NORTHERN, 1000, np.random.default_rng(0))
    >>> len(set(words)), len(words[0]) < len(words[-1]) + 9
    (1000, True)
    """
    used = set(taken or ())
    words: list[str] = []
    while len(words) < number:
        # The first thirty words have one syllable and no ending; length grows with the logarithm of the rank.
        size = min(3, int(np.log10(len(words) + 1) / 1.5))
        # Where the short words run out, the next syllable opens a fresh supply.
        candidates = (
            _invent(phonology, max(1, size) + attempt // 20, random, ending=size > 0) for attempt in itertools.count()
        )
        word = next(word for word in candidates if word not in used)
        used.add(word)
        words.append(word)
    return words


def invent_names(number: int, random: np.random.Generator) -> list[str]:
    """`number` strings that every language writes alike: numbers, and names in letters both languages have."""
    digits = max(1, number // 3)
    pool = [str(value) for value in [*range(1, 100), *range(1800, 2051), *range(100, 1800)]]
    chosen = random.permutation(min(len(pool), max(4 * digits, 100)))[:digits]
    numbers = [pool[i] for i in chosen]
    shared = Phonology(
        onsets=("b", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t"),
        vowels=("a", "e", "i", "o", "u"),
        codas=("", "", "n", "r"),
        endings=("ia", "os", "us", "in", "ova", "ez"),
    )
    names: set[str] = set()
    ordered: list[str] = []
    while len(ordered) < number - len(numbers):
        name = _invent(shared, 2 + len(ordered) // 4000, random, ending=True).capitalize()
        if name not in names:
            names.add(name)
            ordered.append(name)
    mixed = [*numbers, *ordered]
    return [mixed[i] for i in random.permutation(len(mixed))][:number]


def _invent(phonology: Phonology, syllables: int, random: np.random.Generator, *, ending: bool) -> str:
    parts: list[str] = []
    for _ in range(syllables):
        parts.append(_pick(phonology.onsets, random))
        parts.append(_pick(phonology.vowels, random))
        parts.append(_pick(phonology.codas, random))
    if ending:
        # An ending begins with a vowel, so it takes the last vowel's place.
        parts[-2:] = [_pick(phonology.endings, random)]
    return "".join(parts)


def _pick(choices: tuple[str, ...], random: np.random.Generator) -> str:
    return choices[int(random.integers(len(choices)))]
