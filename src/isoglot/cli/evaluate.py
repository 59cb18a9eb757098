"""`isoglot evaluate bli`: how good an alignment is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from isoglot.cli.given import refuse
from isoglot.cli.options import AlignedFolder, FoldCase, From, Json, Score, Swap, To


def bilingual_lexicon_induction(
    context: typer.Context,
    folder: AlignedFolder,
    lexicon: Annotated[str, typer.Option("--lexicon", "-l", help="Gold translations: a file or a catalogue name.")],
    source: From = None,
    target: To = None,
    score: Score = "csls",
    neighbourhood: Annotated[
        int, typer.Option("--neighbourhood", min=1, help="Neighbours that CSLS averages over.")
    ] = 10,
    identical: Annotated[str, typer.Option("--identical", help="keep or remove pairs of identical form.")] = "keep",
    backend: Annotated[str, typer.Option("--backend", help="exact, int8, faiss or usearch.")] = "exact",
    fold_case: FoldCase = False,
    swap: Swap = False,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="Another aligned folder: test whether the difference is significant."),
    ] = None,
    per_word: Annotated[
        Path | None, typer.Option("--per-word", help="Write one JSON line a test word to this file.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For intervals and the significance test.")] = 0,
    json: Json = False,
) -> None:
    """Bilingual lexicon induction: P@1, P@5, P@10 and MRR under both protocols.

    "in-vocabulary" drops pairs with an unknown word; "full" counts all test words, an unknown one being right only if
    it is spelled like its translation.

    Examples:

    \b
      isoglot evaluate bli en-fr --lexicon en-fr.test.txt
      isoglot evaluate bli en-fr -l en-fr.test.txt --identical remove --json
      isoglot evaluate bli en-fr-cca -l en-fr.test.txt --against en-fr-procrustes
    """
    from contextlib import ExitStack

    from isoglot.cli.console import print_json, progress_bars, result_table, say, warn
    from isoglot.cli.inputs import aligned_folder, open_lexicon
    from isoglot.cli.outputs import write_json_lines
    from isoglot.errors import ConfigError
    from isoglot.files import check_writable
    from isoglot.pipelines import few_words
    from isoglot.retrieval import check_backend, check_score
    from isoglot.tasks import Result, bli, paired_test

    check_score(score)
    check_backend(backend)
    if not score.startswith("csls"):
        refuse(context, f"with --score {score}", "neighbourhood")
    if identical not in ("keep", "remove"):
        raise ConfigError(f"--identical takes keep or remove, not {identical!r}")
    if per_word is not None:
        check_writable(per_word)
    outcomes: list[list[Result]] = []
    with ExitStack() as stack, progress_bars() as progress:
        systems = [stack.enter_context(aligned_folder(one)) for one in (folder, against) if one is not None]
        first, second = systems[0].direction(source, target)
        gold = open_lexicon(lexicon, fold_case=fold_case, progress=progress, languages=(first, second))
        gold = gold.invert() if swap else gold
        for aligned in systems:
            names = aligned.direction(first, second)
            retriever = aligned.retriever(
                *names, score=score, neighbourhood=neighbourhood, backend=backend, progress=progress
            )
            src, tgt = (aligned.spaces[name] for name in names)
            kept: Literal["keep", "remove"] = "remove" if identical == "remove" else "keep"
            outcomes.append(bli(src, tgt, gold, retriever=retriever, identical=kept, seed=seed, progress=progress))
    if per_word is not None:
        write_json_lines(per_word, outcomes[0][0].per_item)
    comparison = paired_test(outcomes[0][0], outcomes[1][0], seed=seed) if against is not None else None
    warnings = few_words(outcomes[0])
    for warning in warnings:
        warn(warning)
    if json:
        document: dict[str, object] = {"results": [result.record() for result in outcomes[0]], "warnings": warnings}
        if comparison is not None:
            document["against"] = {"results": [r.record() for r in outcomes[1]], "paired_test": comparison.record()}
        print_json(document)
        return
    result_table(outcomes[0], f"{folder}: {first} to {second}")
    if comparison is not None:
        result_table(outcomes[1], f"{against}: {first} to {second}")
        say(comparison.sentence())
