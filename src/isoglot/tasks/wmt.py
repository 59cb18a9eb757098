"""Human judgement of machine translation as the WMT metrics tasks of 2016 and 2017 hand it out.

A folder holds `DA-seglevel.csv` (columns LP, DATA, SYSTEM, SID and HUMAN, separated by spaces),
`source/<DATA>-<pair>-src.<language>` and `system-outputs/<pair>/<DATA>.<SYSTEM>.<pair>`. SID counts lines from 1. Where
systems translate a sentence alike it was judged once, and SYSTEM joins their names with "+".

Some copies hold raw sources but system outputs that were lower-cased and tokenised for metrics, in which Moses writes
quotation marks and brackets as `&quot;` or `&#91;`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import html
import math
from pathlib import Path

from isoglot.errors import FormatError, InputError
from isoglot.text import read_lines

_COLUMNS = ("LP", "DATA", "SYSTEM", "SID", "HUMAN")


@dataclasses.dataclass(frozen=True)
class WmtSegment:
    """One judged translation; `segment` is the line of the source, counted from 1, `human` its standardised score."""

    system: str
    segment: int
    source: str
    hypothesis: str
    human: float


@dataclasses.dataclass(frozen=True)
class _Judgement:
    pair: str
    data: str
    system: str
    segment: int
    human: float
    where: str


def read_wmt(folder: str | Path, pair: str, *, unescape: bool = False) -> list[WmtSegment]:
    """The judged segments of a language pair such as "de-en", in the order of the file of scores.

    Args:
        unescape: turn the `&quot;` of tokenised outputs back into the characters they stand for. Otherwise texts are
            as they stand in the files.

    A missing file, files of different length, a line beyond the end or a score that is no number is an error.
    """
    folder = Path(folder)
    scores = folder / "DA-seglevel.csv"
    judgements = _judgements(scores)
    chosen = [judgement for judgement in judgements if judgement.pair == pair]
    if not chosen:
        pairs = ", ".join(sorted({judgement.pair for judgement in judgements}))
        raise InputError(f"no judgements of {pair!r}", where=str(scores), remedy=f"choose one of {pairs}")
    src_lang, _, tgt_lang = pair.partition("-")
    texts: dict[Path, list[str]] = {}
    segments = []
    for judgement in chosen:
        data = judgement.data
        source_file = folder / "source" / f"{data}-{src_lang}{tgt_lang}-src.{src_lang}"
        source = _text(source_file, texts)
        output_file = _output_file(folder / "system-outputs" / pair, judgement)
        output = _text(output_file, texts)
        if len(output) != len(source):
            raise FormatError(
                f"{len(output):,} lines, but {source_file} has {len(source):,}",
                where=str(output_file),
                remedy="a system's output has one line for each line of the source",
            )
        if judgement.segment > len(source):
            raise FormatError(
                f"segment {judgement.segment} is beyond the {len(source):,} lines of {source_file}",
                where=judgement.where,
            )
        line = judgement.segment - 1
        hypothesis = html.unescape(output[line]) if unescape else output[line]
        segments.append(WmtSegment(judgement.system, judgement.segment, source[line], hypothesis, judgement.human))
    return segments


def _output_file(folder: Path, judgement: _Judgement) -> Path:
    """Of the system, or of the first of those that translate the sentence alike."""
    for system in (judgement.system, judgement.system.partition("+")[0]):
        path = folder / f"{judgement.data}.{system}.{judgement.pair}"
        with contextlib.suppress(OSError):  # a name that no file can have
            if path.is_file():
                return path
    raise InputError("no such file", where=str(path), remedy=f"{judgement.where} names this system")


def _judgements(path: Path) -> list[_Judgement]:
    lines = read_lines(path)
    header = lines[0].split()
    missing = [column for column in _COLUMNS if column not in header]
    if missing:
        raise FormatError(
            f"no column {', '.join(missing)}", where=f"{path}:1", remedy=f"the first line is: {' '.join(_COLUMNS)}"
        )
    places = [header.index(column) for column in _COLUMNS]
    judgements = []
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split()
        if not fields:
            continue
        where = f"{path}:{number}"
        if len(fields) != len(header):
            raise FormatError(f"{len(fields)} fields, expected {len(header)}", where=where)
        pair, data, system, segment, human = (fields[place] for place in places)
        judgements.append(_Judgement(pair, data, system, _line_number(segment, where), _score(human, where), where))
    return judgements


def _line_number(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise FormatError(f"{text!r} is no line number", where=where, remedy="SID counts lines from 1")
    return int(text)


def _score(text: str, where: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise FormatError(f"{text!r} is no score", where=where)
    return score


def _text(path: Path, known: dict[Path, list[str]]) -> list[str]:
    if path not in known:
        known[path] = read_lines(path)
    return known[path]
