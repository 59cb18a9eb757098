"""Word pairs that people scored for similarity: the files they come in, and the English sets that gensim brings.

Read are SemEval-2017 task 2 (Camacho-Collados et al. 2017; pairs in one file, scores line by line in another, in one
language or two), SimLex-999 (Hill et al. 2015; columns with a heading), WordSim-353 (Finkelstein et al. 2002; tabs or
commas, heading or comments), and whatever else has two words and a score a line.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import math
import re
from pathlib import Path

from isoglot.errors import ConfigError, FormatError, InputError, MissingExtraError
from isoglot.suggest import choose
from isoglot.text import read_lines

#: English sets, with their file among gensim's test data.
SIMILARITY_SETS = {"simlex-999": "simlex999.txt", "wordsim-353": "wordsim353.tsv"}

_WORD_HEADING = re.compile(r"(word|w|term|lemma|phrase)[ _]?[12ab]?")
_SCORE_HEADINGS = ("simlex999", "human (mean)", "human", "score", "similarity", "average", "mean", "rating", "gold")


@dataclasses.dataclass(frozen=True)
class WordPair:
    """Two words or phrases, and how similar people find them; `id` tells the pair's line if it is from a file."""

    word1: str
    word2: str
    score: float
    id: str | None = None


@dataclasses.dataclass(frozen=True)
class _Row:
    """One line that is no comment, in its columns."""

    line: int
    fields: list[str]


def read_similarity(path: str | Path, gold: str | Path | None = None, *, column: str | None = None) -> list[WordPair]:
    """The pairs of a file with two words and a score on each line, separated by tabs, commas or spaces.

    Args:
        gold: a file with one score a line, if `path` has the words only (SemEval).
        column: heading of the column of scores, or its number from 0 (negative: from the end); else the third column,
            or that of a well-known heading.

    Lines that begin with # and blank ones are left out, unless there is a `gold` to go with line by line. Anything else
    that is no pair with a score is an error.
    """
    path = Path(path)
    if gold is None:
        return _read_columns(path, column)
    if column is not None:
        raise ConfigError("a file of scores has no columns", where="column", remedy="give gold or column, not both")
    return _read_parallel(path, Path(gold))


def similarity_set(name: str) -> list[WordPair]:
    """A set of English pairs by its name: "simlex-999" or "wordsim-353". Needs gensim, which brings both.

    >>> pair = similarity_set("simlex-999")[0]
    >>> pair.word1, pair.word2, pair.score
    ('old', 'new', 1.58)
    """
    file = choose("similarity set", name, SIMILARITY_SETS)
    # Finding the package does not import it.
    package = importlib.util.find_spec("gensim")
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError("gensim", "gensim", f"the set {name}")
    path = Path(package.submodule_search_locations[0], "test", "test_data", file)
    if not path.is_file():
        entry = f"similarity/{name.replace('-', '')}"
        raise InputError(
            f"this gensim comes without {path.name}", where=name, remedy=f"get it with: isoglot data get {entry}"
        )
    return read_similarity(path)


def _read_columns(path: Path, column: str | None) -> list[WordPair]:
    rows = _rows(path, comments=True)
    place = 2
    if _is_heading(rows[0].fields):
        heading = rows.pop(0)
        place = _score_column(heading.fields, column, f"{path}:{heading.line}")
    elif column is not None:
        place = _column_number(column, len(rows[0].fields))
        if place < 2:
            raise FormatError(
                f"no heading, so no column {column!r} of scores",
                where=f"{path}:{rows[0].line}",
                remedy="leave the column out: scores are taken from the third one",
            )
    if not rows:
        raise FormatError("a heading, but no pairs", where=str(path))
    pairs = []
    for row in rows:
        where = f"{path}:{row.line}"
        if len(row.fields) == 2 and place == 2:
            raise FormatError(
                "two words, but no score", where=where, remedy="give the file of their scores, too (gold)"
            )
        if len(row.fields) <= place:
            raise FormatError(
                f"{len(row.fields)} columns, expected at least {place + 1}",
                where=where,
                remedy="separate words and score by tabs",
            )
        pairs.append(_pair(row, row.fields[place], where, where))
    return pairs


