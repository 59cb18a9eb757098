"""`isoglot inspect`: are two spaces alike enough to be aligned, and by which methods?"""

from __future__ import annotations

from typing import Annotated

import typer

from isoglot.cli.given import refuse
from isoglot.cli.options import FoldCase, Json, Swap


def inspect_spaces(
    context: typer.Context,
    src: Annotated[str, typer.Argument(metavar="A", help="Source vectors: a file or a catalogue name.")],
    tgt: Annotated[str, typer.Argument(metavar="B", help="Target vectors: a file or a catalogue name.")],
    lexicon: Annotated[
        str | None,
        typer.Option("--lexicon", "-l", help="Translations, a file or a catalogue name: a much surer verdict."),
    ] = None,
    words: Annotated[
        int, typer.Option("--words", min=10, help="Frequent words of each side that the costly measures look at.")
    ] = 2000,
    limit: Annotated[
        int, typer.Option("--limit", min=3, help="Read only this many words of each file (most frequent first).")
    ] = 50_000,
    fold_case: FoldCase = False,
    swap: Swap = False,
    json: Json = False,
) -> None:
    """Tell how alike two spaces are before aligning them, and which methods will probably work.

    Examples:

    \b
      isoglot inspect wiki.en.vec wiki.fr.vec
      isoglot inspect vectors/en vectors/fr --lexicon lexicon/en-fr
      isoglot inspect wiki.en.vec wiki.fr.vec -l en-fr.txt --json
    """
    from isoglot.cli.console import print_json, print_line, progress_bars, table
    from isoglot.cli.inputs import check_different, open_lexicon, open_space
    from isoglot.criteria import inspect_pair

    if lexicon is None:
        refuse(context, "without --lexicon", "swap")
    check_different([src, tgt])
    with progress_bars() as progress:
        source, target = (
            open_space(name, lang=None, limit=limit, fold_case=fold_case, progress=progress) for name in (src, tgt)
        )
        pairs = None
        if lexicon is not None:
            languages = (source.lang, target.lang)
            pairs = open_lexicon(lexicon, fold_case=fold_case, progress=progress, languages=languages)
            pairs = pairs.invert() if swap else pairs
        report = inspect_pair(source, target, pairs, words=words, progress=progress)
    if json:
        print_json(report.record())
        return
    relational = report.relational_similarity
    rows = [
        ["words", f"{report.words[0]:,} and {report.words[1]:,}", ""],
        ["dimensions", f"{report.dimensions[0]} and {report.dimensions[1]}", ""],
        ["words written alike", f"{report.identical:,}", ""],
        ["lexicon pairs in both", f"{report.pairs:,}", ""],
        ["eigenvector similarity", f"{report.eigenvector_similarity:.3f}", "0 for one shape, above 1 not"],
        ["Gromov-Hausdorff", f"{report.gromov_hausdorff:.3f}", "0 for one shape"],
        ["singular-value gap", f"{report.singular_value_gap:.3f}", "0 for one shape"],
        ["relational similarity", "-" if relational is None else f"{relational:.3f}", "1 for one shape, 0 by chance"],
    ]
    table(f"{src} and {tgt}: {report.closeness}", ["measure", "value", "meaning"], rows, right=(1,))
    for sentence in report.verdict:
        print_line(sentence)
