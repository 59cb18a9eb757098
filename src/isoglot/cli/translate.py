"""`isoglot translate` and `isoglot lexicon`."""

from __future__ import annotations

from typing import Annotated

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.options import (
    AlignedFolder,
    Backend,
    From,
    Json,
    OptionalLimit,
    Output,
    Rerank,
    Score,
    Targets,
    To,
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


def lexicon(
    folder: AlignedFolder,
    output: Output,
    source: From = None,
    target: To = None,
    limit: OptionalLimit = None,
    mutual: Annotated[bool, typer.Option("--mutual", help="Keep only pairs that choose each other.")] = False,
    minimum: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Keep only pairs of at least this confidence.")
    ] = 0.0,
    score: Score = "csls",
    backend: Backend = "exact",
    rerank: Rerank = None,
    json: Json = False,
) -> None:
    """Induce a dictionary: the best translation of every source word, with a confidence.

    The file has three columns, separated by tabs: source, target, confidence. --limit counts source words.

    Examples:

    \b
      isoglot lexicon en-fr -o dict.tsv
      isoglot lexicon en-fr -o sure.tsv --mutual --min-confidence 0.5 --limit 20000
      isoglot lexicon en-fr --from fr --to en -o back.tsv
    """
    from isoglot.aligned import induce
    from isoglot.cli.console import print_json, progress_bars, say
    from isoglot.cli.inputs import aligned_folder
    from isoglot.cli.outputs import claim_file
    from isoglot.errors import InputError
    from isoglot.lexicons import Lexicon
    from isoglot.retrieval import check_backend, check_score

    check_score(score)
    check_backend(backend)
    claim_file(output)
    with aligned_folder(folder) as aligned, progress_bars() as progress:
        first, second = aligned.direction(source, target)
        pairs = induce(
            aligned, source=first, target=second, limit=limit, mutual=mutual, minimum=minimum, score=score,
            backend=backend, rerank=rerank, progress=progress,
        )  # fmt: skip
    if not pairs:
        raise InputError(
            f"no pair of {first} and {second} is mutual and sure enough; nothing written",
            where=str(output),
            remedy="lower --min-confidence, or leave --mutual out",
        )
    induced = Lexicon([(pair.source, pair.target) for pair in pairs], first, second)
    induced.save(output, confidence=[pair.confidence for pair in pairs])
    share = sum(pair.mutual for pair in pairs) / max(len(pairs), 1)
    if json:
        print_json(
            {"output": str(output), "source": first, "target": second, "pairs": len(pairs), "mutual_share": share}
        )
        return
    say(f"{len(pairs):,} pairs {first} to {second}, {share:.0%} mutual, written to {output}")
