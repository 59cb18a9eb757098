"""Words as labels of a picture: what XML can hold of them, how wide they may become, and where they are cut.

Nobody can measure text here, as fonts differ between machines: widths are estimated, on the large side.
"""

from __future__ import annotations

import html
import re
import unicodedata

#: Size of letters in pixels.
FONT = 13

# What XML cannot hold (most control characters, halves of surrogate pairs, two that are no characters), and other
# control characters, which nobody can read.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAKS = re.compile("[\t\n\r\u2028\u2029]+")
_NARROW, _BROAD = frozenset("iIjlftr.,:;'|!()[]{}-\u2019 "), frozenset("mwMW@%æœÆŒжмшщыюфЖМШЩЫЮФ\u2014\u2026")
#: Marks upon a letter are free, but not thousands of them.
_CODES_PER_LETTER = 4


def safe(text: str) -> str:
    """Escaped for XML and HTML; what these cannot hold becomes U+FFFD, and breaks become spaces.

    >>> safe('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    return html.escape(_clean(text))


def shortened(text: str, letters: int) -> str:
    """At most so many letters, with an ellipsis for the others; wide letters count twice, marks upon letters do not.

    A text without any visible letter is shown as the code of its first one.

    >>> shortened("Donaudampfschiff", 6), shortened("全角文字", 6), shortened("\\u200b", 6)
    ('Donau…', '全角…', 'U+200B')
    """
    text = _clean(text)
    if text and not any(_columns(char) for char in text.replace(" ", "")):
        return f"U+{ord(text[0]):04X}"
    if len(text) <= _CODES_PER_LETTER * letters and sum(map(_columns, text)) <= letters:
        return text
    kept, room = "", letters - 1
    for char in text[: _CODES_PER_LETTER * letters]:
        room -= _columns(char)
        if room < 0:
            break
        kept += char
    return kept + "…"


def text_width(text: str) -> float:
    """Pixels that the text may take, estimated from a broad font's letters.

    >>> text_width("ill") < text_width("new") < text_width("全角文")
    True
    """
    return FONT * sum(map(_ems, _clean(text)))


def isolated(text: str) -> str:
    """Text between marks that keep its direction from reordering what stands around it, if any letter runs leftwards.

    >>> isolated("cat"), isolated("\\u05d7") == "\\u2068\\u05d7\\u2069"
    ('cat', True)
    """
    leftwards = any(unicodedata.bidirectional(char) in ("R", "AL", "RLE", "RLO", "RLI") for char in text)
    return f"\u2068{text}\u2069" if leftwards else text


def _clean(text: str) -> str:
    return _BREAKS.sub(" ", _ILLEGAL.sub("\ufffd", text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _ems(char: str) -> float:
    """Width in units of the letters' size."""
    columns = _columns(char)
    if columns != 1:
        return 1.05 if columns else 0.0
    if char in _NARROW:
        return 0.42
    if char in _BROAD:
        return 1.0
    category = unicodedata.category(char)
    if category in ("Lo", "Mc") and char >= "\u0900":  # scripts of India and its neighbours, of Ethiopia, ...
        return 0.9
    return 0.75 if category == "Lu" else 0.64
