"""`isoglot evaluate bli`: how good an alignment is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.given import refuse
from isoglot.cli.options import AlignedFolder, Backend, From, Json, Lower, PerItem, Score, Seed, Swap, Test, To


@tabular
def bilingual_lexicon_induction(
    context: typer.Context,
    folder: AlignedFolder,
    test: Test,
    source: From = None,
    target: To = None,
    score: Score = "csls",
    neighbourhood: Annotated[
        int, typer.Option("--neighbourhood", min=1, help="Number of neighbours that CSLS averages over.")
    ] = 10,
    without_identical: Annotated[
        bool, typer.Option("--without-identical", help="Leave pairs of identical form out of the test.")
    ] = False,
    backend: Backend = "exact",
    lower: Lower = False,
    swap: Swap = False,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="DIR", help="Another aligned folder: test whether the difference is significant."
        ),
    ] = None,
    per_item: PerItem = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Bilingual lexicon induction: P@1, P@5, P@10 and MRR under both protocols.

    "in-vocabulary" drops pairs with an unknown word; "full" counts all test words, an unknown one being right only if
    it is spelled like its translation.

    Examples:

    \b
      isoglot evaluate bli en-fr --test en-fr.test.txt
      isoglot evaluate bli en-fr --test en-fr.test.txt --without-identical --json
      isoglot evaluate bli en-fr-cca --test en-fr.test.txt --against en-fr-procrustes
    """
    from contextlib import ExitStack

    from isoglot.cli.console import print_json, progress_bars, result_table, say, warn
    from isoglot.cli.inputs import aligned_folder, open_lexicon
    from isoglot.cli.outputs import write_json_lines
    from isoglot.files import check_writable
    from isoglot.pipelines import few_words
    from isoglot.retrieval import check_backend, check_score
    from isoglot.tasks import Result, bli, paired_test

    check_score(score)
    check_backend(backend)
    if not score.startswith("csls"):
        refuse(context, f"with --score {score}", "neighbourhood")
    if per_item is not None:
        check_writable(per_item)
    outcomes: list[list[Result]] = []
    with ExitStack() as stack, progress_bars() as progress:
        systems = [stack.enter_context(aligned_folder(one)) for one in (folder, against) if one is not None]
        first, second = systems[0].direction(source, target)
        gold = open_lexicon(test, lower=lower, progress=progress, languages=(first, second))
        gold = gold.invert() if swap else gold
        for aligned in systems:
            names = aligned.direction(first, second)
            retriever = aligned.retriever(
                *names, score=score, neighbourhood=neighbourhood, backend=backend, progress=progress
            )
            src, tgt = (aligned.spaces[name] for name in names)
            identical: Literal["keep", "remove"] = "remove" if without_identical else "keep"
            outcomes.append(bli(src, tgt, gold, retriever=retriever, identical=identical, seed=seed, progress=progress))
    if per_item is not None:
        write_json_lines(per_item, outcomes[0][0].per_item)
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
