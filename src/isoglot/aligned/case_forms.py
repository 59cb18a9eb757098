"""Forms of a word that differ in case only: which of them a dictionary shows, and which words look like names.

A vocabulary that keeps case holds `formé` and `Formé`, and the rarer form, seen at the beginning of sentences, often
lies nearest. A dictionary wants the form that the language itself uses most: `formé` in French, but `Haus` in German.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from isoglot.errors import ConfigError
from isoglot.lexicons import frequency_ranks
from isoglot.spaces import Space
from isoglot.suggest import unknown

#: Kinds of words that can be left out of a dictionary.
KINDS = ("punctuation", "numerals", "names")


@dataclasses.dataclass(frozen=True, eq=False)
class CaseForms:
    """What each row of a vocabulary is a form of.

    Args:
        groups: (n,), equal for words that differ in case only.
        usual: (n,), the row of the most frequent form.
        capital: (n,), whether the word begins with a capital letter.

    >>> forms = CaseForms.of(Space("fr", ["de", "formé", "Formé", "Paris"], np.eye(4)))
    >>> forms.usual.tolist(), forms.names.tolist()
    ([0, 1, 1, 3], [False, False, False, True])
    """

    groups: npt.NDArray[np.int64]
    usual: npt.NDArray[np.int64]
    capital: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, space: Space) -> CaseForms:
        numbers: dict[str, int] = {}
        groups = np.fromiter((numbers.setdefault(w.casefold(), len(numbers)) for w in space.words), dtype=np.int64)
        first = np.empty(len(numbers), dtype=np.int64)
        # From the rarest to the most frequent, which is written last and so stays.
        order = np.argsort(-frequency_ranks(space), kind="stable")
        first[groups[order]] = order
        capital = np.fromiter((word[:1].isupper() for word in space.words), dtype=np.bool_, count=len(space))
        return cls(groups, first[groups], capital)

    @property
    def names(self) -> npt.NDArray[np.bool_]:
        """Words whose most frequent form has a capital: names, and nouns in languages that capitalise them."""
        usual: npt.NDArray[np.bool_] = self.capital[self.usual]
        return usual


def check_kinds(skip: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """The kinds of words to leave out; an unknown one is an error."""
    kinds = (skip,) if isinstance(skip, str) else tuple(skip)
    for kind in kinds:
        if kind not in KINDS:
            raise unknown("kind of words", kind, KINDS, where="skip")
    if len(set(kinds)) < len(kinds):
        raise ConfigError("the same kind twice", where="skip", remedy="name it once")
    return kinds


def kind_of(word: str) -> str:
    """ "punctuation" without any letter or digit, "numerals" with digits but no letters, else "word".

    >>> [kind_of(word) for word in ("--", "3.5", "½", "ok", "B2B", "มา")]
    ['punctuation', 'numerals', 'numerals', 'word', 'word', 'word']
    """
    if any(character.isalpha() for character in word):
        return "word"
    return "numerals" if any(character.isnumeric() for character in word) else "punctuation"
