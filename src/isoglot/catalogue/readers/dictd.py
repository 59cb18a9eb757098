"""Dictionaries in dictd's form: an index of head words and one gzip-compatible text of all articles.

FreeDict's articles put the head word first and translations on numbered lines; Müller's English-Russian
dictionary is running text for people. Both are noisy; what is not plainly one word is left out.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from isoglot.catalogue.archive import FILE_LIMIT
from isoglot.catalogue.debian import open_debian_package
from isoglot.catalogue.readers import Facts
from isoglot.catalogue.readers.words import one_word, write_lexicon
from isoglot.catalogue.record import Entry
from isoglot.errors import FormatError
from isoglot.progress import Progress

_DIGITS = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
_NUMBERED = re.compile(r"\d+\. (.*)")
_TRAILING_NUMBER = re.compile(r" \d+\.$")
_HEAD_NOTES = re.compile(r"\s+(?:/.*|<.*)$")
_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]|\{[^}]*\}|<[^>]*>")
_LABEL = re.compile(r"_[\w-]+\.?")
_SENSE_NUMBER = re.compile(r"\b\d+[.)>]|[а-я]\)\s")
_LATIN = re.compile(r"[A-Za-z]")


def read_freedict(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """settings: `files`, one dictionary name per package; names that begin with "-" are reversed."""
    return _read(entry, artefacts, folder, progress, freedict_pairs)


def read_mueller(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """settings: `files`, the dictionary's name."""
    return _read(entry, artefacts, folder, progress, mueller_pairs)


def articles(index: str, text: bytes, where: str) -> Iterator[str]:
    """Each article once, in the index's order; entries about the dictionary itself are left out."""
    seen = set()
    for number, line in enumerate(index.splitlines(), start=1):
        head, *place = line.split("\t")
        if head.startswith(("00database", "00-database")):
            continue
        try:
            offset, length = (_number(field) for field in place[:2])
        except (KeyError, ValueError) as error:
            raise FormatError("not a line of a dictd index", where=f"{where}:{number}") from error
        if (offset, length) not in seen:
            seen.add((offset, length))
            yield text[offset : offset + length].decode("utf-8", "replace")


def freedict_pairs(article: str) -> Iterator[tuple[str, str]]:
    """Head word and the single words among its translations.

    >>> list(freedict_pairs("rumor /x/ <n>\\n1. huhu\\na claim\\n2. kuulopuhe, huhu 2.\\ninformation"))
    [('rumor', 'huhu'), ('rumor', 'kuulopuhe'), ('rumor', 'huhu')]
    """
    head, *lines = article.splitlines()
    source = one_word(_HEAD_NOTES.sub("", _BRACKETS.sub(" ", head) if not head.startswith("(") else head))
    if source is None or not lines:
        return
    numbered = [match[1] for line in lines if (match := _NUMBERED.match(line))]
    for line in numbered or lines[:1]:
        for piece in re.split(r"[,;.!?]", _BRACKETS.sub(" ", _TRAILING_NUMBER.sub("", line))):
            if word := one_word(piece):
                yield source, word


def mueller_pairs(article: str) -> Iterator[tuple[str, str]]:
    """Head word and the single Russian words of its article; examples and labels are dropped.

    >>> list(mueller_pairs("wallet\\n   [wɔlit] _n.\\n   1) бумажник\\n   2) сумка (для денег); a fat wallet богач"))
    [('wallet', 'бумажник'), ('wallet', 'сумка')]
    """
    head, _, body = article.partition("\n")
    source = one_word(head)
    if source is None or head.startswith("_"):
        return
    text = _LABEL.sub(" ", _BRACKETS.sub(" ", " ".join(body.split())))
    for piece in re.split(r"[,;:.]|\s-\s", _SENSE_NUMBER.sub(";", text)):
        if not _LATIN.search(piece) and (word := one_word(piece)) and re.search("[а-яё]", word):
            yield source, word


def _read(
    entry: Entry,
    artefacts: Sequence[Path],
    folder: Path,
    progress: Progress,
    parse: Callable[[str], Iterator[tuple[str, str]]],
) -> Facts:
    pairs: list[tuple[str, str]] = []
    step = f"reading {entry.name}"
    for done, (path, name) in enumerate(zip(artefacts, entry.settings["files"].split(), strict=True)):
        progress(step, done, len(artefacts))
        turned = name.startswith("-")
        name = name.removeprefix("-")
        index, packed = open_debian_package(path).read(f"dictd/{name}.index", f"dictd/{name}.dict.dz")
        for article in articles(index.decode("utf-8", "replace"), _gunzip(packed, str(path)), f"{name}.index"):
            pairs.extend((b, a) if turned else (a, b) for a, b in parse(article))
    count = write_lexicon(pairs, folder, entry.result, entry.languages)
    progress(step, len(artefacts), len(artefacts))
    return {"pairs": count}


def _gunzip(packed: bytes, where: str) -> bytes:
    try:
        machine = zlib.decompressobj(wbits=31)
        data = machine.decompress(packed, FILE_LIMIT)
    except zlib.error as error:
        raise FormatError(f"damaged dictionary text ({error})", where=where) from error
    if machine.unconsumed_tail:
        raise FormatError("the dictionary unpacks to more than it should", where=where)
    return data


def _number(text: str) -> int:
    value = 0
    for character in text:
        value = value * 64 + _DIGITS[character]
    return value
