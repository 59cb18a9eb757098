"""Natural language inference: XNLI, SICK, SNLI and MultiNLI, as text with tabs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isoglot.errors import FormatError
from isoglot.text import read_lines
from isoglot.transfer.examples import PairExample

NLI_LABELS = ("entailment", "neutral", "contradiction")

#: What the columns are called in files with a heading, in lower case.
_COLUMNS = {
    "first": ("premise", "sentence1", "sentence_a"),
    "second": ("hypothesis", "hypo", "sentence2", "sentence_b"),
    "label": ("label", "gold_label", "entailment_label"),
}
#: Spellings of XNLI's training files.
_SPELLINGS = {"contradictory": "contradiction"}
#: SNLI and MultiNLI: the annotators did not agree.
_NO_LABEL = "-"


def read_nli(path: str | Path, *, language: str | None = None) -> list[PairExample]:
    """Read pairs of sentences: premise, hypothesis, label; or, with a heading, whichever columns it names so.

    Labels are read in any case. Pairs that the annotators did not agree on (label `-`) are left out.

    Args:
        language: take only this one of a file with a column `language`; needed if it holds several.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "xnli.tsv"
    >>> _ = path.write_text("He sleeps.\\tHe is awake.\\tcontradiction\\n")
    >>> read_nli(path)
    [PairExample(first='He sleeps.', second='He is awake.', label='contradiction')]
    """
    lines = read_lines(path)
    start = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    columns = _heading(lines[start].split("\t"), f"{path}:{start + 1}") if start < len(lines) else None
    width = 3 if columns is None else max(columns.values()) + 1
    examples: list[PairExample] = []
    languages: set[str] = set()
    for number, line in enumerate(lines[start + (columns is not None) :], start=start + 1 + (columns is not None)):
        if not line.strip():
            continue
        fields = line.split("\t")
        where = f"{path}:{number}"
        if len(fields) < width or (columns is None and len(fields) > width):
            raise FormatError(
                f"{len(fields)} columns, not {width}" + (" or more" if columns else ""),
                where=where,
                remedy="a line is premise, hypothesis and label, separated by tabs" if columns is None else None,
            )
        places = columns or {"first": 0, "second": 1, "label": 2}
        if "language" in places:
            languages.add(fields[places["language"]])
            if language is not None and fields[places["language"]] != language:
                continue
        example = _example([fields[places[name]] for name in ("first", "second", "label")], where)
        if example is not None:
            examples.append(example)
    if language is None and len(languages) > 1:
        listed = ", ".join(sorted(languages))
        raise FormatError(
            f"holds several languages ({listed[:80]})", where=str(path), remedy="make one file of each `language`"
        )
    if not examples:
        raise FormatError("holds no pairs of sentences with a label", where=str(path))
    return examples


def _heading(fields: Sequence[str], where: str) -> dict[str, int] | None:
    """The places of the columns; None if the line is no heading."""
    names = [field.strip().lower() for field in fields]
    found = {
        column: names.index(name) for column, known in _COLUMNS.items() for name in reversed(known) if name in names
    }
    if len(found) < 2:
        return None
    if len(found) < len(_COLUMNS):
        missing = next(column for column in _COLUMNS if column not in found)
        raise FormatError(
            f"the heading has no column {' or '.join(_COLUMNS[missing])}", where=where, remedy="rename the column"
        )
    return found | ({"language": names.index("language")} if "language" in names else {})


def _example(fields: Sequence[str], where: str) -> PairExample | None:
    first, second, label = (field.strip() for field in fields)
    if label == _NO_LABEL:
        return None
    if not first or not second:
        raise FormatError(f"the {'hypothesis' if first else 'premise'} is empty", where=where)
    known = _SPELLINGS.get(label.lower(), label.lower())
    if known not in NLI_LABELS:
        raise FormatError(f"the label {label[:40]!r} is not one of {', '.join(NLI_LABELS)}", where=where)
    return PairExample(first, second, known)
