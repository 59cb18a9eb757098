"""`isoglot inspect`: are two spaces alike enough to be aligned, and by which methods?"""

from __future__ import annotations

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.given import refuse
from isoglot.cli.options import Json, Limit, Lower, OptionalLexicon, SrcTgt, Swap, Words


@tabular
def inspect_spaces(
    context: typer.Context,
    files: SrcTgt,
    lexicon: OptionalLexicon = None,
    words: Words = 2000,
    limit: Limit = 50_000,
    lower: Lower = False,
    swap: Swap = False,
    json: Json = False,
) -> None:
    """Tell how alike two spaces are before aligning them, and which methods will probably work.

    With a lexicon the verdict is much surer.

    Examples:

    \b
      isoglot inspect wiki.en.vec wiki.fr.vec
      isoglot inspect vectors/en vectors/fr --lexicon lexicon/en-fr
      isoglot inspect wiki.en.vec wiki.fr.vec -l en-fr.txt --json
    """
    from isoglot.cli.console import print_json, print_line, progress_bars, table
    from isoglot.cli.inputs import open_lexicon, open_pair
    from isoglot.criteria import inspect_pair

    if lexicon is None:
        refuse(context, "without --lexicon", "swap")
    with progress_bars() as progress:
        source, target = open_pair(files, limit=limit, lower=lower, progress=progress)
        pairs = None
        if lexicon is not None:
            languages = (source.lang, target.lang)
            pairs = open_lexicon(lexicon, lower=lower, progress=progress, languages=languages)
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
    table(f"{files[0]} and {files[1]}: {report.closeness}", ["measure", "value", "meaning"], rows, right=(1,))
    for sentence in report.verdict:
        print_line(sentence)
