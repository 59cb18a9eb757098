"""Is a lexicon the right way round for two languages?

A lexicon with its columns swapped still matches a few pairs by accident (names, numbers, words that both languages
have), and a map learned from those says nothing. So what it finds reversed is compared with what it finds as given.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from isoglot.errors import LexiconError

if TYPE_CHECKING:
    from isoglot.lexicons.lexicon import Lexicon

#: The reversed lexicon must find this many times the pairs of the given one before it is called reversed ...
_TIMES = 2
#: ... and this share more than the pairs found as given, so that a few accidents among many right pairs do not count.
_SHARE = 0.1
_LEAST = 3


def check_direction(lexicon: Lexicon, src: Container[str], tgt: Container[str], *, remedy: str | None = None) -> None:
    """Raise if the columns are swapped: if reversed it finds far more pairs in `src` and `tgt`.

    `src` and `tgt` are Spaces, or sets of words. Pairs of identical form tell nothing of the direction.

    >>> from isoglot.lexicons import Lexicon
    >>> lexicon = Lexicon([("chat", "cat"), ("chien", "dog"), ("un", "one"), ("taxi", "taxi")])
    >>> check_direction(lexicon, {"chat", "chien", "un", "taxi"}, {"cat", "dog", "one", "taxi"})
    >>> check_direction(lexicon, {"cat", "dog", "one"}, {"chat", "chien", "un"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    isoglot.errors.LexiconError: the lexicon is the other way round: ...
    """
    given = _found(lexicon.pairs, src, tgt)
    turned = _found(((b, a) for a, b in lexicon.pairs), src, tgt)
    if turned[1] < max(_LEAST, _TIMES * given[1] + _SHARE * given[0]):
        return
    raise LexiconError(
        f"the lexicon is the other way round: {given[0]:,} of its {len(lexicon):,} pairs are in both vocabularies "
        f"as given, {turned[0]:,} are when reversed",
        where=lexicon.source,
        remedy=remedy or "swap the two languages, or reverse the lexicon (`swap`; in Python `lexicon.invert()`)",
    )


def _found(pairs: Iterable[tuple[str, str]], src: Container[str], tgt: Container[str]) -> tuple[int, int]:
    """Pairs in both vocabularies: all, and those whose two words differ."""
    found = [a != b for a, b in pairs if a in src and b in tgt]
    return len(found), sum(found)
