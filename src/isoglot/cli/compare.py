"""`isoglot compare`: all methods on one pair of languages, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.given import refuse
from isoglot.cli.options import FoldCase, Json, Limit, Swap

if TYPE_CHECKING:
    from isoglot.pipelines import Comparison


def compare_methods(
    context: typer.Context,
    src: Annotated[str, typer.Argument(metavar="A", help="Source vectors: a file, or a catalogue name.")],
    tgt: Annotated[str, typer.Argument(metavar="B", help="Target vectors: a file, or a catalogue name.")],
    lexicon: Annotated[str, typer.Option("--lexicon", "-l", help="Translation pairs: a file, or a catalogue name.")],
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Only this one, as name or name,key=value; may be repeated. Default: all."),
    ] = None,
    suite: Annotated[
        str | None, typer.Option("--suite", help="The methods that a paper compares: density (Zhao & Eger 2022).")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="How many seeds for methods with random choices.")] = 1,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Pairs to learn from.")] = None,
    held_out: Annotated[int | None, typer.Option("--held-out", min=1, help="Source words to test on.")] = None,
    test: Annotated[str | None, typer.Option("--test", help="A lexicon of its own to test on.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for finished runs, comparison.json and report.html.")
    ] = Path("comparison"),
    src_lang: Annotated[str | None, typer.Option("--src-lang", help="Language of A.")] = None,
    tgt_lang: Annotated[str | None, typer.Option("--tgt-lang", help="Language of B.")] = None,
    limit: Limit = 200_000,
    fold_case: FoldCase = False,
    swap: Swap = False,
    match_dimensions: Annotated[
        bool, typer.Option("--match-dimensions", help="Reduce the side with more dimensions.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would run, and what it costs.")] = False,
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
    from isoglot.cli.inputs import check_different, open_lexicon, open_space
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
    check_different([src, tgt])
    claim(output)
    with progress_bars() as progress:
        pairs = open_lexicon(lexicon, fold_case=fold_case, progress=progress)
        gold = None if test is None else open_lexicon(test, fold_case=fold_case, progress=progress)
        if swap:
            pairs, gold = pairs.invert(), None if gold is None else gold.invert()
        source = open_space(src, lang=src_lang, limit=limit, fold_case=fold_case, progress=progress)
        target = open_space(tgt, lang=tgt_lang, limit=limit, fold_case=fold_case, progress=progress)
        outcome = compare(
            source,
            target,
            pairs,
            chosen,
            runs=runs,
            test=gold,
            most_pairs=seeds,
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
