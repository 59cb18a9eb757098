"""`isoglot translate`."""

from __future__ import annotations

from typing import Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import (
    AlignedFolder,
    From,
    Json,
    Rerank,
    Score,
    Targets,
    Top,
)


@tabular
def translate_words(
    folder: AlignedFolder,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD...", help="Words; without any, or with -, one per line from standard input."),
    ] = None,
    source: From = None,
    targets: Targets = None,
    k: Top = 5,
    score: Score = "csls",
    rerank: Rerank = None,
    json: Json = False,
) -> None:
    """Translate words with aligned vectors.

    Examples:

    \b
      isoglot translate en-fr music river
      isoglot translate en-fr --from fr --to en maison -k 10
      cat words.txt | isoglot translate en-fr --json
    """
    from isoglot.aligned import translate
    from isoglot.cli.console import print_json, progress_bars, say, table
    from isoglot.cli.inputs import aligned_folder
    from isoglot.cli.streams import standard_input_lines
    from isoglot.errors import InputError

    answers = []
    with aligned_folder(folder) as aligned, progress_bars() as progress:
        asked = standard_input_lines() if not words or words == ["-"] else words
        if not asked:
            raise InputError("no words given", remedy="name words, or give one per line on standard input")
        first, _ = aligned.direction(source, targets[0] if targets else None)
        for target in targets or [name for name in aligned.names if name != first]:
            answers += translate(
                aligned, asked, source=first, target=target, k=k, score=score, rerank=rerank, progress=progress
            )
    if json:
        print_json(
            [
                {
                    "word": answer.word,
                    "source": answer.source,
                    "target": answer.target,
                    "known": answer.known,
                    "candidates": [{"word": word, "score": value} for word, value in answer.candidates],
                }
                for answer in answers
            ]
        )
        return
    several = len({answer.target for answer in answers}) > 1
    rows = [
        [answer.word, *([answer.target] if several else []), ", ".join(f"{w} ({s:.3f})" for w, s in answer.candidates)]
        for answer in answers
        if answer.known
    ]
    if rows:
        table(None, ["word", *(["into"] if several else []), "candidates (score)"], rows)
    unknown = list(dict.fromkeys(answer.word for answer in answers if not answer.known))
    if unknown:
        say(f"isoglot: not in the {first} vocabulary: {', '.join(unknown)}")
        if len(unknown) == len(set(asked)):
            raise typer.Exit(1)
