from __future__ import annotations

import pytest

from isoglot.errors import IsoglotError
from isoglot.printable import UNSAFE, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("music, музыка, 音楽 [b] \\", "music, музыка, 音楽 [b] \\"),
        ("\x1b[2J\x1b]0;x\x07", r"\x1b[2J\x1b]0;x\x07"),
        ("\x9b2J\x85\x7f", r"\x9b2J\x85\x7f"),
        ("a\rb\bc\td\n", r"a\rb\x08c\td\n"),
        ("\u202eabc\u2066\u2028", r"\u202eabc\u2066\u2028"),
        ("\udcff\ud800", r"\udcff\ud800"),
        # Words of Persian and Sinhala: joiners belong to them.
        ("می\u200cخواهم ශ්\u200dරී", "می\u200cخواهم ශ්\u200dරී"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text, shown):
    assert printable(text) == shown
    assert not UNSAFE.search(shown)


def test_some_characters_can_be_kept():
    assert printable("a\tb\n\x1b", keep="\n\t") == "a\tb\n\\x1b"


def test_errors_are_one_printable_line():
    error = IsoglotError("two\n  lines, \x1b[2J", where="a\nb\x9b.vec:3", remedy="get \u202eit")
    assert str(error) == r"a\nb\x9b.vec:3: two lines, \x1b[2J; get \u202eit"