def _read_parallel(path: Path, gold: Path) -> list[WordPair]:
    rows = _rows(path, comments=False)
    scores = {number: line.strip() for number, line in enumerate(read_lines(gold), start=1) if line.strip()}
    for row in rows:
        where = f"{path}:{row.line}"
        if len(row.fields) > 2:
            raise FormatError(
                f"{len(row.fields)} columns, expected two words",
                where=where,
                remedy="leave the file of scores out if this one has its own",
            )
        if len(row.fields) < 2:
            raise FormatError("one column, expected two words", where=where, remedy="separate the words by a tab")
        if row.line not in scores:
            raise FormatError(f"no score for the pair at {where}", where=f"{gold}:{row.line}")
    beyond = sorted(set(scores) - {row.line for row in rows})
    if beyond:
        raise FormatError(
            f"{len(scores):,} scores for {len(rows):,} pairs; this one has no pair in {path}",
            where=f"{gold}:{beyond[0]}",
            remedy="the file of scores has one line for each pair",
        )
    return [_pair(row, scores[row.line], f"{path}:{row.line}", f"{gold}:{row.line}") for row in rows]


def _rows(path: Path, *, comments: bool) -> list[_Row]:
    """The lines in columns; the first of them tells what separates the columns."""
    lines = [
        (number, line)
        for number, line in enumerate(read_lines(path), start=1)
        if line.strip() and not (comments and line.lstrip().startswith("#"))
    ]
    if not lines:
        raise FormatError("comments, but no pairs", where=str(path))
    separator = next((mark for mark in "\t," if mark in lines[0][1]), None)
    return [_Row(number, _split(line, separator, f"{path}:{number}")) for number, line in lines]


def _split(line: str, separator: str | None, where: str) -> list[str]:
    if separator != ",":
        fields = line.rstrip().split(separator)
    else:
        try:
            fields = next(csv.reader([line], strict=True))
        except csv.Error as error:
            raise FormatError(f"broken quotation marks ({error})", where=where) from error
    return [" ".join(field.split()) for field in fields]


def _is_heading(fields: list[str]) -> bool:
    words = len(fields) > 1 and all(_WORD_HEADING.fullmatch(field.lower()) for field in fields[:2])
    return words and not any(math.isfinite(_number(field)) for field in fields[2:3])


def _score_column(heading: list[str], column: str | None, where: str) -> int:
    names = [name.lower() for name in heading]
    number = -1 if column is None or column.lower() in names else _column_number(column, len(heading))
    if number >= 2:
        return number
    for wanted in (column.lower(),) if column is not None else _SCORE_HEADINGS:
        if wanted in names[2:]:
            return names.index(wanted, 2)
    if column is None and len(heading) <= 3:
        return 2
    what = "no column of scores that is known" if column is None else f"no column {column!r}"
    raise FormatError(what, where=where, remedy=f"name the column: one of {', '.join(heading[2:])}")


def _column_number(column: str, columns: int) -> int:
    """Place of the column that is named by its number, -1 if that is none."""
    if not re.fullmatch(r"-?\d{1,6}", column):
        return -1
    number = int(column) + (columns if int(column) < 0 else 0)
    return number if number < columns else -1


def _pair(row: _Row, score: str, where: str, score_where: str) -> WordPair:
    if not row.fields[0] or not row.fields[1]:
        raise FormatError("a word is missing", where=where)
    value = _number(score)
    if not math.isfinite(value):
        raise FormatError(
            f"{score!r} is no score", where=score_where, remedy="a line has two words and a number, tabs between them"
        )
    return WordPair(row.fields[0], row.fields[1], value, str(row.line))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
