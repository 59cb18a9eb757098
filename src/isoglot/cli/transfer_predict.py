"""`isoglot transfer predict`: what a head that was trained before says to new text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.options import Json, OptionalEncoder, OptionalOutput

if TYPE_CHECKING:
    from isoglot.transfer import Predictions


def predict(
    head: Annotated[Path, typer.Argument(metavar="HEAD", help="Folder of a head, in `heads` of what transfer wrote.")],
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="New text, as LANG=FILE, or FILE if its name shows the language."),
    ],
    encoder: OptionalEncoder = None,
    output: OptionalOutput = None,
    json: Json = False,
) -> None:
    """Label new text, or answer new questions, with a head that `isoglot transfer` trained.

    TEXT has one example per line: a sentence, words separated by spaces (ner, pos); a premise and a hypothesis (nli) or
    a question and its context (qa), separated by a tab. Out come words with labels in CoNLL format; the lines of TEXT
    with label and probability; or the lines with answer and score. --encoder is needed if the encoder has moved.

    Examples:

    \b
      isoglot transfer predict names/heads/tuned.0 de=zeitung.txt -o zeitung.conll
      isoglot transfer predict pairs/heads/minilm.0 tr=pairs.tsv --json
    """
    from isoglot.assignments import language_file, places_by_language
    from isoglot.cli.console import print_json, print_line, progress_bars
    from isoglot.cli.outputs import claim_file
    from isoglot.text import read_lines, write_lines
    from isoglot.transfer import load_head

    if output is not None:
        claim_file(output)
    lang, path = language_file(text)
    given = None if encoder is None else places_by_language(encoder) or encoder
    with progress_bars() as progress:
        loaded = load_head(head, given, progress=progress)
        items = _items(loaded.task, read_lines(path), str(path))
        found = loaded.predict(items, lang, progress=progress)
    if json:
        print_json({"task": loaded.task, "language": lang, "predictions": found.values, "n_best": found.n_best})
    lines = _lines(items, found, tags=loaded.task in ("ner", "pos"))
    if output is not None:
        write_lines(output, lines)
    elif not json:
        for line in lines:
            print_line(line)


def _items(task: str, lines: Sequence[str], where: str) -> list[list[str]]:
    from isoglot.errors import FormatError

    if task in ("ner", "pos"):
        return [line.split() for line in lines]
    items = [line.split("\t") for line in lines]
    for number, item in enumerate(items, start=1):
        if len(item) != 2:
            what = f"{len(item)} texts, not 2"
            raise FormatError(what, where=f"{where}:{number}", remedy="separate two texts by one tab on every line")
    return items


def _lines(items: Sequence[Sequence[str]], found: Predictions, *, tags: bool) -> list[str]:
    if tags:
        both = zip(items, found.values, strict=True)
        return [line for words, labels in both for line in (*map("\t".join, zip(words, labels, strict=True)), "")]
    best = [own[0] if own else (value, 0.0) for value, own in zip(found.values, found.n_best, strict=True)]
    return ["\t".join((*item, value, f"{score:g}")) for item, (value, score) in zip(items, best, strict=True)]
