"""Reading bilingual dictionaries: MUSE, XLING and anything else with one pair of words a line.

The rules, which `read_pairs` counts in its report wherever they repair something:

- A line with a tab is split at tabs, so its words may hold spaces. A line without one is split at spaces and
  must then have two columns, or three of which the last is a number.
- Columns after the second are not read. A number there is taken for a confidence and counted as such.
- A pair that stands twice is kept once. Several lines with one source give that source several targets.
- A first line "source, target, confidence" (or "uncalibrated"), as `isoglot lexicon` writes it, is a header.
- Blank lines are skipped. `#` starts no comment: it can be a word.
- A line with one column, with too many, or that is not UTF-8 is left out; more than a tenth of such lines is
  an error.
"""

from __future__ import annotations

import re
from pathlib import Path

from isoglot.errors import LexiconError
from isoglot.spaces import LoadReport
from isoglot.text import read_lines

#: The first columns of a header, and what the third may be: without it, "source" and "target" may be words.
HEADER = ("source", "target")
_MEASURES = ("confidence", "uncalibrated")
_NUMBER = re.compile(r"[-+]?(\d+([.]\d*)?|[.]\d+)([eE][-+]?\d+)?")
_LARGEST_BAD_SHARE = 0.1
#: What `read_lines` makes of bytes that are no text.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
#: A line of an ideographic space is a word without a translation, not a blank line.
_BLANKS = " \t\v\f"


def read_pairs(path: Path) -> tuple[list[tuple[str, str]], LoadReport]:
    """The distinct pairs of a dictionary file, in order, and what had to be repaired."""
    report = LoadReport(str(path))
    pairs: dict[tuple[str, str], None] = {}
    bad: list[tuple[int, str]] = []
    filled = tabbed = 0
    for number, line in enumerate(read_lines(path, report, lenient=True), start=1):
        if not line.strip(_BLANKS):
            report.add("blank line", "skipped", f"{path}:{number}")
            continue
        filled += 1
        tabbed += "\t" in line
        columns = _columns(line)
        if number == 1 and tuple(columns[:2]) == HEADER and columns[2:3] and columns[2] in _MEASURES:
            report.add("header", "skipped", f"{path}:{number}")
            continue
        problem = "not UTF-8" if _NOT_UTF8.search(line) else _problem(columns, tabs="\t" in line)
        if problem:
            bad.append((number, problem))
            report.add(problem, "line left out", f"{path}:{number}")
            continue
        if len(columns) > 2:
            kind = "confidence column" if _NUMBER.fullmatch(columns[2]) else "further column"
            report.add(kind, "not read", f"{path}:{number}")
        pair = (columns[0], columns[1])
        if pair in pairs:
            report.add("pair given twice", "kept once", f"{path}:{number}")
        pairs[pair] = None
    report.format = "tab" if 2 * tabbed >= filled else "space"
    if len(bad) > _LARGEST_BAD_SHARE * filled:
        number, problem = bad[0]
        raise LexiconError(
            f"{len(bad):,} of {filled:,} lines are no pair of words; here: {problem}",
            where=f"{path}:{number}",
            remedy="a dictionary has a source word, a tab and a target word on each line, in UTF-8",
        )
    return list(pairs), report


def _columns(line: str) -> list[str]:
    # Only the ASCII space separates: a non-breaking or ideographic space belongs to the word.
    if "\t" in line:
        columns = [column.strip(" ") for column in line.split("\t")]
        while columns and not columns[-1]:
            columns.pop()
        return columns
    return [column for column in line.split(" ") if column]


def _problem(columns: list[str], *, tabs: bool) -> str:
    """Why these columns are no pair, or an empty string."""
    if len(columns) < 2:
        return "only one column"
    if not columns[0] or not columns[1]:
        return "an empty column"
    if not tabs and len(columns) > 2 and (len(columns) > 3 or not _NUMBER.fullmatch(columns[2])):
        return "more than two columns without tabs"
    return ""
