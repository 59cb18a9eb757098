"""`isoglot translate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from isoglot.aligned import Translation


@tabular
def translate_words(
    folder: AlignedFolder,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD...", help="Words or phrases; without any, or with -, one per line from standard input."
        ),
    ] = None,
    source: From = None,
    targets: Targets = None,
    k: Top = 5,
    score: Score = "csls",
    rerank: Rerank = None,
    json: Json = False,
) -> None:
    """Translate words and phrases with aligned vectors.

    A phrase in quotes is translated as a whole, by the sum of its words, and word by word. A word that is not in the
    vocabulary gets a vector from its parts where the file it came from has n-grams (fastText .bin).

    Examples:

    \b
      isoglot translate en-fr music river "ice cream"
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
        print_json([_record(answer) for answer in answers])
        return
    several = len({answer.target for answer in answers}) > 1
    rows = []
    for answer in answers:
        into = [answer.target] if several else []
        if answer.known:
            rows.append([answer.word, *into, ", ".join(f"{word} ({score:.3f})" for word, score in answer.candidates)])
        if answer.known and answer.parts:
            rows.append([f"{answer.word}, word by word", *into, answer.word_by_word])
    if rows:
        table(None, ["word", *(["into"] if several else []), "candidates (score)"], rows)
    once = {part.word: part for answer in answers for part in (answer, *answer.parts)}
    for answer in once.values():
        if not answer.known and not answer.parts:
            say(f"isoglot: {_unknown(answer)}")
        elif answer.language:
            say(f"note: {answer.word} is far more frequent in {answer.language}: use --from {answer.language}?")
    if not any(answer.known for answer in answers):
        raise typer.Exit(1)


def _unknown(answer: Translation) -> str:
    text = f"not in the {answer.source} vocabulary: {answer.word}"
    if answer.language:
        return f"{text}; it is a word of {answer.language}: use --from {answer.language}"
    return f"{text}; similar words: {', '.join(answer.near)}" if answer.near else text


def _record(answer: Translation) -> dict[str, Any]:
    return {
        "word": answer.word,
        "source": answer.source,
        "target": answer.target,
        "known": answer.known,
        "candidates": [{"word": word, "score": value} for word, value in answer.candidates],
        **({"parts": [_record(part) for part in answer.parts]} if answer.parts else {}),
        **({"near": list(answer.near)} if answer.near else {}),
        **({"language": answer.language} if answer.language else {}),
    }
