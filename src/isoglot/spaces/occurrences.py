"""Names of occurrences: "bank@17:3" is the word at position 3 of sentence 17, both counted from 0.

A Space of contextual vectors has one row per occurrence. The names say which word each row is an occurrence of, so
such a Space can be saved, loaded and mapped like any other.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from isoglot.errors import InputError

# Only numbers follow the separating "@", so it is the last one. They have no leading zeros: otherwise one occurrence
# could have two names, and so two rows.
_NAME = re.compile(r"(.+)@(0|[1-9][0-9]{0,17}):(0|[1-9][0-9]{0,17})", re.DOTALL)


class Occurrence(NamedTuple):
    """A word in a sentence at a position, the numbers counted from 0."""

    word: str
    sentence: int
    position: int


def occurrence_name(word: str, sentence: int, position: int) -> str:
    """The name of an occurrence as an entry of a Space.

    >>> occurrence_name("bank", 17, 3)
    'bank@17:3'
    """
    if not word or sentence < 0 or position < 0:
        raise InputError(
            f"not an occurrence: word {word!r}, sentence {sentence}, position {position}",
            remedy="give a word, and numbers counted from 0",
        )
    return f"{word}@{int(sentence)}:{int(position)}"


def parse_occurrence(name: str) -> Occurrence:
    """The parts of a name, read from the right: words may contain "@" and ":".

    >>> parse_occurrence("me@home:8@17:3")
    Occurrence(word='me@home:8', sentence=17, position=3)
    """
    parts = _NAME.fullmatch(name)
    if parts is None:
        raise InputError(
            f"{name!r} is not the name of an occurrence",
            remedy='names are written word@sentence:position, as in "bank@17:3"',
        )
    return Occurrence(parts[1], int(parts[2]), int(parts[3]))
