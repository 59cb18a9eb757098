"""`isoglot compare`: all methods on one or several pairs of languages, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.commands import tabular
from isoglot.cli.given import refuse
from isoglot.cli.options import (
    DryRun,
    Json,
    Lexicons,
    Limit,
    Lower,
    MatchDimensions,
    Methods,
    OptionalHeldOut,
    OptionalPairs,
    Output,
    Runs,
    Swap,
    Tests,
)

if TYPE_CHECKING:
    from isoglot.lexicons import Lexicon
    from isoglot.pipelines import Comparison, Comparisons, Contender
    from isoglot.progress import Progress


@tabular
def compare_methods(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="VECTORS", help="Two or more files of vectors, as FILE or LANG=FILE, or catalogue names."
        ),
    ],
    lexicons: Lexicons = None,
    method: Methods = None,
    suite: Annotated[
        Literal["density"] | None,
        typer.Option("--suite", help="Compare the methods that a paper compares: density is Zhao & Eger 2022."),
    ] = None,
    runs: Runs = 1,
    pairs: OptionalPairs = None,
    held_out: OptionalHeldOut = None,
    tests: Tests = None,
    output: Output = Path("comparison"),
    limit: Limit = 200_000,
    lower: Lower = False,
    swap: Swap = False,
    match_dimensions: MatchDimensions = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Run all methods (or chosen ones) on the same pairs and words, and print one table.

    Methods that can do without pairs get none. With --runs, methods that make random choices run with several seeds,
    and the table tells their spread. Of more than two languages, pairs that have a --lexicon en-fr=FILE are compared.

    The output folder gets the table as comparison.json, .csv and .tex, a picture (.svg) and a page. It also keeps
    finished runs: a killed comparison resumes where it was.

    Examples:

    \b
      isoglot compare vectors/en vectors/fr -l lexicon/en-fr -o en-fr-methods
      isoglot compare en.vec de.vec -l en-de.txt -m procrustes -m "procrustes,normalise=iterative" -m rcsls
      isoglot compare en.vec de.vec -l en-de.txt --runs 5 --json
      isoglot compare en.vec de.vec -l en-de.txt --suite density
      isoglot compare vectors/en vectors/fr vectors/ja -l lexicon/en-fr -l lexicon/en-ja -m procrustes -m rcsls
    """
    from isoglot.cli.console import print_json, progress_bars, say, table, warn
    from isoglot.cli.outputs import claim, write_json
    from isoglot.errors import ConfigError, LexiconError
    from isoglot.pipelines import Comparison, Suite, contenders, suite as named_suite, write_comparison

    listed = Suite(method or ()) if suite is None else named_suite(suite)
    if suite is not None and method:
        raise ConfigError("give --suite or --method, not both")
    chosen = contenders(listed.methods)
    if tests:
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
    if not lexicons:
        raise LexiconError("methods are compared on translation pairs", remedy="give --lexicon FILE")
    claim(output)
    with progress_bars() as progress:
        outcome = _compare(context, chosen, listed.missing, progress)
    each = [outcome] if isinstance(outcome, Comparison) else list(outcome)
    for warning in dict.fromkeys(warning for one in each for warning in one.warnings):
        warn(warning)
    written = write_comparison(outcome, output)
    document = outcome.record()
    write_json(output / "comparison.json", document)
    if json:
        print_json(document)
        return
    for one in [*(each if len(each) > 1 else []), outcome]:
        head, rows, right = one.table()
        table(one.title, head, rows, right=right)
    say(f"written: {', '.join(str(file) for file in (output / 'comparison.json', *written))}")


def _compare(
    context: typer.Context, chosen: list[Contender], missing: Sequence[tuple[str, str]], progress: Progress
) -> Comparison | Comparisons:
    """One pair as it is given, or several by the names of their lexicons."""
    from isoglot.assignments import language_and_name
    from isoglot.cli.inputs import check_different, only, open_pair, open_space
    from isoglot.errors import ConfigError
    from isoglot.pipelines import compare, compare_pairs

    values = context.params
    files, lower, limit = values["files"], values["lower"], values["limit"]
    settings: dict[str, Any] = {
        "runs": values["runs"],
        "most_pairs": values["pairs"],
        "held_out": values["held_out"],
        "folder": values["output"],
        "match_dimensions": values["match_dimensions"],
        "missing": missing,
        "progress": progress,
    }
    if len(files) <= 2 and len(values["lexicons"]) == 1:
        test = only(values["tests"], "--test")
        pairs = _open(values["lexicons"][0], lower, progress)
        gold = None if test is None else _open(test, lower, progress)
        if values["swap"]:
            pairs, gold = pairs.invert(), None if gold is None else gold.invert()
        return compare(
            *open_pair(files, limit=limit, lower=lower, progress=progress), pairs, chosen, test=gold, **settings
        )
    refuse(context, "with several pairs", "swap", remedy="name the lexicon the other way round: fr-en=FILE")
    sides = [language_and_name(file) for file in files]
    check_different([name for _, name in sides])
    lexicons, tests = (_by_pair(values[name] or [], lower, progress) for name in ("lexicons", "tests"))
    opened = [open_space(name, lang=lang, limit=limit, lower=lower, progress=progress) for lang, name in sides]
    spaces = {space.lang: space for space in opened}
    if len(spaces) < len(opened) or "" in spaces:
        raise ConfigError("several files need names of their languages", remedy="give them as en=FILE fr=FILE")
    return compare_pairs(spaces, lexicons, chosen, tests=tests, **settings)


def _by_pair(texts: Sequence[str], lower: bool, progress: Progress) -> dict[str | tuple[str, str], Lexicon]:
    """Lexicons by their pair: as `en-fr=FILE` says, or as a name such as `lexicon/en-fr` does."""
    from isoglot.errors import ConfigError

    lexicons: dict[str | tuple[str, str], Lexicon] = {}
    for text in texts:
        label, equals, _ = text.partition("=")
        lexicon = _open(text, lower, progress)
        pair = label if equals and not Path(text).exists() else f"{lexicon.src_lang}-{lexicon.tgt_lang}"
        if pair == "-":
            raise ConfigError("not clear of which languages it is", where=text, remedy=f"name it as en-fr={text}")
        if pair in lexicons:
            raise ConfigError(f"two lexicons for {pair}", remedy="join the files")
        lexicons[pair] = lexicon
    return lexicons


def _open(text: str, lower: bool, progress: Progress) -> Lexicon:
    from isoglot.cli.inputs import open_lexicon

    _, equals, file = text.partition("=")
    return open_lexicon(file if equals and not Path(text).exists() else text, lower=lower, progress=progress)
