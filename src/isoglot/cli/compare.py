"""`isoglot compare`: all methods on one pair of languages, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.given import refuse
from isoglot.cli.options import (
    DryRun,
    Json,
    LexiconName,
    Limit,
    Lower,
    MatchDimensions,
    Methods,
    OptionalHeldOut,
    OptionalPairs,
    OptionalTest,
    Output,
    Runs,
    SrcTgt,
    Swap,
)

if TYPE_CHECKING:
    from isoglot.pipelines import Comparison


@tabular
def compare_methods(
    context: typer.Context,
    files: SrcTgt,
    lexicon: LexiconName,
    method: Methods = None,
    suite: Annotated[
        Literal["density"] | None,
        typer.Option("--suite", help="Compare the methods that a paper compares: density is Zhao & Eger 2022."),
    ] = None,
    runs: Runs = 1,
    pairs: OptionalPairs = None,
    held_out: OptionalHeldOut = None,
    test: OptionalTest = None,
    output: Output = Path("comparison"),
    limit: Limit = 200_000,
    lower: Lower = False,
    swap: Swap = False,
    match_dimensions: MatchDimensions = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Run all methods (or chosen ones) on the same pairs and words, and print one table.

    Methods that can do without pairs get none. Finished runs are kept in the output folder: a killed comparison resumes
    where it was.

    Examples:

    \b
      isoglot compare vectors/en vectors/fr -l lexicon/en-fr -o en-fr-methods
      isoglot compare en.vec de.vec -l en-de.txt -m procrustes -m "procrustes,normalise=iterative" -m rcsls
      isoglot compare en.vec de.vec -l en-de.txt --runs 5 --json
      isoglot compare en.vec de.vec -l en-de.txt --suite density
    """
    from isoglot.cli.console import finish, print_json, progress_bars, table, warn
    from isoglot.cli.inputs import open_lexicon, open_pair
    from isoglot.cli.outputs import claim
    from isoglot.errors import ConfigError
    from isoglot.pipelines import Suite, compare, contenders, suite as named_suite

    listed = Suite(method or ()) if suite is None else named_suite(suite)
    if suite is not None and method:
        raise ConfigError("give --suite or --method, not both")
    chosen = contenders(listed.methods)
    if test is not None:
        refuse(context, "with --test, which holds all the test words", "held_out")
    if not any(one.random for one in chosen):
        names = ", ".join(dict.fromkeys(one.method for one in chosen))
        refuse(context, f"with --method {names}, which makes no random choices", "runs")
    if dry_run:
        rows = [[one.label, one.aligner.method.cost] for one in chosen]
        rows += [[label, f"not run: {need}"] for label, need in listed.missing]
        if json:
            print_json([{"method": label, "cost": cost} for label, cost in rows])
            return
        table("Would run", ["method", "cost"], rows)
        return
    if held_out == 0:
        raise ConfigError("--held-out 0 leaves no words to compare on", remedy="give a number, or --test")
    claim(output)
    with progress_bars() as progress:
        translations = open_lexicon(lexicon, lower=lower, progress=progress)
        gold = None if test is None else open_lexicon(test, lower=lower, progress=progress)
        if swap:
            translations, gold = translations.invert(), None if gold is None else gold.invert()
        source, target = open_pair(files, limit=limit, lower=lower, progress=progress)
        outcome = compare(
            source,
            target,
            translations,
            chosen,
            runs=runs,
            test=gold,
            most_pairs=pairs,
            held_out=held_out,
            folder=output,
            match_dimensions=match_dimensions,
            missing=listed.missing,
            progress=progress,
        )
    for warning in outcome.warnings:
        warn(warning)
    _write_page(outcome, output)
    head, rows, right = outcome.table()
    finish(output, "comparison", outcome.record(), json=json, title=outcome.title, head=head, rows=rows, right=right)


def _write_page(outcome: Comparison, output: Path) -> None:
    from isoglot.report import Report, comparison_section, criteria_section, write_report

    rows = outcome.record()["rows"]
    languages = " to ".join(name or "?" for name in outcome.languages)
    section = comparison_section("Methods compared", rows, outcome.metric)
    criteria = criteria_section(rows)
    sections = [section] if criteria is None else [section, criteria]
    report = Report(f"Methods compared: {languages}", f"{outcome.n:,} test words.", sections=sections)
    write_report(output / "report.html", report)
