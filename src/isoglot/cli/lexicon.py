"""`isoglot lexicon`: a dictionary out of aligned vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.options import (
    AlignedFolder,
    Backend,
    Format,
    From,
    Json,
    OptionalLimit,
    OptionalTest,
    Output,
    Rerank,
    Score,
    To,
    Top,
)

if TYPE_CHECKING:
    from isoglot.aligned import InducedLexicon


def lexicon(
    folder: AlignedFolder,
    output: Output,
    source: From = None,
    target: To = None,
    both: Annotated[
        bool, typer.Option("--both", help="Both directions, in two files: OUTPUT.en-fr.tsv and OUTPUT.fr-en.tsv.")
    ] = False,
    k: Top = 1,
    limit: OptionalLimit = None,
    mutual: Annotated[bool, typer.Option("--mutual", help="Keep only pairs that choose each other.")] = False,
    minimum: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Keep only pairs of at least this confidence.")
    ] = 0.0,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            "--skip",
            metavar="KIND",
            help="Leave out punctuation, numerals, or names (words mostly capitalised, so German nouns too); "
            "may be repeated.",
        ),
    ] = None,
    merge_case: Annotated[
        bool,
        typer.Option("--merge-case/--keep-case", help="Show forms that differ in case only as one, the usual one."),
    ] = True,
    test: OptionalTest = None,
    format: Format = None,
    score: Score = "csls",
    backend: Backend = "exact",
    rerank: Rerank = None,
    json: Json = False,
) -> None:
    """Induce a dictionary: the best translations of every source word, with a confidence.

    A confidence of .8 means that of such pairs eight in ten were right among pairs held out by `isoglot align`, or
    given with --test, which the alignment must not have learned from. Without any, the column is headed "uncalibrated"
    and only orders the pairs. The format follows the output's name: .tsv, .csv, .ifo (StarDict) or .tmx. --limit counts
    source words.

    Examples:

    \b
      isoglot lexicon en-fr -o dict.tsv
      isoglot lexicon en-fr -o sure.csv -k 3 --mutual --min-confidence 0.5 --limit 20000
      isoglot lexicon en-fr -o en-fr.ifo --both --skip punctuation --skip numerals
      isoglot lexicon en-fr --from fr --to en -o back.tmx
    """
    from isoglot.aligned import check_kinds, induce
    from isoglot.cli.console import note, print_json, progress_bars, say
    from isoglot.cli.inputs import aligned_folder, open_lexicon
    from isoglot.cli.outputs import claim_file
    from isoglot.errors import InputError
    from isoglot.lexicons import check_direction, dictionary_files, dictionary_format
    from isoglot.retrieval import check_backend, check_score

    check_score(score)
    check_backend(backend)
    check_kinds(skip or [])
    form = dictionary_format(output, format)
    if not both:
        for file in dictionary_files(output, form):
            claim_file(file)
    written: dict[Path, InducedLexicon] = {}
    with aligned_folder(folder) as aligned, progress_bars() as progress:
        first, second = aligned.direction(source, target)
        outputs = {output: (first, second)}
        if both:
            outputs = {_named(output, *one): one for one in ((first, second), (second, first))}
            for path in outputs:
                for file in dictionary_files(path, form):
                    claim_file(file)
        pairs = None
        if test is not None:
            pairs = open_lexicon(test, lower=False, progress=progress)
            check_direction(pairs, aligned.spaces[first], aligned.spaces[second])
        for path, (one, other) in outputs.items():
            induced = induce(
                aligned, source=one, target=other, k=k, limit=limit, mutual=mutual, minimum=minimum, skip=skip or (),
                merge_case=merge_case, score=score, backend=backend, rerank=rerank,
                calibrate=pairs if pairs is None or one == first else pairs.invert(), progress=progress,
            )  # fmt: skip
            if not len(induced):
                raise InputError(
                    f"no pair of {one} and {other} is mutual and sure enough; nothing written",
                    where=str(path),
                    remedy="lower --min-confidence, or leave --mutual out",
                )
            written[path] = induced
    for path, induced in written.items():
        induced.save(path, format=form)
    if any(one.calibration is None for one in written.values()):
        note(
            "confidences are not calibrated, for no pairs were held out: they order pairs but are no probabilities; "
            "give pairs that the alignment has not learned from with --test"
        )
    records = [_record(path, induced) for path, induced in written.items()]
    if json:
        print_json({**records[0], **({"back": records[1]} if both else {})})
        return
    for record in records:
        say(
            f"{record['pairs']:,} pairs {record['source']} to {record['target']}, {record['mutual_share']:.0%} mutual, "
            f"written to {record['output']}"
        )


def _named(output: Path, source: str, target: str) -> Path:
    """`dict.tsv.gz` as `dict.en-fr.tsv.gz`."""
    stem, dot, endings = output.name.partition(".")
    return output.with_name(f"{stem}.{source}-{target}{dot}{endings}")


def _record(path: Path, induced: InducedLexicon) -> dict[str, object]:
    return {
        "output": str(path),
        "source": induced.src_lang,
        "target": induced.tgt_lang,
        "pairs": len(induced),
        "mutual_share": sum(one.mutual for one in induced.entries) / len(induced),
        "calibration": None if induced.calibration is None else dict(induced.calibration.info),
    }
