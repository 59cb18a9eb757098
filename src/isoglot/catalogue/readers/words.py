"""What counts as one word when a dictionary made for people is turned into word pairs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from isoglot.lexicons import Lexicon

# Letters (with the vowel signs that many scripts write as marks), hyphens and apostrophes between them.
_WORD = re.compile(r"[^\W\d_]+(?:[-'’·・\u200c\u200d]+[^\W\d_]+)*")


def one_word(text: str) -> str | None:
    """The word in NFC, or None if the text is empty, several words, or holds digits or signs.

    >>> one_word("aujourd'hui"), one_word("pomme de terre"), one_word("4x4"), one_word("porte-clé")
    ("aujourd'hui", None, None, 'porte-clé')
    """
    # Some dictionaries write the typographic hyphen, which no vectors know.
    text = unicodedata.normalize("NFC", text.strip()).replace("\u2010", "-")
    letters = "".join(c for c in text if not unicodedata.category(c).startswith("M"))
    return text if _WORD.fullmatch(letters) else None


def write_lexicon(pairs: Iterable[tuple[str, str]], folder: Path, result: str, languages: tuple[str, ...]) -> int:
    """Save distinct pairs as our dictionary file; give their number."""
    src, tgt = languages
    lexicon = Lexicon(tuple(pairs), src, tgt)
    lexicon.save(folder / result)
    return len(lexicon)
