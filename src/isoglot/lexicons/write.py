"""Dictionaries as files: for spreadsheets and scripts (TSV, CSV), for readers of dictionaries (StarDict), and for
translators' tools (TMX 1.4b).

StarDict is three files, NAME.ifo, NAME.idx and NAME.dict; its format is described in "Format for StarDict dictionary
files". TMX is described in the specification of LISA's OSCAR group; each pair is a translation unit.
"""

from __future__ import annotations

import csv
import io
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from isoglot.errors import ConfigError, LexiconError
from isoglot.files import atomic_path
from isoglot.lexicons.read import HEADER
from isoglot.suggest import unknown
from isoglot.text import write_lines

if TYPE_CHECKING:
    from isoglot.lexicons.lexicon import Lexicon

#: Formats, with the endings of names that ask for them.
DICTIONARY_FORMATS = {"tsv": (".tsv", ".txt"), "csv": (".csv",), "stardict": (".ifo",), "tmx": (".tmx",)}
_PACKED = (".gz", ".xz", ".bz2", ".zst")
#: What further columns of a file may hold.
Column = Sequence[float] | Sequence[bool]
#: StarDict's limit of a headword, in bytes.
_LONGEST_HEADWORD = 255
#: What separates words or lines, or is taken for a mark of the file.
_SEPARATING = re.compile("[\t\n\r\0\ufeff]")
#: Characters that XML 1.0 or UTF-8 have no place for.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def dictionary_format(path: str | Path, format: str | None = None) -> str:
    """The format asked for by name or by the file's name, TSV for a name without an ending.

    >>> dictionary_format("en-fr.tmx"), dictionary_format("en-fr.csv.gz"), dictionary_format("out", "stardict")
    ('tmx', 'csv', 'stardict')
    """
    path = Path(path)
    packed = path.suffix.lower() in _PACKED
    if format is None:
        ending = Path(path.stem if packed else path.name).suffix.lower()
        by_ending = {one: name for name, endings in DICTIONARY_FORMATS.items() for one in endings}
        if ending and ending not in by_ending:
            remedy = f"end its name in {', '.join(by_ending)}, or name a `format`"
            raise ConfigError(f"no format of dictionaries ends in {ending}", where=str(path), remedy=remedy)
        format = by_ending.get(ending, "tsv")
    if format not in DICTIONARY_FORMATS:
        raise unknown("format of dictionaries", format, DICTIONARY_FORMATS)
    if packed and format == "stardict":
        raise ConfigError("a StarDict dictionary is three files", where=str(path), remedy="choose a name with .ifo")
    return format


def dictionary_files(path: str | Path, format: str | None = None) -> list[Path]:
    """The files that `write_dictionary` would write."""
    path = Path(path)
    if dictionary_format(path, format) != "stardict":
        return [path]
    stem = path.with_suffix("") if path.suffix.lower() == ".ifo" else path
    return [stem.with_name(stem.name + ending) for ending in (".dict", ".idx", ".ifo")]


def writable(word: str, format: str = "tmx") -> bool:
    r"""Whether a dictionary file can hold the word so that it is read back as it is; TMX can hold the fewest.

    >>> [writable(word) for word in ("pomme de terre", " x", "\ufeff", "a\tb")]
    [True, False, False, False]
    """
    plain = bool(word) and word == word.strip(" ") and not _SEPARATING.search(word)
    return plain and (format in ("tsv", "csv") or not _NOT_XML.search(word))


def write_dictionary(
    path: str | Path,
    lexicon: Lexicon,
    columns: Mapping[str, Column] = {},
    *,
    format: str | None = None,
) -> list[Path]:
    """Write the pairs with further columns, one value for each pair; returns the files written.

    Args:
        path: packed if it ends in `.gz`, `.xz`, `.bz2` or `.zst`.
        columns: by name, "confidence" (or "uncalibrated") first. TMX holds them as properties, StarDict shows a
            confidence beside each translation.
        format: "tsv", "csv", "stardict" or "tmx"; by default what the name ends with.
    """
    path, format = Path(path), dictionary_format(path, format)
    for name, values in columns.items():
        if len(values) != len(lexicon):
            raise LexiconError(f"{len(values)} values of {name} for {len(lexicon)} pairs", where=str(path))
    for word in (word for pair in lexicon.pairs for word in pair):
        # What would not be read back as it is must not be written in silence.
        if not writable(word, format):
            raise LexiconError(f"a dictionary file cannot hold the word {word!r}", where=str(path))
    writer = {"tsv": _write_tsv, "csv": _write_csv, "stardict": _write_stardict, "tmx": _write_tmx}[format]
    writer(path, lexicon, columns)
    return dictionary_files(path, format)


