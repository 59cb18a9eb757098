"""Parallel text out of LibreOffice's help: pages that share names and paragraph ids across languages.

What is not translated yet stands there in English, so the English pages are read for every pair: such paragraphs are
left out on either side. Code is left out too, and of words for several systems ("Cmd" or "Ctrl") the usual one stays.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from isoglot.catalogue.debian import open_debian_package
from isoglot.catalogue.readers import Facts
from isoglot.catalogue.readers.messages import LONG, write_parallel
from isoglot.catalogue.record import Entry
from isoglot.errors import FormatError
from isoglot.progress import Progress

#: Paragraphs by file and id; an id may come several times in a file, as pages are built out of shared parts.
Pages = Mapping[tuple[str, str], Sequence[str]]

_ENGLISH = "en-US"
_PARAGRAPH = re.compile(r"<(p|h[1-6])\b([^>]*)>(.*?)</\1>", re.DOTALL)
_ID = re.compile(r'\bid="(?!bm_)([^"]+)"')
_CODE = re.compile(r'\bclass="[^"]*code')
_TAG = re.compile(r"<[^>]*>")
_PIECE = re.compile(r"(<[^>]*>)")
_VARIANT = re.compile(r'<span\s+hidden="true"\s+id="(default|[A-Z]+)')
_LETTERS = re.compile(r"[^\W\d_]{2}")
# A formula, markup or a call of a function rather than a sentence.
_CALL = re.compile(r"[=<]|[\w.]+\s?\([^()]*[;,:][^()]*\)\W*$")
_SPACE_BEFORE = re.compile(r"\s+([.,;)])(?=\s|$)")


def read_help_pages(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """settings: `src` and `tgt`, folders of the pages. Writes `text.*` (long pairs), `short.*` and the licence."""
    src, tgt = entry.settings["src"], entry.settings["tgt"]
    wanted = "|".join(map(re.escape, {_ENGLISH, src, tgt}))
    place = re.compile(
        rf"(?:\./)?usr/share/(?:libreoffice/help/({wanted})/text/(.+)\.html|doc/libreoffice-help-[^/]+/copyright)"
    )
    pages: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    step = f"reading {entry.name}"
    for done, path in enumerate(artefacts):
        progress(step, done, len(artefacts))
        for name, content in open_debian_package(path).walk(lambda name: bool(place.fullmatch(name))):
            match = place.fullmatch(name)
            assert match is not None
            if match[1] is None:  # the licence, which is the same in all of these packages
                (folder / "copyright").write_bytes(content)
                continue
            for key, text in paragraphs(content.decode("utf-8", "replace")):
                pages[match[1]][match[2], key].append(text)
    progress(step, len(artefacts), len(artefacts))
    for language in (_ENGLISH, src, tgt):
        if language not in pages:
            raise FormatError(f"no help pages of {language} in the packages", where=entry.name)
    pairs = align_pages(pages[src], pages[tgt], pages[_ENGLISH])
    return write_parallel(entry, pairs, folder)


def align_pages(src: Pages, tgt: Pages, english: Pages) -> dict[tuple[str, str], bool]:
    """Distinct pairs that share file and id, and whether their English is long, in order of files and ids.

    Left out: what is empty, a formula, not translated, or there another number of times.

    >>> english = {("calc", "1"): ["Opens the selected file."], ("calc", "2"): ["Not translated"]}
    >>> align_pages(english, {("calc", "1"): ["Öffnet die Datei."], ("calc", "2"): ["Not translated"]}, english)
    {('Opens the selected file.', 'Öffnet die Datei.'): True}
    """
    pairs: dict[tuple[str, str], bool] = {}
    for key in sorted(src.keys() & tgt.keys() & english.keys()):
        if not len(src[key]) == len(tgt[key]) == len(english[key]):
            continue
        for a, b, original in zip(src[key], tgt[key], english[key], strict=True):
            translations = [side for side, texts in ((a, src), (b, tgt)) if texts is not english]
            if any(_same(original, text) for text in translations) or _same(a, b):
                continue
            if all(map(_is_prose, (a, b, original))):
                pairs[a, b] = len(original.split()) >= LONG
    return pairs


def paragraphs(page: str) -> Iterator[tuple[str, str]]:
    """Id and text of the page's paragraphs and headings, code left out.

    >>> list(paragraphs('<p id="par_1" class="x">Choose <b>Edit &amp; Go</b> .</p><p id="par_2" class="code">a=1</p>'))
    [('par_1', 'Choose Edit & Go.')]
    """
    for _, attributes, body in _PARAGRAPH.findall(page):
        name = _ID.search(attributes)
        if name is not None and not _CODE.search(attributes):
            if 'hidden="true"' in body:
                body = _usual_variant(body)
            text = html.unescape(_TAG.sub(lambda tag: " " if tag[0].startswith("<br") else "", body))
            yield name[1], _SPACE_BEFORE.sub(r"\1", " ".join(text.split()))


def _usual_variant(body: str) -> str:
    """The paragraph with one of each set of variants: what it says for all other systems and programs, or the first.

    >>> _usual_variant('<span hidden="true" id="MAC1">Cmd</span><span hidden="true" id="default1">Ctrl</span>+A')
    '<span hidden="true" id="default1">Ctrl</span>+A'
    """
    names = _VARIANT.findall(body)
    usual = "default" if "default" in names else next(iter(names), "")
    parts, depth = [], 0  # how many spans deep within a variant that is left out
    for piece in _PIECE.split(body):
        variant = _VARIANT.match(piece)
        if depth or (variant and variant[1] != usual):
            depth += piece.startswith("<span") - piece.startswith("</span")
        else:
            parts.append(piece)
    return "".join(parts)


def _is_prose(text: str) -> bool:
    return bool(_LETTERS.search(text)) and not _CALL.match(text) and "not found]" not in text


def _same(a: str, b: str) -> bool:
    """Whether they differ in nothing but spaces, which translated pages may set otherwise in what is not translated."""
    return a == b or a.replace(" ", "") == b.replace(" ", "")
