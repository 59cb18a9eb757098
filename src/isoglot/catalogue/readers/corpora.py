"""Small labelled sets (similarity, sentiment, tagged text) as tab-separated files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from isoglot.catalogue.archive import Archive
from isoglot.catalogue.readers import Facts
from isoglot.catalogue.record import Entry
from isoglot.errors import FormatError
from isoglot.progress import Progress


def read_similarity(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """Word, word, score; comments and a heading line are left out. settings: `file`."""
    rows = []
    for line in _text(entry, artefacts).splitlines():
        fields = line.split("\t")
        if line.startswith("#") or len(fields) < 3:
            continue
        try:
            rows.append((fields[0].strip(), fields[1].strip(), f"{float(fields[2]):g}"))
        except ValueError:
            # The heading of the columns.
            continue
    return {"pairs": _write(folder / entry.result, rows, entry)}


def read_sentiment(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """`+1` or `-1`, then the review on one line. settings: `file`."""
    rows = []
    for record in csv.reader(io.StringIO(_text(entry, artefacts))):
        if len(record) < 2:
            continue
        # Some of these files put the label first, some last.
        label, text = (record[0], record[1]) if _is_label(record[0]) else (record[-1], record[0])
        if _is_label(label):
            rows.append((f"{1 if float(label) > 0 else -1:+d}", " ".join(text.split())))
    return {"texts": _write(folder / entry.result, rows, entry)}


def read_tagged(entry: Entry, artefacts: Sequence[Path], folder: Path, progress: Progress) -> Facts:
    """One sentence per line as `word/TAG word/TAG`; written as word, tab, tag, with a blank line after a sentence."""
    lines, sentences, tokens = [], 0, 0
    for line in _text(entry, artefacts).splitlines():
        pairs = [token.rpartition("/") for token in line.split() if "/" in token]
        if not pairs:
            continue
        lines += [f"{word.replace('&slash;', '/')}\t{tag}" for word, _, tag in pairs if word]
        lines.append("")
        sentences, tokens = sentences + 1, tokens + len(pairs)
    if not lines:
        raise FormatError("no tagged sentences found", where=entry.name)
    (folder / entry.result).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"sentences": sentences, "tokens": tokens}


def _text(entry: Entry, artefacts: Sequence[Path]) -> str:
    [content] = Archive(artefacts[0]).read(entry.settings["file"])
    return content.decode("utf-8-sig", "replace")


def _is_label(text: str) -> bool:
    try:
        return abs(float(text)) == 1
    except ValueError:
        return False


def _write(path: Path, rows: Iterable[Sequence[str]], entry: Entry) -> int:
    lines = ["\t".join(row) for row in rows]
    if not lines:
        raise FormatError("nothing found in this file", where=entry.name)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)
