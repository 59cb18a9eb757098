"""Parallel text out of a program's translated messages: JSON files that share names and keys across languages.

Markup that is the same in every language would make sentences look alike for the wrong reason: placeholders
(`{name}`), link targets, addresses and emphasis marks are taken out, the words of links stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from isoglot.catalogue.archive import Archive
from isoglot.catalogue.readers import Facts
from isoglot.catalogue.record import Entry
from isoglot.errors import FormatError
from isoglot.progress import Progress
from isoglot.text import ParallelText

#: A pair is "long" if its English (or source) side has at least so many words.
LONG = 4

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_REFERENCE = re.compile(r"\[%.*?%\]")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_ADDRESS = re.compile(r"https?://\S+")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")
_EMPTY_QUOTES = re.compile(r"\"\s*\"|'\s*'|“\s*”|„\s*[“”]|«\s*»|\(\s*\)")
_SPACE_BEFORE = re.compile(r"\s+([.,;:!?)])")
_WORD = re.compile(r"[^\W\d_]")


def read_messages(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """settings: `src` and `tgt`, locales of the files. Writes `text.*` (long pairs) and `short.*`."""
    src, tgt = entry.settings["src"], entry.settings["tgt"]
    place = re.compile(rf"(?:.*/)?components/(.+)/translations/({re.escape(src)}|{re.escape(tgt)})\.json")
    messages: dict[str, dict[tuple[str, str], str]] = {src: {}, tgt: {}}
    archive = Archive(artefacts[0])
    for name, content in archive.walk(lambda name: bool(place.fullmatch(name)), progress, f"reading {entry.name}"):
        match = place.fullmatch(name)
        assert match is not None
        try:
            tree = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{name} is not JSON", where=entry.name) from error
        messages[match[2]].update(((match[1], key), text) for key, text in _leaves(tree))
    pairs = align_messages(messages[src], messages[tgt])
    return write_parallel(entry, {pair: len(pair[0].split()) >= LONG for pair in pairs}, folder)


def write_parallel(entry: Entry, pairs: Mapping[tuple[str, str], bool], folder: Path) -> Facts:
    """Write the pairs that are long as `text.*` and the others as `short.*`; give how many there are."""
    src, tgt = entry.languages
    count = {}
    for stem, long in (("text", True), ("short", False)):
        kept = [pair for pair, is_long in pairs.items() if is_long == long]
        text = ParallelText(src, tgt, tuple(a for a, _ in kept), tuple(b for _, b in kept))
        text.save(folder / f"{stem}.{src}", folder / f"{stem}.{tgt}")
        count[stem] = len(kept)
    return {"pairs": count["text"], "short pairs": count["short"]}


def align_messages(src: dict[tuple[str, str], str], tgt: dict[tuple[str, str], str]) -> list[tuple[str, str]]:
    """Distinct cleaned pairs that share file and key, in order of files and keys.

    Left out: what is empty, without letters, or the same on both sides (not translated).

    >>> align_messages({("light", "on"): "Turn {name} on", ("light", "x"): "OK"},
    ...                {("light", "on"): "{name} einschalten", ("light", "x"): "OK"})
    [('Turn on', 'einschalten')]
    """
    pairs: dict[tuple[str, str], None] = {}
    for key in sorted(src.keys() & tgt.keys()):
        a, b = clean_message(src[key]), clean_message(tgt[key])
        if a != b and _WORD.search(a) and _WORD.search(b):
            pairs[a, b] = None
    return list(pairs)


def clean_message(text: str) -> str:
    """Plain words on one line.

    >>> clean_message("See [the guide]({url}) for **{device}**.\\nThen press `OK`")
    'See the guide for. Then press OK'
    """
    text = _REFERENCE.sub(" ", text)
    text = _LINK.sub(r"\1", text)
    for markup in (_ADDRESS, _TAG):
        text = markup.sub(" ", text)
    # Placeholders may stand inside one another, innermost first.
    while (simpler := _PLACEHOLDER.sub(" ", text)) != text:
        text = simpler
    text = _EMPHASIS.sub("", text)
    text = _EMPTY_QUOTES.sub(" ", text)
    return _SPACE_BEFORE.sub(r"\1", " ".join(text.split())).strip()


def _leaves(tree: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, f"{path}/{key}")
    elif isinstance(tree, str):
        yield path, tree