def _write_tsv(path: Path, lexicon: Lexicon, columns: Mapping[str, Column]) -> None:
    # Bare pairs go without a header, as MUSE and others have them and read them.
    write_lines(path, ["\t".join(row) for row in _rows(lexicon, columns)[0 if columns else 1 :]])


def _write_csv(path: Path, lexicon: Lexicon, columns: Mapping[str, Column]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_rows(lexicon, columns))
    write_lines(path, text.getvalue().split("\n")[:-1])


def _write_stardict(path: Path, lexicon: Lexicon, columns: Mapping[str, Column]) -> None:
    dictionary, index, information = dictionary_files(path, "stardict")
    notes = [""] * len(lexicon)
    for name in ("confidence", "uncalibrated"):
        if name in columns:
            notes = [f" ({value:.2f})" for value in columns[name]]
    entries: dict[bytes, list[str]] = {}
    for (source, target), note in zip(lexicon.pairs, notes, strict=True):
        headword = source.encode("utf-8")
        if len(headword) > _LONGEST_HEADWORD:
            raise LexiconError(f"StarDict cannot hold so long a word: {source[:40]!r}...", where=str(path))
        entries.setdefault(headword, []).append(f"{target}{note}")
    # Readers search by halving: in the order of ASCII letters whatever their case, then of bytes.
    meanings, numbers = io.BytesIO(), io.BytesIO()
    for headword in sorted(entries, key=lambda word: (word.lower(), word)):
        meaning = "\n".join(entries[headword]).encode("utf-8")
        numbers.write(headword + b"\0" + struct.pack(">II", meanings.tell(), len(meaning)))
        meanings.write(meaning)
    lines = [
        "StarDict's dict ifo file",
        "version=2.4.2",
        f"wordcount={len(entries)}",
        f"idxfilesize={numbers.tell()}",
        f"bookname={lexicon.src_lang or 'source'}-{lexicon.tgt_lang or 'target'}",
        "description=Induced by Isoglot",
        "sametypesequence=m",
    ]
    # The file that readers open comes last, and says how long the index is.
    for file, content in (
        (dictionary, meanings.getvalue()),
        (index, numbers.getvalue()),
        (information, "".join(f"{line}\n" for line in lines).encode("utf-8")),
    ):
        with atomic_path(file) as temporary:
            temporary.write_bytes(content)


def _write_tmx(path: Path, lexicon: Lexicon, columns: Mapping[str, Column]) -> None:
    from isoglot import __version__

    source, target = (quoteattr(lang or "und") for lang in (lexicon.src_lang, lexicon.tgt_lang))
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE tmx SYSTEM "tmx14.dtd">',
        '<tmx version="1.4">',
        f'<header creationtool="isoglot" creationtoolversion={quoteattr(__version__)} segtype="phrase" o-tmf="isoglot" '
        f'adminlang="en" srclang={source} datatype="plaintext"/>',
        "<body>",
    ]
    _, *rows = _rows(lexicon, columns)
    for first, second, *values in rows:
        lines.append("<tu>")
        lines += [f'<prop type="{name}">{value}</prop>' for name, value in zip(columns, values, strict=True)]
        for lang, word in ((source, first), (target, second)):
            lines.append(f"<tuv xml:lang={lang}><seg>{escape(word)}</seg></tuv>")
        lines.append("</tu>")
    write_lines(path, [*lines, "</body>", "</tmx>"])


def _rows(lexicon: Lexicon, columns: Mapping[str, Column]) -> list[list[str]]:
    """The header and a row for each pair."""
    rows = [[*HEADER, *columns]]
    for pair, *values in zip(lexicon.pairs, *columns.values(), strict=True):
        rows.append([*pair, *(str(int(v)) if isinstance(v, bool) else f"{v:.6g}" for v in values)])
    return rows
