"""Text from files and arguments, made safe to show to people.

A word, a path or a quoted line may hold anything: escape sequences that clear a screen or rename a window, carriage
returns that overwrite a message, marks that reverse the order of letters. They are shown as escapes, not sent.
"""

from __future__ import annotations

import re

#: C0 and C1 controls, line separators, bidirectional controls, the byte order mark, lone surrogates. Joiners stay:
#: Persian and Indic words need them.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]")


def printable(text: str, keep: str = "") -> str:
    r"""`text` with visible escapes for everything that a terminal would act on, except characters in `keep`.

    >>> print(printable("a\x1b[2Jb\nc"))
    a\x1b[2Jb\nc
    """
    if text.isprintable():
        return text
    return UNSAFE.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
