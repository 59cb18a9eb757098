"""The Ding dictionary (German-English): `Haus {n}; Gebäude {n} | Häuser {pl} :: house; building | houses`.

`|` separates forms that correspond one to one, `;` separates synonyms of which each translates each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from isoglot.catalogue.debian import open_debian_package
from isoglot.catalogue.readers import Facts
from isoglot.catalogue.readers.words import one_word, write_lexicon
from isoglot.catalogue.record import Entry
from isoglot.progress import Progress

_NOTES = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|<[^>]*>|/[^/]*/")


def read_ding(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """settings: `file`, the dictionary inside the package."""
    step = f"reading {entry.name}"
    progress(step, 0, 1)
    [content] = open_debian_package(artefacts[0]).read(entry.settings["file"])
    pairs = parse_ding(content.decode("utf-8", "replace").splitlines())
    count = write_lexicon(pairs, folder, entry.result, entry.languages)
    progress(step, 1, 1)
    return {"pairs": count}


def parse_ding(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(English, German) single words; notes in brackets are dropped, as is the "to" of infinitives.

    >>> list(parse_ding(["gehen {vi}; laufen {vi} | geht :: to go; to walk (on foot) | goes"]))
    [('go', 'gehen'), ('walk', 'gehen'), ('go', 'laufen'), ('walk', 'laufen'), ('goes', 'geht')]
    """
    for line in lines:
        german, found, english = line.partition("::")
        if line.startswith("#") or not found:
            continue
        forms, translations = german.split("|"), english.split("|")
        # Where the two sides have different numbers of forms nothing says which belong together.
        if len(forms) != len(translations):
            forms, translations = forms[:1], translations[:1]
        for form, translation in zip(forms, translations, strict=True):
            targets = _words(form)
            sources = [word.removeprefix("to ") for word in _pieces(translation)]
            for target in targets:
                for source in sources:
                    if word := one_word(source):
                        yield word, target


def _pieces(text: str) -> list[str]:
    return [" ".join(piece.split()) for piece in _NOTES.sub(" ", text).split(";")]


def _words(text: str) -> list[str]:
    return [word for piece in _pieces(text) if (word := one_word(piece))]
